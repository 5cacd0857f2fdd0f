"""A stratified split into training and test examples, for data without one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.types import Example

Stratum = tuple[tuple[int, str], ...]
"""Labels and groups of the members of a matched set, sorted; of one example, if it has no set."""


def split_examples(
    examples: Sequence[Example], *, test_share: float = 0.2, seed: int = 0, where: str = "split"
) -> list[Example]:
    """Return the examples in their order, each with its ``split``.

    Matched sets are drawn as a whole; an example without one is a set of its own. Sets of the same
    make-up (the labels and groups of their members) form a stratum. Of each the test split takes
    ``test_share``, rounded so that the share of all sets is met as nearly as can be; up where its
    class and group fall short most. A hash of seed and id orders the sets of a stratum, so that the
    split does not depend on the machine or the order of the rows.
    """
    members = grouped(examples, _key)
    if len(members) < 2:
        raise InputError(f"{where}: {len(members)} examples or matched sets cannot be split in two")
    drawn = sorted(members, key=lambda key: sha256(f"{seed}\x1f{key}".encode()).digest())
    strata = grouped(drawn, lambda key: tuple(sorted((e.label, e.group) for e in members[key])))
    counts = {stratum: len(keys) for stratum, keys in sorted(strata.items())}
    test: set[str] = set()
    # By its decimal digits: 0.29 of 100 is 29, though the nearest float lies below.
    for stratum, quota in _quotas(counts, Fraction(str(test_share))).items():
        test.update(strata[stratum][:quota])
    return [replace(e, split="test" if _key(e) in test else "train") for e in examples]


def stratified_sample(examples: Sequence[Example], size: int | None) -> list[Example]:
    """Return, in order, the part of each stratum that :func:`split_examples` would test on."""
    n = len({_key(example) for example in examples})
    if size is None or size >= n:
        return list(examples)
    drawn = split_examples(examples, test_share=size / n)
    return [example for example, copy in zip(examples, drawn, strict=True) if copy.split == "test"]


def _quotas(counts: dict[Stratum, int], share: Fraction) -> dict[Stratum, int]:
    """Return how many sets of each stratum go to the test split: ``share`` of them, rounded."""
    n = sum(counts.values())
    total = min(max(int(share * n + Fraction(1, 2)), 1), n - 1)
    quotas = {stratum: int(share * count) for stratum, count in counts.items()}
    owed: dict[int | str, Fraction] = defaultdict(Fraction)  # to each class and each group
    for stratum, count in counts.items():
        for label, group in stratum:
            missing = share * count - quotas[stratum]
            owed[label] += missing
            owed[group] += missing
    rounded_up: set[Stratum] = set()
    while sum(quotas.values()) < total:
        best = max(
            (s for s in counts if s not in rounded_up and quotas[s] < share * counts[s]),
            key=lambda s: (Fraction(sum(owed[x] for pair in s for x in pair), len(s)), s),
        )
        rounded_up.add(best)
        quotas[best] += 1
        for label, group in best:
            owed[label] -= 1
            owed[group] -= 1
    return quotas


def _key(example: Example) -> str:
    if example.match_id is None:
        return f"example\x1f{example.example_id}"
    return f"set\x1f{example.match_id}"
