"""How well are GECO's marks found? Its sentences are generated anew from each published one.

Every published sentence is a sentence of its own, of which `exparity generate` makes a set:

    python benchmarks/generated_geco.py --data data
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

import numpy as np

from exparity.core.grouping import grouped
from exparity.counterfactuals.sets import Changes, SetMaker, set_maker
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.types import Example, Text

VERSIONS: dict[str, Changes] = {"geco_all": "all", "geco_subj": "subject"}
"""The words that differ in a set, by dataset."""


def count(published: Example, other: Example, make: SetMaker) -> Counter[str]:
    """Count the marked words of a sentence, and those that the generated set marks.

    Args:
        published: the sentence that the set is made of.
        other: the published sentence of the other gender.
        make: makes the set.
    """
    truth = np.array([a != b for a, b in zip(published.words, other.words, strict=True)])
    members, _ = make(Text.of_words(published.words))
    marks = np.array(members[0].rationale, dtype=bool) if members else np.zeros_like(truth)
    generated = {member.group: member.text.lower() for member in members}
    return Counter(
        sentences=1,
        marked=int(truth.sum()),
        found=int((marks & truth).sum()),
        wrong=int((marks & ~truth).sum()),
        same_marks=int((marks == truth).all()),
        same_texts=int(generated.get(other.group) == other.text.lower()),
    )


def main() -> None:
    """Print the counts for both versions of GECO, with each rule for *her*."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"), help="the data folder")
    source = DataSource(parser.parse_args().data, download=False)
    for dataset, changes in VERSIONS.items():
        sets = grouped(load_dataset(dataset, source), lambda example: example.match_id)
        pairs = [pair for pair in sets.values() if len({len(e.words) for e in pair}) == 1]
        for her in ("next_word", "neighbours"):
            make = set_maker("gender_words", {"her": her}, changes=changes)
            counts: Counter[str] = Counter()
            for first, second in pairs:
                counts += count(first, second, make) + count(second, first, make)
            print(f"{dataset}, {changes}, {her}: {dict(counts)}")


if __name__ == "__main__":
    main()
