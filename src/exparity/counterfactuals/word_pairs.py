"""Generator word_pairs: words of the user's own, for any attribute and any number of groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from exparity.counterfactuals import counterfactual
from exparity.counterfactuals._text import (
    Edit,
    Mode,
    Token,
    edited,
    in_case_of,
    replaced,
    tokens_of,
    with_words,
)
from exparity.data.table import PreparedData
from exparity.data.word_rows import read_word_rows
from exparity.types import Example

Phrase = tuple[str, ...]
Rows = tuple[Phrase, ...]


def _check(options: Mapping[str, Any], groups: tuple[str, ...]) -> str | None:
    pairs = options.get("pairs")
    file = options.get("pairs_file")
    if (pairs is None) == (file is None):
        return "'word_pairs' takes 'pairs' or 'pairs_file'; set one of them"
    if file is not None:
        read_word_rows(Path(file), groups)
    elif len(groups) != 2:
        return (
            f"'pairs' are for two groups, and there are {len(groups)}; give a CSV file with a "
            "column for each as 'pairs_file'"
        )
    elif not pairs or not all(word.strip() for pair in pairs.items() for word in pair):
        return "'pairs' has an empty word, or none; give 'word: partner' for each pair"
    return None


@counterfactual(
    "word_pairs",
    reference="any two or more lists of words; see docs/counterfactuals.md",
    path_options=("pairs_file",),
    check=_check,
)
def word_pairs(
    example: Example,
    group: str,
    data: PreparedData,
    *,
    pairs: Mapping[str, str] | None = None,
    pairs_file: str | None = None,
    mode: Mode = "swap",
) -> Example:
    """Swap or set words of your own, for any attribute.

    Args:
        example: the example.
        group: the requested group.
        data: the dataset, to whose groups the words belong.
        pairs: for two groups, words of the first one and their partners of the second.
        pairs_file: for any number of groups, a CSV file with a column for each, named after it, and
            in each row words that stand for one another.
        mode: ``swap`` the words of the example's group and of ``group``, or ``set`` the words of
            all groups to ``group``.

    Returns:
        The example with its other words as they were.
    """
    rows: Rows = tuple((pairs or {}).items())
    if pairs_file is not None:
        path = Path(pairs_file)
        rows = _rows(path, data.groups, path.stat().st_mtime_ns)
    places = {name: place for place, name in enumerate(data.groups)}
    start = places[example.group]
    end = places[group]
    turns = [(start, end), (end, start)]
    if mode == "set":
        turns = [(other, end) for other in places.values() if other != end]
    partners = _partners(rows, tuple(turns))
    tokens = tokens_of(example.words)
    return with_words(example, edited(example.words, tokens, _edits(tokens, partners)), group)


@lru_cache(maxsize=16)
def _rows(path: Path, groups: tuple[str, ...], version: int) -> Rows:
    """Read the words that stand for one another, in the order of the groups, once a version."""
    return tuple(read_word_rows(path, groups))


@lru_cache(maxsize=256)
def _partners(rows: Rows, turns: Sequence[tuple[int, int]]) -> Mapping[Phrase, str]:
    """Return the first partner of each phrase, by the phrase's tokens in lower case."""
    partners: dict[Phrase, str] = {}
    for start, end in turns:
        for row in rows:
            key = tuple(token.lower for token in tokens_of(row[start].split()))
            partners.setdefault(key, row[end])
    return partners


def _edits(tokens: Sequence[Token], partners: Mapping[Phrase, str]) -> Iterator[Edit]:
    """Yield the replacement of the longest known phrase at each place."""
    longest = max(map(len, partners))
    place = 0
    while place < len(tokens):
        size = 1
        for size in range(min(longest, len(tokens) - place), 0, -1):
            here = tokens[place : place + size]
            phrase = partners.get(tuple(token.lower for token in here))
            if phrase is not None:
                yield Edit(place, place + size - 1, in_case_of(here[0].text, phrase))
                break
        else:
            new = replaced(tokens[place].text, lambda word: partners.get((word,)))
            if new is not None:
                yield Edit(place, place, new)
        place += size
