"""How often is "her" turned into the right word, "his" or "him"? Counted on texts about men.

Every "his" and "him" of real texts becomes "her", and the rule has to find out what it was:

    python benchmarks/her_or_him.py --data data movie_reviews sst bios.csv:hard_text
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, get_args

from exparity.counterfactuals._text import tokens_of
from exparity.counterfactuals.gender_pronouns import gender_pronouns
from exparity.data import load_dataset
from exparity.data._rows import read_rows, words_in
from exparity.data.files import DataSource
from exparity.data.table import PreparedData
from exparity.types import Example

Rule = Literal["next_word", "neighbours"]
RULES: tuple[Rule, ...] = get_args(Rule)
_REACH = 4
"""Tokens on either side that a rule may look at, and more."""


def texts_of(name: str, data: Path) -> Iterator[Sequence[str]]:
    """Yield the words of each text of a dataset, or of a column of a table (FILE:COLUMN)."""
    file, _, column = name.partition(":")
    if column:
        for where, row in read_rows(Path(file), [column]):
            yield words_in(where, row, column)
    else:
        for example in load_dataset(name, DataSource(data, download=False)):
            yield example.words


def counts_of(texts: Iterator[Sequence[str]]) -> Counter[tuple[str, str, bool]]:
    """Count the words by rule, by what they were, and by whether they come out right."""
    counts: Counter[tuple[str, str, bool]] = Counter()
    empty = PreparedData("", (), ("male", "female"), ("a", "b"), "gender")
    for words in texts:
        tokens = [token.text for token in tokens_of(words)]
        for place, token in enumerate(tokens):
            if token.lower() not in ("his", "him"):
                continue
            start = max(0, place - _REACH)
            window = [*tokens[start:place], "her", *tokens[place + 1 : place + 1 + _REACH]]
            example = Example("", tuple(window), 0, "female", "test")
            for rule in RULES:
                turned = gender_pronouns(example, "male", empty, mode="set", her=rule)
                counts[rule, token.lower(), turned.words[place - start] == token.lower()] += 1
    return counts


def main() -> None:
    """Print the share of each word that comes out right, and of both that comes out wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", help="datasets, or FILE:COLUMN")
    parser.add_argument("--data", type=Path, default=Path("data"), help="the data folder")
    arguments = parser.parse_args()
    for name in arguments.names:
        counts = counts_of(texts_of(name, arguments.data))
        for rule in RULES:
            right = {word: counts[rule, word, True] for word in ("his", "him")}
            all_of = {word: right[word] + counts[rule, word, False] for word in right}
            shares = [f"{word} {right[word]} of {all_of[word]}" for word in right]
            wrong = sum(all_of.values()) - sum(right.values())
            error = 100 * wrong / max(1, sum(all_of.values()))
            print(f"{Path(name).name}: {rule}: {', '.join(shares)}, wrong {error:.1f} %")


if __name__ == "__main__":
    main()
