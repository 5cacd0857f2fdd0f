"""Differences in the attribution of words within matched sets, over seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import median

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.report.verdicts import ROUNDING_NOISE, meaning_of, noise_of

SHOWN_WORDS = 10
Word = tuple[str, str]
"""A word of the first group and the second's at its place; two empty ones are all words."""


@dataclass(frozen=True)
class _WordIds:
    """A word of a method, between two groups."""

    dataset: str
    model: str
    method: str
    group_a: str
    group_b: str
    word_a: str
    word_b: str

    @property
    def word(self) -> Word:
        return self.word_a, self.word_b


@dataclass(frozen=True)
class _Test(_WordIds):
    """The test of a word in one training, as the artefact has it."""

    n_sets: int
    mean_difference: float
    mean_absolute_difference: float
    p: float
    p_holm: float
    p_pooled: float


@dataclass(frozen=True)
class Difference(_WordIds):
    """The difference of a word's attribution over seeds, first minus second group.

    Attributes:
        dataset, model, method, group_a, group_b, word_a, word_b: what it is of.
        mean_difference, mean_absolute: means over the seeds; None where undefined.
        significant: seeds with p ≤ α by Holm, of the ``tested``.
        n_sets: matched sets of a seed, at most.
        significant_pooled, tested_pooled: the same of all words as one sample.
        median_p_pooled: median p over the seeds of these.
    """

    mean_difference: float | None
    mean_absolute: float | None
    significant: int
    tested: int
    n_sets: int
    significant_pooled: int
    tested_pooled: int
    median_p_pooled: float | None


@dataclass(frozen=True)
class DifferenceTable:
    """The differences between two groups of a dataset.

    Attributes:
        dataset, group_a, group_b: what it is of.
        models, methods: in the order of the rows.
        words: those with most matched sets that are tested.
        cells: the differences by model, method and word.
        tested: number of words that are tested.
        is_pooled: whether words were also tested as one sample.
    """

    dataset: str
    group_a: str
    group_b: str
    models: Sequence[str]
    methods: Sequence[str]
    words: Sequence[Word]
    cells: Mapping[tuple[str, str, Word], Difference]
    tested: int
    is_pooled: bool


def difference_tables(rows: Sequence[Row], alpha: float) -> list[DifferenceTable]:
    """Average the attribution_differences artefact over seeds: a table per dataset and pair."""
    parts = grouped(records(_Test, rows), attrgetter("dataset", "group_a", "group_b"))
    return [_table(part, alpha) for part in parts.values()]


def _table(tests: Sequence[_Test], alpha: float) -> DifferenceTable:
    parts = grouped(tests, attrgetter("model", "method", "word"))
    by_word = grouped(
        (test for test in tests if test.p == test.p and any(test.word)), attrgetter("word")
    )
    sizes = {word: max(test.n_sets for test in members) for word, members in by_word.items()}
    return DifferenceTable(
        dataset=tests[0].dataset,
        group_a=tests[0].group_a,
        group_b=tests[0].group_b,
        models=list(dict.fromkeys(test.model for test in tests)),
        methods=list(dict.fromkeys(test.method for test in tests)),
        words=sorted(sizes, key=lambda word: (-sizes[word], word))[:SHOWN_WORDS],
        cells={cell: _difference(part, alpha) for cell, part in parts.items()},
        tested=len(sizes),
        is_pooled=any(test.p_pooled == test.p_pooled for test in tests),
    )


def _difference(tests: Sequence[_Test], alpha: float) -> Difference:
    """Return the means over the seeds, and how many of those tested are significant by Holm."""
    first = tests[0]
    pooled = [test.p_pooled for test in tests if test.p_pooled == test.p_pooled]
    return Difference(
        first.dataset,
        first.model,
        first.method,
        first.group_a,
        first.group_b,
        first.word_a,
        first.word_b,
        mean_difference=mean_and_sd([test.mean_difference for test in tests])[0],
        mean_absolute=mean_and_sd([test.mean_absolute_difference for test in tests])[0],
        significant=sum(test.p_holm <= alpha for test in tests),
        tested=sum(test.p == test.p for test in tests),
        n_sets=max(test.n_sets for test in tests),
        significant_pooled=sum(p <= alpha for p in pooled),
        tested_pooled=len(pooled),
        median_p_pooled=median(pooled) if pooled else None,
    )


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: the differences over seeds."""
    tables = difference_tables(rows, study.statistics.alpha)
    title = "Attribution of words within matched sets"
    differences = [difference for table in tables for difference in table.cells.values()]
    return Findings(
        {
            "differences": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
        },
        [Export.of("attribution_differences", title, Difference, differences)],
    )
