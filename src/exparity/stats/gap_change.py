"""Change of |d|: is the gap between two groups smaller by one model than by another?

Both models are scored on the same examples, so that their d go together: what is left out of one
is left out of the other. Leaving out each matched set, or each row, gives the variance of the
change within a training, and what each of them contributes to it. Over trainings these
contributions are crossed with the seeds, as the scores are for a gap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.crossed import GapTest, gap_tests
from exparity.stats.jackknife import cluster_sums, d_without_each, ends_of, is_shown
from exparity.stats.mean_gap import MeanGap, mean_gap
from exparity.stats.samples import samples, set_index
from exparity.types import BoolArray, FloatArray, IntArray

NAN = math.nan


@dataclass(frozen=True)
class GapChange(GapTest):
    """Change of |d| between two groups from a base model to another, on the same examples.

    What is tested over trainings is the change, in units of d; that it is small is tested of what
    it cannot exceed. Of a single training the interval is the jackknife's; it is
    NaN where none covers.

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
        flags: ``too_few``, ``constant``, ``no_variance`` or ``no_change`` where there is no change
            to speak of, ``one_training`` where it is not tested, and ``missing_cells`` where an
            example lacks a value in some training.
    """

    group_a: str
    group_b: str
    n_seeds: int = 0
    n_sets: int = 0
    n_a: int = 0
    n_b: int = 0
    d: float = NAN
    base_d: float = NAN
    absolute_d: float = NAN
    base_absolute_d: float = NAN
    change: float = NAN
    flags: list[str] = field(default_factory=list)


_MEANS = ("d", "base_d", "absolute_d", "base_absolute_d")


class GapChanges(NamedTuple):
    """The changes between two groups: of each training, and of all together."""

    of_seeds: list[GapChange]
    over_seeds: GapChange


class _Sample(NamedTuple):
    """The examples of two groups.

    Attributes:
        is_first: (n,) True for the first group.
        clusters: (n,) number of each one's matched set, or of its row.
        matched: whether ``clusters`` are matched sets.
    """

    is_first: BoolArray
    clusters: IntArray
    matched: bool


class _Training(NamedTuple):
    """One training: its change, and what each cluster contributes to it.

    Attributes:
        contributions: (strata, m) with mean zero over a stratum; NaN for a cluster that is not
            there, or of another stratum.
        linear: the same of d − d of the base and of their sum, which have no kink where a gap is
            zero.
        present: (n,) the examples that both models have a value of.
    """

    change: GapChange
    contributions: FloatArray
    linear: tuple[FloatArray, FloatArray]
    present: BoolArray


def gap_changes(
    values: Sequence[FloatArray] | FloatArray,
    base_values: Sequence[FloatArray] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = Statistics.alpha,
    threshold: float = Statistics.threshold,
    ddof: int = Statistics.ddof,
    confidence: float = Statistics.confidence,
) -> list[GapChanges]:
    """Compare |d| between every two groups by a model with that by a base model."""
    settings = Statistics(alpha=alpha, threshold=threshold, ddof=ddof, confidence=confidence)
    _, codes, names = samples(np.zeros(len(groups)), groups, order, pairs)
    both = np.array([values, base_values], dtype=np.float64).reshape(2, len(values), len(codes))
    changes = []
    for a, b in combinations(range(len(order)), 2):
        chosen = (codes == a) | (codes == b)
        sets = set_index(names, chosen)
        sample = _Sample(
            codes[chosen] == a, np.arange(chosen.sum()) if sets is None else sets, sets is not None
        )
        blank = GapChange(order[a], order[b])
        trainings = [
            _trained(blank, own, of_base, sample, settings)
            for own, of_base in zip(*both[..., chosen], strict=True)
        ]
        over_seeds = _over_trainings(blank, trainings, sample, settings)
        changes.append(GapChanges([one.change for one in trainings], over_seeds))
    return changes


def _trained(
    blank: GapChange,
    values: FloatArray,
    base_values: FloatArray,
    sample: _Sample,
    settings: Statistics,
) -> _Training:
    """Compare two models of one training; both (n,)."""
    present = ~np.isnan(values + base_values)
    base = replace(blank, **_sizes(sample, present))
    size = int(sample.clusters.max(initial=-1)) + 1
    nothing = np.full((1 if sample.matched else 2, size), NAN)

    def without_change(flag: str) -> _Training:
        return _Training(replace(base, flags=[flag]), nothing, (nothing, nothing), present)

    if min(base.n_a, base.n_b) < 2:
        return without_change("too_few")
    scores, is_first = (values[present], base_values[present]), sample.is_first[present]
    clusters = sample.clusters[present]
    if any(np.ptp(one) == 0 for one in scores):
        return without_change("constant")
    jackknifed = [
        _jackknifed(one, is_first, clusters, sample.matched, settings.ddof) for one in scores
    ]
    d, base_d = (float(estimate) for estimate, _ in jackknifed)
    if not np.isfinite(d + base_d):
        return without_change("no_variance")

    def differences(sign: float, base_sign: float) -> list[FloatArray]:
        without = zip(*(left_out for _, left_out in jackknifed), strict=True)
        return [sign * own - base_sign * of_base for own, of_base in without]

    def contributions(left_out: Sequence[FloatArray]) -> FloatArray:
        rows = nothing.copy()
        for row, one in enumerate(left_out):
            members = np.unique(clusters if sample.matched else clusters[is_first == (row == 0)])
            rows[row, members] = (len(one) - 1) * (one.mean() - one)
        return rows

    left_out = differences(*np.sign([d, base_d]))
    change = abs(d) - abs(base_d)
    low, high = NAN, NAN
    if _are_shown(scores, is_first, clusters):
        ends = ends_of(np.asarray(change), left_out, confidence=settings.confidence)
        low, high = (float(end) for end in ends)
    measured: dict[str, Any] = dict(zip(_MEANS, (d, base_d, abs(d), abs(base_d)), strict=True))
    own = replace(base, n_seeds=1, **measured, change=change, ci_low=low, ci_high=high)
    linear = contributions(differences(1, 1)), contributions(differences(1, -1))
    return _Training(own, contributions(left_out), linear, present)


def _sizes(sample: _Sample, present: BoolArray) -> dict[str, Any]:
    """Count the examples of each group, and the matched sets that have both."""
    of_both = [set(sample.clusters[present & mask]) for mask in (sample.is_first, ~sample.is_first)]
    return {
        "n_a": int((present & sample.is_first).sum()),
        "n_b": int((present & ~sample.is_first).sum()),
        "n_sets": len(of_both[0] & of_both[1]),
    }


def _jackknifed(
    scores: FloatArray, is_first: BoolArray, clusters: IntArray, matched: bool, ddof: int
) -> tuple[FloatArray, list[FloatArray]]:
    """Return d, and d without each matched set, or without each row of either group."""
    sums = cluster_sums(scores, is_first, clusters)
    return d_without_each([sums] if matched else [sums[is_first], sums[~is_first]], ddof=ddof)


def _are_shown(scores: Sequence[FloatArray], is_first: BoolArray, clusters: IntArray) -> bool:
    """Return whether the d of both models have an interval, see :func:`is_shown`."""
    return all(
        is_shown(one[mask], len(np.unique(clusters[mask])))
        for one in scores
        for mask in (is_first, ~is_first)
    )


def _over_trainings(
    blank: GapChange,
    trainings: Sequence[_Training],
    sample: _Sample,
    settings: Statistics,
) -> GapChange:
    kept = [one for one in trainings if one.change.n_seeds]
    if not kept:
        flags = dict.fromkeys(flag for one in trainings for flag in one.change.flags)
        return replace(blank, flags=list(flags))
    present = np.array([one.present for one in kept])
    means: dict[str, Any] = {
        name: float(np.mean([getattr(one.change, name) for one in kept])) for name in _MEANS
    }
    sizes = _sizes(sample, np.asarray(present.any(axis=0)))
    lacking = present.any(axis=0) != present.all(axis=0)
    base = replace(
        blank,
        n_seeds=len(kept),
        **sizes,
        **means,
        change=means["absolute_d"] - means["base_absolute_d"],
        flags=["missing_cells"] if lacking.any() else [],
    )
    if len(kept) < 2:
        return replace(base, flags=[*base.flags, "one_training"])
    gap = _crossed([one.change.change for one in kept], [one.contributions for one in kept])
    if not gap.errors.standard_error > 0:
        return replace(base, flags=[*base.flags, "no_change"])
    return replace(base, **{**gap_tests(gap, 1.0, settings), **_smallness(kept, settings)})


def _smallness(trainings: Sequence[_Training], settings: Statistics) -> dict[str, float]:
    """Return p-values of a change that is not small.

    Noise pulls |d| of small gaps together, so that their change looks smaller than it is. It is at
    most that of d, and at most the sum of both: one of these has to be small, at half of α.
    """
    bounds = []
    for index, sign in enumerate((-1, 1)):
        values = [one.change.d + sign * one.change.base_d for one in trainings]
        crossed = _crossed(values, [one.linear[index] for one in trainings])
        bounds.append(gap_tests(crossed, 1.0, settings))
    names = ("p_small", "equivalence_p")
    return {name: min(1.0, 2 * min(bound[name] for bound in bounds)) for name in names}


def _crossed(changes: Sequence[float], contributions: Sequence[FloatArray]) -> MeanGap:
    """Return the mean change over trainings and texts, and the changes of the trainings."""
    strata: Any = np.array(contributions)  # (s, strata, m)
    strata += (np.array(changes) / strata.shape[1])[:, None, None]
    strata[:, 1:] *= -1  # of two groups, the difference of means is taken
    columns = ~np.isnan(strata).all(axis=0)
    return mean_gap(*(strata[:, row, columns[row]] for row in range(strata.shape[1])))
