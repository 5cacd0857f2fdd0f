"""Remedies of a gap: what serves the texts of the group better that a method serves worse.

Chosen on half of the matched sets, and reported on the other half: the best of several methods on
some texts is better there by chance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Literal, NamedTuple

import numpy as np

from exparity.core.settings import DEFAULTS
from exparity.stats.means import mean_of_finite
from exparity.stats.multiplicity import holm
from exparity.stats.ranking import MethodTest, compare_methods
from exparity.types import BoolArray, FloatArray

Kind = Literal["method", "mean", "debiasing", "temperature"]
"""Another ``method`` for the group; the ``mean`` of two; a classifier trained with ``debiasing``,
for all groups; a ``temperature`` for each group, which changes scores and no explanation."""
FEWEST_TRAININGS = 2
"""Fewest trainings that tell a better classifier from a lucky training."""


class Instead(NamedTuple):
    """A replacement of a method.

    Attributes:
        kind: what it is.
        name: another method, two with ``+`` between them, or a model.
    """

    kind: Kind
    name: str

    @property
    def is_for_all(self) -> bool:
        """Whether it changes the explanations of the other groups as well."""
        return self.kind == "debiasing"


@dataclass(frozen=True)
class Remedy:
    """A remedy for the group that a method serves worst.

    What is reported is of the half of the matched sets that chose nothing. Gain and gaps are
    positive where the remedy is better, and where the other group is.

    Attributes:
        method: the method as it is.
        group: the group that it serves worst, and ``other_group`` the one that it serves best.
        kind: ``method``, ``mean`` of two methods, ``debiasing``, or ``temperature``.
        replacement: the method, two with ``+`` between them, or the model; empty of temperatures.
        n_seeds, n_texts: trainings and texts of the group that have a value before and after.
        level, level_after: mean value of the group before and after.
        other_level, other_level_after: mean value of the other group.
        gain: how much better the level is afterwards.
        ci_low, ci_high: ends of the interval of the gain.
        gap, gap_after: how much better the level of the other group is, before and afterwards.
        score_gap, score_gap_after: the same of the scores, of temperatures alone.
        accuracy, accuracy_after: share of the group's texts that the classifier gets right.
        other_accuracy, other_accuracy_after: the same of the other group.
        p_gap: p-value of "the groups are alike with the method as it is".
        p: the larger one of ``p_gap`` and the p-value of "the remedy is as good", both two
            sided; 1 where the group is not worse off or not better served; NaN of temperatures, and
            of debiasing where there is one training.
        p_holm: the same, corrected by Holm over all remedies of a metric.
        helps: whether ``p_holm`` is at most α.
        rank: place among the remedies of a metric by the level of the group that is worse off
            afterwards; 1 is best.
    """

    method: str
    group: str
    other_group: str
    kind: str
    replacement: str
    n_seeds: int = 0
    n_texts: int = 0
    level: float = np.nan
    level_after: float = np.nan
    other_level: float = np.nan
    other_level_after: float = np.nan
    gain: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    gap: float = np.nan
    gap_after: float = np.nan
    score_gap: float = np.nan
    score_gap_after: float = np.nan
    accuracy: float = np.nan
    accuracy_after: float = np.nan
    other_accuracy: float = np.nan
    other_accuracy_after: float = np.nan
    p_gap: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    helps: bool = False
    rank: int = 0


class Choice(NamedTuple):
    """The choice of half of the texts.

    Attributes:
        method: the method as it is.
        group, other_group: the groups that it serves worst and best.
        instead: what has the best level in the worst-off group, among what is of its kind.
    """

    method: str
    group: str
    other_group: str
    instead: Instead


class Gap(NamedTuple):
    """The gap between two groups that a method leaves, on the texts that chose nothing.

    Attributes:
        estimate: how much better the other group is served.
        p: two-sided p-value of "the groups are alike"; NaN where that is not tested.
    """

    estimate: float
    p: float


def choosing_half(
    ids: Sequence[str], groups: Sequence[str], sets: Sequence[str | None]
) -> BoolArray:
    """Return (n,) whether each text is of the half that chooses.

    Matched sets are kept together. Sets, and texts without one, are dealt out in turn in the order
    of a hash, those of the same groups after each other.
    """
    names = [name or f"text {key}" for name, key in zip(sets, ids, strict=True)]
    groups_of: dict[str, list[str]] = {}
    for name, group in zip(names, groups, strict=True):
        groups_of.setdefault(name, []).append(group)

    def turn(name: str) -> tuple[list[str], str]:
        digest = sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return sorted(groups_of[name]), digest

    chooses = {name: place % 2 == 0 for place, name in enumerate(sorted(groups_of, key=turn))}
    return np.array([chooses[name] for name in names], dtype=bool)


def extremes_of(
    levels: FloatArray, order: Sequence[str], *, higher_is_better: bool
) -> tuple[str, str] | None:
    """Return the worst-off and the best-off group by (g,) levels; None where all are alike."""
    sign = 1.0 if higher_is_better else -1.0
    if not np.isfinite(levels).all() or np.ptp(levels) == 0:
        return None
    return order[int((sign * levels).argmin())], order[int((sign * levels).argmax())]


def choices_of(
    levels: Mapping[str, FloatArray],
    instead: Mapping[str, Mapping[Instead, FloatArray]],
    order: Sequence[str],
    *,
    higher_is_better: bool,
) -> list[Choice]:
    """Return what to try in place of each method: the best of each kind that is better.

    Args:
        levels: (g,) mean value of each group by method; NaN where unknown.
        instead: the same of what each method may be replaced by.
        order: the g groups.
        higher_is_better: whether higher values are better.
    """
    sign = 1.0 if higher_is_better else -1.0
    choices = []
    for method, method_levels in levels.items():
        extremes = extremes_of(method_levels, order, higher_is_better=higher_is_better)
        if extremes is None:
            continue
        worst = order.index(extremes[0])
        best_of_kind: dict[str, Instead] = {}
        best: dict[str, float] = {}
        for candidate, candidate_levels in instead.get(method, {}).items():
            value = sign * candidate_levels[worst]
            least = best.get(candidate.kind, sign * method_levels[worst])
            if np.isfinite(candidate_levels).all() and value > least:
                best[candidate.kind] = value
                best_of_kind[candidate.kind] = candidate
        choices += [Choice(method, *extremes, candidate) for candidate in best_of_kind.values()]
    return choices


def remedies_of(
    values: Mapping[str, FloatArray],
    instead: Mapping[Choice, FloatArray],
    gaps: Mapping[str, Gap],
    groups: Sequence[str],
    sets: Sequence[str | None] | None = None,
    *,
    higher_is_better: bool,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> list[Remedy]:
    """Try what half of the texts have chosen on the others.

    A remedy helps where a gap is shown, and where the remedy is shown to be better for the group,
    on texts that chose neither.

    Args:
        values: (s, n) values of s trainings and n texts by method, NaN where undefined.
        instead: the same of what has been chosen.
        gaps: the gap that each method leaves between the groups that were chosen.
        groups: (n,) group of each text.
        sets: (n,) matched set of each text.
        higher_is_better: whether higher values are better.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals.
    """
    sign = 1.0 if higher_is_better else -1.0
    remedies = []
    for choice, values_after in instead.items():
        values_before = values[choice.method]
        pair = {"after": values_after, "before": values_before}
        tests = compare_methods(
            pair, groups, [choice.group], sets, higher_is_better=True, confidence=confidence
        )
        test = next(test for test in tests if test.group == choice.group)
        is_other = np.array(groups, dtype=object) == choice.other_group
        other_level = mean_of_finite(values_before[:, is_other])
        other_after = other_level
        if choice.instead.is_for_all:
            other_after = mean_of_finite(values_after[:, is_other])
        remedies.append(
            _remedy(choice, test, (other_level, other_after), gaps[choice.method], sign)
        )
    return _ranked(remedies, sign, alpha)


def _remedy(
    choice: Choice, test: MethodTest, other_levels: tuple[float, float], gap: Gap, sign: float
) -> Remedy:
    """Return what a remedy does, by the test of after against before."""
    gain = sign * test.difference
    ends = sorted([sign * test.ci_low, sign * test.ci_high])
    p_gain = test.p
    if choice.instead.kind == "debiasing" and test.n_seeds < FEWEST_TRAININGS:
        p_gain = np.nan
    other_level, other_after = other_levels
    return Remedy(
        choice.method,
        choice.group,
        choice.other_group,
        *choice.instead,
        n_seeds=test.n_seeds,
        n_texts=test.n_texts,
        level=test.mean_b,
        level_after=test.mean_a,
        other_level=other_level,
        other_level_after=other_after,
        gain=gain,
        ci_low=ends[0],
        ci_high=ends[1],
        gap=sign * (other_level - test.mean_b),
        gap_after=sign * (other_after - test.mean_a),
        p_gap=gap.p,
        p=float(np.maximum(gap.p, p_gain)) if gain > 0 and gap.estimate > 0 else 1.0,
    )


def _ranked(remedies: Sequence[Remedy], sign: float, alpha: float) -> list[Remedy]:
    """Correct the p-values over all remedies, and rank them by who is worse off afterwards."""
    corrected = holm([remedy.p for remedy in remedies])
    worst_after = [sign * remedy.level_after + min(0.0, remedy.gap_after) for remedy in remedies]
    order = np.argsort([-value for value in worst_after], kind="stable").tolist()
    ranks = {place: rank for rank, place in enumerate(order, start=1)}
    return [
        replace(remedy, p_holm=float(p), helps=bool(p <= alpha), rank=ranks[place])
        for place, (remedy, p) in enumerate(zip(remedies, corrected, strict=True))
    ]
