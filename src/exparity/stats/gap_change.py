"""Change of |d|: is the gap between two groups smaller with one model than with another?

Both models are scored on the same examples, so their d are correlated. A jackknife leaves each
matched set, or each row, out of both at once: it gives the variance of the change within a
training, and the contribution of each set. Over trainings these contributions are crossed with the
seeds, as scores are for a gap.
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
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.samples import samples, set_index
from exparity.types import BoolArray, FloatArray, IntArray

NAN = math.nan


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
        flags: ``too_few``, ``constant``, ``no_variance`` or ``no_change`` if there is no change to
            test; ``one_training`` if fewer than two trainings have one; ``missing_cells`` if an
            example has no value in some training.
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
    """(n,) the examples of two groups: membership in the first, and matched sets or rows."""

    is_first: BoolArray
    clusters: IntArray
    matched: bool


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
        scores = both[..., chosen].swapaxes(0, 1)  # (s, 2, n)
        trainings = [_trained(blank, own, sample, settings) for own in scores]
        over_seeds = _over_trainings(blank, trainings, sample, settings)
        changes.append(GapChanges([one.change for one in trainings], over_seeds))
    return changes


def _trained(
    blank: GapChange, scores: FloatArray, sample: _Sample, settings: Statistics
) -> _Training:
    """Compare two models of one training, whose scores are (2, n)."""
    present = np.asarray(~np.isnan(scores).any(axis=0))
    base = replace(blank, **_sizes(sample, present))
    size = int(sample.clusters.max(initial=-1)) + 1
    contributions = np.full((3, 1 if sample.matched else 2, size), NAN)

    def without_change(flag: str) -> _Training:
        return _Training(replace(base, flags=[flag]), contributions, present)

    if min(base.n_a, base.n_b) < 2:
        return without_change("too_few")
    scores, is_first = np.ascontiguousarray(scores[:, present]), sample.is_first[present]
    clusters = sample.clusters[present]
    if not np.ptp(scores, axis=1).all():
        return without_change("constant")
    groups = [is_first, ~is_first]
    strata = [np.ones_like(is_first)] if sample.matched else groups
    sums = np.stack([cluster_sums(one, is_first, clusters) for one in scores])
    units = [sums] if sample.matched else [sums[:, group] for group in groups]
    d, without = d_without_each(units, ddof=settings.ddof)  # (2,), and (2, units) a stratum
    if not np.isfinite(d).all():
        return without_change("no_variance")
    signs = np.array([np.sign(d) * (1, -1), (1, -1), (1, 1)])
    left_out = [signs @ of_stratum for of_stratum in without]
    for row, (stratum, of_stratum) in enumerate(zip(strata, left_out, strict=True)):
        deviations = of_stratum.mean(axis=1, keepdims=True) - of_stratum
        members = np.unique(clusters[stratum])
        contributions[:, row, members] = (len(members) - 1) * deviations
    change, low, high = float(signs[0] @ d), NAN, NAN
    sizes = [len(np.unique(clusters[group])) for group in groups]
    if all(is_shown(scores[:, g], n).all() for g, n in zip(groups, sizes, strict=True)):
        ends = ends_of(
            np.asarray(change), [one[0] for one in left_out], confidence=settings.confidence
        )
        low, high = map(float, ends)
    measured: dict[str, Any] = dict(zip(_MEANS, (*d, *np.abs(d)), strict=True))
    measured = {name: float(value) for name, value in measured.items()}
    own = replace(base, n_seeds=1, **measured, change=change, ci_low=low, ci_high=high)
    return _Training(own, contributions, present)


def _sizes(sample: _Sample, present: BoolArray) -> dict[str, Any]:
    """Count the examples of each group, and the matched sets that have both."""
    of_both = [set(sample.clusters[present & mask]) for mask in (sample.is_first, ~sample.is_first)]
    return {
        "n_a": int((present & sample.is_first).sum()),
        "n_b": int((present & ~sample.is_first).sum()),
        "n_sets": len(of_both[0] & of_both[1]),
    }


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
    gap = _crossed([one.change.change for one in kept], kept, 0)
    if gap.n_seeds < 2:  # those in which texts can be left out
        return replace(base, flags=[*base.flags, "one_training"])
    if not gap.errors.standard_error > 0:
        return replace(base, flags=[*base.flags, "no_change"])
    return replace(base, **{**gap_tests(gap, 1.0, settings), **_smallness(kept, settings)})


def _smallness(trainings: Sequence[_Training], settings: Statistics) -> dict[str, float]:
    """Return the p-values of "the change is not small".

    Noise pulls |d| of small gaps together, so that their change looks smaller than it is. The size
    of the change exceeds neither that of d − d₀ nor that of d + d₀, so one of these must be small,
    at half of α.
    """
    bounds = []
    for which, sign in ((1, -1), (2, 1)):
        values = [one.change.d + sign * one.change.base_d for one in trainings]
        bounds.append(gap_tests(_crossed(values, trainings, which), 1.0, settings))
    names = ("p_small", "equivalence_p")
    return {name: min(1.0, 2 * min(bound[name] for bound in bounds)) for name in names}


def _crossed(changes: Sequence[float], trainings: Sequence[_Training], which: int) -> Estimate:
    """Return the mean change over trainings and texts, and the changes of the trainings."""
    strata: Any = np.array([one.contributions[which] for one in trainings])  # (s, strata, m)
    strata += (np.array(changes) / strata.shape[1])[:, None, None]
    strata[:, 1:] *= -1  # of two groups, the difference of means is taken
    columns = ~np.isnan(strata).all(axis=0)
    return mean_gap(*(strata[:, row, columns[row]] for row in range(strata.shape[1])))
