"""Change of |d|: is the gap between two groups smaller with one model than with another?

Both models are scored on the same examples, so their d are correlated. A jackknife leaves each
matched set, or each row, out of both at once: it gives the variance of the change within a
training, and the contribution of each set. Over trainings these contributions are crossed with the
seeds, as scores are for a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.crossed import GapTest, gap_tests
from exparity.stats.jackknife import cluster_sums, d_without_each, ends_of, is_shown
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.samples import GroupedTexts, set_index
from exparity.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class GapChange(GapTest):
    """Change of |d| between two groups from a base model to another, on the same examples.

    The tests over trainings are about the change, in units of d; whether it is small is tested on
    its bounds. For a single training the interval is the jackknife's, NaN where none covers.

    Attributes:
        group_a, group_b: first and second group.
        n_seeds: trainings that it is the mean of.
        n_sets: matched sets with values of both groups in some training; 0 without matched sets.
        n_a, n_b: examples of each group with a value by both models in some training.
        d: Cohen's d of the model, first minus second group.
        base_d: that of the base.
        absolute_d: |d| of the model.
        base_absolute_d: |d| of the base.
        change: ``absolute_d − base_absolute_d``; below zero where the gap is smaller.
        flags: ``too_few``, ``constant`` or ``no_variance`` if there is no change to test;
            ``no_change`` if it is 0 wherever one looks; ``one_training`` if fewer than two
            trainings have one; ``missing_cells`` if an example has no value in some training.
    """

    group_a: str
    group_b: str
    n_seeds: int = 0
    n_sets: int = 0
    n_a: int = 0
    n_b: int = 0
    d: float = np.nan
    base_d: float = np.nan
    absolute_d: float = np.nan
    base_absolute_d: float = np.nan
    change: float = np.nan
    flags: list[str] = field(default_factory=list)


class GapChanges(NamedTuple):
    """The changes between two groups: in each training, and over all of them."""

    by_training: list[GapChange]
    over_trainings: GapChange


class _Pair(NamedTuple):
    """(n,) the examples of two groups: membership in the first, and matched sets or rows."""

    is_first: BoolArray
    clusters: IntArray
    matched: bool

    def counted(self, blank: GapChange, present: BoolArray) -> GapChange:
        """Return a change with the examples of each group, and the matched sets that have both."""
        first = present & self.is_first
        second = present & ~self.is_first
        n_sets = len(np.intersect1d(self.clusters[first], self.clusters[second]))
        return replace(blank, n_a=int(first.sum()), n_b=int(second.sum()), n_sets=n_sets)


class _Training(NamedTuple):
    """The change in one training, and what clusters contribute to it.

    ``contributions`` are (3, strata, m), with mean zero over a stratum and NaN for a cluster of
    another one: to the change of |d|, to d minus that of the base, and to their sum, which have no
    kink where a gap is zero. ``present`` are (n,) the examples that both models have a value of.
    """

    change: GapChange
    contributions: FloatArray
    present: BoolArray


def gap_changes(
    values: Sequence[FloatArray] | FloatArray,
    base_values: Sequence[FloatArray] | FloatArray,
    texts: GroupedTexts,
    settings: Statistics,
) -> list[GapChanges]:
    """Compare |d| between every two groups by a model with that by a base model.

    Both have (s, n) values of the texts, of one training a row.
    """
    both = np.array([values, base_values], dtype=np.float64).reshape(2, len(values), len(texts))
    changes = []
    for group_a, group_b in combinations(texts.order, 2):
        blank = GapChange(group_a, group_b)
        is_first = texts.in_group(group_a)
        chosen = is_first | texts.in_group(group_b)
        sets = set_index(texts.sets, chosen)
        clusters = np.arange(chosen.sum()) if sets is None else sets
        pair = _Pair(is_first[chosen], clusters, sets is not None)
        trainings = [  # of each the scores by both models, (2, n)
            _trained(blank, scores, pair, settings) for scores in both[..., chosen].swapaxes(0, 1)
        ]
        over_trainings = _over_trainings(blank, trainings, pair, settings)
        by_training = [training.change for training in trainings]
        changes.append(GapChanges(by_training, over_trainings))
    return changes


def _trained(blank: GapChange, scores: FloatArray, pair: _Pair, settings: Statistics) -> _Training:
    """Compare two models of one training, whose scores are (2, n)."""
    present = np.asarray(~np.isnan(scores).any(axis=0))
    base = pair.counted(blank, present)
    scores = np.ascontiguousarray(scores[:, present])
    is_first = pair.is_first[present]
    clusters = pair.clusters[present]
    groups = [is_first, ~is_first]
    strata = [np.ones_like(is_first)] if pair.matched else groups
    contributions = np.full((3, len(strata), int(pair.clusters.max(initial=-1)) + 1), np.nan)
    if min(base.n_a, base.n_b) < 2:
        return _Training(replace(base, flags=["too_few"]), contributions, present)
    if not np.ptp(scores, axis=1).all():
        return _Training(replace(base, flags=["constant"]), contributions, present)
    sums = np.stack([cluster_sums(row, is_first, clusters) for row in scores])
    units = [sums] if pair.matched else [sums[:, group] for group in groups]
    d, without = d_without_each(units, ddof=settings.ddof)  # (2,), and (2, units) a stratum
    if not np.isfinite(d).all():
        return _Training(replace(base, flags=["no_variance"]), contributions, present)
    signs = np.array([np.sign(d) * (1, -1), (1, -1), (1, 1)])
    left_out = [signs @ d_without for d_without in without]  # (3, units) a stratum
    for row, (stratum, changes) in enumerate(zip(strata, left_out, strict=True)):
        deviations = changes.mean(axis=1, keepdims=True) - changes
        members = np.unique(clusters[stratum])
        contributions[:, row, members] = (len(members) - 1) * deviations
    change = signs[0] @ d
    low = np.asarray(np.nan)
    high = low
    if all(is_shown(scores[:, g], len(np.unique(clusters[g]))).all() for g in groups):
        first = [changes[0] for changes in left_out]
        low, high = ends_of(change, first, confidence=settings.confidence)
    measured = replace(
        base,
        n_seeds=1,
        d=float(d[0]),
        base_d=float(d[1]),
        absolute_d=float(np.abs(d[0])),
        base_absolute_d=float(np.abs(d[1])),
        change=float(change),
        ci_low=float(low),
        ci_high=float(high),
    )
    return _Training(measured, contributions, present)


def _over_trainings(
    blank: GapChange, trainings: Sequence[_Training], pair: _Pair, settings: Statistics
) -> GapChange:
    kept = [training for training in trainings if training.change.n_seeds]
    if not kept:
        flags = dict.fromkeys(flag for training in trainings for flag in training.change.flags)
        return replace(blank, flags=list(flags))
    changes = [training.change for training in kept]
    present = np.array([training.present for training in kept])
    in_some = np.asarray(present.any(axis=0))
    absolute_d = float(np.mean([change.absolute_d for change in changes]))
    base_absolute_d = float(np.mean([change.base_absolute_d for change in changes]))
    base = replace(
        pair.counted(blank, in_some),
        n_seeds=len(kept),
        d=float(np.mean([change.d for change in changes])),
        base_d=float(np.mean([change.base_d for change in changes])),
        absolute_d=absolute_d,
        base_absolute_d=base_absolute_d,
        change=absolute_d - base_absolute_d,
        flags=["missing_cells"] if (in_some != present.all(axis=0)).any() else [],
    )
    gap = _crossed([change.change for change in changes], kept, 0)
    if gap.n_seeds < 2:  # those in which texts can be left out
        return replace(base, flags=[*base.flags, "one_training"])
    if not gap.errors.standard_error > 0:
        base.flags.append("no_variance" if gap.gap else "no_change")
        if gap.gap:
            return base
    (tests,) = gap_tests([(gap, 1.0)], settings)
    return replace(base, **vars(_with_smallness(tests, kept, settings)))


def _with_smallness(
    tests: GapTest, trainings: Sequence[_Training], settings: Statistics
) -> GapTest:
    """Return tests with the p-values of "the change is not small".

    Noise pulls |d| of small gaps together, so that their change looks smaller than it is. The size
    of the change exceeds neither that of d − d₀ nor that of d + d₀, so one of these must be small,
    at half of α.
    """
    bounds = []
    for which, sign in ((1, -1), (2, 1)):
        values = [training.change.d + sign * training.change.base_d for training in trainings]
        bounds.append((_crossed(values, trainings, which), 1.0))
    tests_of_bounds = gap_tests(bounds, settings)
    return replace(
        tests,
        p_small=min(1.0, 2 * min(bound.p_small for bound in tests_of_bounds)),
        equivalence_p=min(1.0, 2 * min(bound.equivalence_p for bound in tests_of_bounds)),
    )


def _crossed(changes: Sequence[float], trainings: Sequence[_Training], which: int) -> Estimate:
    """Return the mean change over trainings and texts, and the changes of the trainings."""
    strata = np.array([training.contributions[which] for training in trainings])  # (s, strata, m)
    strata += (np.array(changes) / strata.shape[1])[:, None, None]
    strata[:, 1:] *= -1  # of two groups, the difference of means is taken
    columns = ~np.isnan(strata).all(axis=0)
    return mean_gap(*(strata[:, row, columns[row]] for row in range(strata.shape[1])))
