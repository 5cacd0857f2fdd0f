"""Rows of artefacts as records, which the page and the terminal read by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter

from exparity.core.grouping import grouped
from exparity.stats.among import AmongRight, GroupFacts
from exparity.stats.crossed import CrossedTest
from exparity.stats.levels import GroupLevel
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.omnibus import Omnibus
from exparity.stats.predictions import BiasRow
from exparity.stats.skill import Rooms, ScaleTests
from exparity.stats.sources import GapSources
from exparity.stats.verdicts import foresees, is_description, rank_of


@dataclass(frozen=True, kw_only=True)
class VerdictRow(AmongRight, GroupFacts, GapSources, Rooms, ScaleTests, Omnibus, CrossedTest):
    """The gap of a cell over all trainings in one quantity, with its verdict.

    Attributes:
        dataset, model, method, metric: ids of the cell, beside its two groups.
        quantity: ``skill``, ``excess`` or ``score``, of random explanations behind ``random_``; or
            a change of one of these by debiasing.
        run: what a training is called; None in tables made by hand.
        metric_kind, metric_direction: facts of the metric; None where unknown.
        better_group: the group with the better values; None where there is none.
        stands: whether the cell is judged by this quantity.
        headline: whether its verdict comes first.
        witness: what its metric asks, if that is a witness.
        verdict, verdict_strict: ids of the verdict by either correction; None without one.
        verdict_right: the verdict among the texts that are predicted rightly.
        minimal_detectable_effect_corrected: mean |d| that is found at the level of a claim.
        detectable_with_twice_the_texts, detectable_with_twice_the_trainings: the same in larger
            studies.
        text_share: share of texts in the variance of the mean gap.
        p_mean_bh, p_large_bh, p_small_bh, p_cross_bh, omnibus_p_bh: corrected by Benjamini and
            Hochberg.
        p_mean_holm, p_large_holm, p_small_holm, p_cross_holm, omnibus_p_holm: corrected by Holm.
    """

    dataset: str
    model: str
    method: str
    metric: str
    quantity: str
    run: str | None = None
    metric_kind: str | None = None
    metric_direction: str | None = None
    better_group: str | None = None
    stands: bool = False
    headline: bool = False
    witness: str | None = None
    verdict: str | None = None
    verdict_strict: str | None = None
    verdict_right: str | None = None
    minimal_detectable_effect_corrected: float = math.nan
    detectable_with_twice_the_texts: float = math.nan
    detectable_with_twice_the_trainings: float = math.nan
    text_share: float = math.nan
    p_mean_bh: float = math.nan
    p_large_bh: float = math.nan
    p_small_bh: float = math.nan
    p_cross_bh: float = math.nan
    omnibus_p_bh: float = math.nan
    p_mean_holm: float = math.nan
    p_large_holm: float = math.nan
    p_small_holm: float = math.nan
    p_cross_holm: float = math.nan
    omnibus_p_holm: float = math.nan

    @property
    def groups(self) -> tuple[str, str]:
        """The first and the second group."""
        return self.group_a, self.group_b

    def other_than(self, group: str | None) -> str:
        """Return the first group, or the second in place of the first."""
        return self.group_b if group == self.group_a else self.group_a

    @property
    def is_random(self) -> bool:
        """Whether it is of random explanations themselves."""
        return self.quantity.startswith("random_")

    @property
    def is_description(self) -> bool:
        """Whether its values describe explanations, so that neither end is better."""
        return is_description(vars(self))

    @property
    def foresees(self) -> bool:
        """Whether its metric asks how well explanations foresee the classifier."""
        return foresees(vars(self))

    @property
    def rank(self) -> str:
        """Its rank, if it counts; see :data:`exparity.stats.verdicts.RANKS`."""
        return rank_of(vars(self))


@dataclass(frozen=True)
class JudgedCell:
    """The verdicts of a cell.

    Attributes:
        rows: by quantity.
    """

    rows: Mapping[str, VerdictRow] = field(default_factory=dict)

    @property
    def score(self) -> VerdictRow | None:
        """Row of the scores."""
        return self.rows.get("score")

    @property
    def excess(self) -> VerdictRow | None:
        """Row of the excess over random explanations."""
        return self.rows.get("excess")

    @property
    def skill(self) -> VerdictRow | None:
        """Row of the skill."""
        return self.rows.get("skill")

    @property
    def standing(self) -> VerdictRow | None:
        """Row whose verdict counts."""
        return next((row for row in self.rows.values() if row.stands), None)


Verdicts = Mapping[tuple[str, ...], JudgedCell]
"""Cells by dataset, model, method, metric and groups."""


def cells_of(rows: Iterable[VerdictRow]) -> dict[tuple[str, ...], JudgedCell]:
    """Return rows by cell, those of random explanations left out."""
    cells = grouped((row for row in rows if not row.is_random), attrgetter(*CELL_IDS))
    return {
        ids: JudgedCell({row.quantity: row for row in members}) for ids, members in cells.items()
    }


@dataclass(frozen=True, kw_only=True)
class ClassifierBias(BiasRow):
    """A quantity of one classifier.

    Attributes:
        dataset, model, seed: ids of the classifier.
    """

    dataset: str
    model: str
    seed: int


@dataclass(frozen=True, kw_only=True)
class LevelRow(GroupLevel):
    """The mean of a group in one quantity.

    Attributes:
        dataset, model, method, metric: ids of the cell; random explanations have a method, too.
        quantity: as in :class:`VerdictRow`.
        metric_kind, metric_direction: facts of the metric; None where unknown.
    """

    dataset: str
    model: str
    method: str
    metric: str
    quantity: str
    metric_kind: str | None
    metric_direction: str | None


@dataclass(frozen=True)
class TextRow:
    """A text of the data; ``words_b`` are those of the second text of a pair."""

    example_id: str
    group: str
    match_id: str | None
    label: int
    split: str
    words: list[str]
    rationale: list[bool] | None
    words_b: list[str] | None = None

    @property
    def all_words(self) -> list[str]:
        """Words of the text, or of both texts."""
        return [*self.words, *(self.words_b or ())]


@dataclass(frozen=True)
class ExplanationRow:
    """An explanation of a text: an attribution for each token."""

    example_id: str
    tokens: list[str]
    word_ids: list[int]
    scores: list[float]
