"""Scores of pairs of a text and a rater: an explanation against the words that the rater marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.core.seeding import generator
from exparity.data.facts import Marking
from exparity.data.table import PreparedData
from exparity.explanations import Explanation
from exparity.metrics import METRICS, Attribution, evaluate
from exparity.quantities.inputs import require_same_cell
from exparity.stats.raters import RatedPairs
from exparity.types import BoolArray, FloatArray, IntArray

AND = " & "
"""Text between the values of a group by several attributes."""
EVERY = "all groups"
"""Name of the comparisons of every two groups by all attributes."""
QUANTITIES = ("score", "excess", "skill")
"""Quantities: scores, their excess over chance, and the excess over the best possible one."""
DRAWS = 1000
"""Random orders that stand for an expectation without a formula."""


@dataclass(frozen=True)
class Rated:
    """A row of the raters artefact."""

    example_id: str
    rater: str
    groups: Sequence[Mapping[str, str]]
    rationale: Sequence[int]
    label: str | None

    @classmethod
    def of(cls, marking: Marking) -> Rated:
        """Return the row of what a rater marked."""
        groups = [{"key": key, "value": value} for key, value in marking.groups.items()]
        return cls(marking.example_id, marking.rater, groups, [*marking.marks], marking.label)

    @property
    def by_attribute(self) -> dict[str, str]:
        """The rater's group by attribute."""
        return dict(map(itemgetter("key", "value"), self.groups))


class Sides(NamedTuple):
    """Two groups of raters to compare, and which of the p pairs are of each."""

    compared: str  # the attribute, or EVERY
    names: tuple[str, str]
    first: BoolArray
    second: BoolArray


@dataclass(frozen=True)
class RatedTexts:
    """The p pairs of a text and a rater that are scored.

    Attributes:
        rows: the pairs.
        disagreeing: share of the pairs, before any was left out, whose rater gave another label
            than the data; NaN where none is known.
    """

    rows: Sequence[Rated]
    disagreeing: float

    @classmethod
    def read(cls, path: Path, prepared: PreparedData, *, agreeing: bool | None) -> RatedTexts:
        """Read the raters artefact, of all pairs or those whose rater agrees with the data, or not.

        Raises:
            InputError: labels are asked for and none is known, or no pair is left.
        """
        table, metadata = read_artefact(path, "raters")
        require_same_cell(("data", {"dataset": prepared.dataset}), (path, metadata.ids))
        rows = records(Rated, table)
        names = {e.example_id: prepared.labels[e.label] for e in prepared.examples}
        agrees = [row.label == names[row.example_id] for row in rows]
        has_label = [row.label is not None for row in rows]
        share = 1 - float(np.mean(agrees)) if all(has_label) else np.nan
        if agreeing is not None:
            if not all(has_label):
                raise InputError(
                    f"{path}: not every rater gave a label; leave `agreeing` out, or name the "
                    "column of the label in the table of raters"
                )
            rows = [row for row, agree in zip(rows, agrees, strict=True) if agree is agreeing]
        if not rows:
            raise InputError(f"{path}: no rationale is left; leave `agreeing` out")
        return cls(rows, share)

    @cached_property
    def pairs(self) -> RatedPairs:
        """Their texts, raters and groups by number."""
        return RatedPairs(
            _numbers([row.example_id for row in self.rows]),
            _numbers([row.rater for row in self.rows]),
            _numbers(self.groups),
        )

    @property
    def groups(self) -> list[str]:
        """(p,) group of each pair's rater by all attributes."""
        return [AND.join(row.by_attribute.values()) for row in self.rows]

    @property
    def order(self) -> list[str]:
        """The groups, in the order of their numbers."""
        return sorted(set(self.groups))

    @cached_property
    def marked(self) -> tuple[IntArray, IntArray]:
        """(p,) words of each text, and how many the rater marked."""
        n_words = np.array([len(row.rationale) for row in self.rows], dtype=np.int64)
        return n_words, np.array([sum(row.rationale) for row in self.rows], dtype=np.int64)

    def comparisons(self) -> Iterator[Sides]:
        """Yield every two groups of each attribute, and then of all attributes together."""
        attributes = list(self.rows[0].by_attribute)
        by_kind = {name: [row.by_attribute[name] for row in self.rows] for name in attributes}
        if len(attributes) > 1:
            by_kind[EVERY] = self.groups
        for compared, values in by_kind.items():
            named = np.array(values, dtype=object)
            for names in combinations(sorted(set(values)), 2):
                yield Sides(compared, names, named == names[0], named == names[1])

    def scores(
        self, explanations: Mapping[str, Explanation], metric: str, attribution: Attribution
    ) -> FloatArray:
        """Return (p,) scores of explanations by their texts; NaN of a text without one."""
        values = np.full(len(self.rows), np.nan)
        places = [i for i, row in enumerate(self.rows) if row.example_id in explanations]
        if places:
            explained = [
                replace(
                    explanations[self.rows[i].example_id],
                    rationale=np.array(self.rows[i].rationale, dtype=bool),
                )
                for i in places
            ]
            values[places] = evaluate(None, explained, metric, attribution=attribution)
        return values

    def chance(self, metric: str) -> FloatArray:
        """Return (p,) values expected of words in random order, by the rater's share of them."""
        n_words, n_marked = self.marked
        entry = METRICS.get(metric)
        at_random = entry.facts.at_random
        expected = np.full(len(n_words), np.nan)
        if at_random is not None:
            expected = np.asarray(at_random(n_words, n_marked), dtype=np.float64)
        drawn = np.isnan(expected) & (n_marked > 0)
        sizes = np.stack([n_words, n_marked], axis=1)
        for words, marked in np.unique(sizes[drawn], axis=0).tolist():
            value = _drawn(metric, words, marked)
            expected[drawn & (n_words == words) & (n_marked == marked)] = value
        return expected


def _numbers(names: Sequence[str]) -> IntArray:
    """Return the number of each name among the different ones, sorted."""
    return np.asarray(np.unique(np.array(names), return_inverse=True)[1], dtype=np.int64)


def _drawn(metric: str, words: int, marked: int) -> float:
    """Return the mean score of random orders of some words; the first ones are marked."""
    rng = generator(0, "whose_rationale", metric, words, marked)
    marks = np.arange(words) < marked
    tokens = [str(i) for i in range(words)]
    explanations = [
        Explanation(" ".join(tokens), target=0, tokens=tokens, scores=scores, rationale=marks)
        for scores in rng.random((DRAWS, words))
    ]
    return float(np.mean(evaluate(None, explanations, metric)))
