"""The crossed test: is there a gap of the *method*, over trainings and texts, or is there none?

Trainings (seeds) and texts are both samples. A test within one training says nothing of the next
one, and one that takes the scores of all trainings for independent forgets that they explain the
same texts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from exparity.core.calls import array_of, checked, listed
from exparity.core.errors import InputError
from exparity.interface import BoolArray, FloatArray, IntArray
from exparity.stats.power import DETECTED, ENOUGH_SEEDS, minimal_detectable_effect
from exparity.stats.samples import check_options, complete, samples, set_index, set_means

NAN = math.nan
_SWEEPS = 10  # of the additive fit; one is exact where no cell is missing
_ROUNDING = 1e-12  # of the largest score: a smaller standard error is none


@dataclass(frozen=True)
class CrossedTest:
    """The gap between two groups over all trainings; every difference is first minus second.

    Attributes:
        group_a, group_b: first and second group.
        n_seeds: trainings with values of both groups.
        n_sets: matched sets with values of both; 0 where the examples are not matched.
        n_a, n_b: examples of each group that take part.
        seeds_above, seeds_below: trainings whose own gap is above zero, and below.
        estimate: mean gap D̄, in the metric's unit.
        standard_error: of D̄ over other trainings and other texts.
        dof: degrees of freedom ν of the t-tests.
        statistic: t = D̄ / standard error.
        p: two-sided p-value of "the mean gap over trainings and texts is zero".
        ci_low, ci_high: ends of the t interval of D̄.
        pooled_sd: standard deviation within groups and trainings (root of the mean variance).
        d: D̄ / ``pooled_sd``.
        equivalence_p: p-value of "|D̄| is at least the threshold times ``pooled_sd``", by two
            one-sided tests (Schuirmann 1987).
        minimal_detectable_effect: |d| that the test finds with the power asked for, at α.
        flags: ``one_training``, ``too_few``, ``constant``, ``no_differences`` or ``no_variance``
            where nothing is tested, and ``missing_cells`` where an example has no score in some
            training.
    """

    group_a: str
    group_b: str
    n_seeds: int = 0
    n_sets: int = 0
    n_a: int = 0
    n_b: int = 0
    seeds_above: int = 0
    seeds_below: int = 0
    estimate: float = NAN
    standard_error: float = NAN
    dof: float = NAN
    statistic: float = NAN
    p: float = NAN
    ci_low: float = NAN
    ci_high: float = NAN
    pooled_sd: float = NAN
    d: float = NAN
    equivalence_p: float = NAN
    minimal_detectable_effect: float = NAN
    flags: list[str] = field(default_factory=list)


class MeanGap(NamedTuple):
    """A mean over trainings and texts, and how well it is known.

    Attributes:
        estimate: (...) D̄.
        variance: (...) V, its variance.
        dof: (...) ν, the degrees of freedom of the variance.
    """

    estimate: FloatArray
    variance: FloatArray
    dof: FloatArray


@checked
def crossed_tests(
    scores: Sequence[Sequence[float] | FloatArray],
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = 0.05,
    threshold: float = 0.2,
    confidence: float = 0.95,
    power: float = DETECTED,
) -> list[CrossedTest]:
    """Compare a metric between every two groups over all trainings of a model.

    Where any matched set has examples of both groups, the differences within sets are tested, else
    the examples of the two groups; see :func:`mean_gap`. A single training is not tested: what
    varies from one to the next is unknown.

    Args:
        scores: (s, n) one list of values for each training, NaN where undefined or not there.
        groups: (n,) group of each example.
        order: two or more groups; the order fixes the signs.
        pairs: (n,) matched set of each example; see
            :func:`~exparity.stats.compare.compare_groups`.
        alpha: level of the test whose minimal detectable effect is wanted.
        threshold: |d| from which a gap is considerable: a smaller one counts as equivalent.
        confidence: coverage of the interval.
        power: of the minimal detectable effect.

    Returns:
        One test per pair of groups. Degenerate input gives NaN and a flag.

    Raises:
        InputError: lengths disagree, a value is infinite, a group is not one of ``order``, or an
            option is out of range.
    """
    check_options(alpha=alpha, threshold=threshold, confidence=confidence, power=power)
    groups = listed(groups, "groups", "the group of each value")
    rows = [array_of(float, row, f"scores[{s}]") for s, row in enumerate(scores)]
    for s, row in enumerate(rows):
        if len(row) != len(groups):
            raise InputError(f"scores[{s}] has {len(row)} values, but groups has {len(groups)}")
        if np.isinf(row).any():
            raise InputError(f"scores[{s}]: value {int(np.isinf(row).argmax())} is infinite")
    _, codes, names = samples(np.zeros(len(groups)), groups, order, pairs)
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(codes))
    options = {"alpha": alpha, "threshold": threshold, "confidence": confidence, "power": power}
    tests = []
    for a, b in combinations(range(len(order)), 2):
        chosen = (codes == a) | (codes == b)
        sets = set_index(names, chosen)
        is_b = (codes[chosen] == b).astype(np.int64)
        missing = bool(np.isnan(values[:, chosen]).any())
        test = _tested((order[a], order[b]), _divided(values[:, chosen], is_b, sets), **options)
        test.flags.extend(["missing_cells"] if missing else [])
        tests.append(test)
    return tests


@np.errstate(all="ignore")
def mean_gap(*parts: FloatArray) -> MeanGap:
    """Estimate a mean over crossed trainings and texts (Judd, Westfall and Kenny 2012).

    With e each cell's share in the error of D̄ (its deviation from its group's mean over that
    group's number of cells), and the residuals r of e after an additive fit of seeds and texts:

    - V_S = S/(S − 1) Σ_s (Σ_i e)² has what trainings and single cells contribute;
    - V_I = Σ_groups n/(n − 1) Σ_i (Σ_s e)² what texts and single cells contribute;
    - V_E = Σ_groups m/ν_E Σ r², of m cells with ν_E = m − S − n + 1, what single cells contribute,
      which is in both.

    V = max(V_S + V_I − V_E, V_S, V_I). From five seeds on, ν is by Satterthwaite's rule,
    V²/(V_S²/(S − 1) + Σ V_I²/(n − 1) + Σ V_E²/ν_E), but at least min(S, n) − 1; that is ν for
    fewer seeds, with which the rule rejects up to 13 % (two) or 8 % (three, four) instead of 5 %.
    For matched sets without missing cells V_S, V_I and V_E are the mean squares of the two-way
    table over S·n.

    What is approximate: missing cells leave some of the texts' variance in V_S and of the
    trainings' in V_I, and where neither varies, both still count the cells', so that the test errs
    on the safe side there. Of two groups, each example is taken for a draw of its own; what a
    training does to both groups alike cancels.

    Args:
        parts: (..., s, n) the differences within n matched sets; or two arrays, the values of the
            n_a and n_b examples of the groups to be subtracted. NaN where a cell is missing. Each
            seed must have a value in every part.

    Returns:
        Three arrays (...); NaN variance for a single seed or text.
    """
    estimate: Any = 0.0
    of_seed: Any = 0.0
    crossed: list[_Component] = []
    shared: list[_Component] = []
    for sign, part in zip((1, -1), parts, strict=False):
        defined = ~np.isnan(part)
        m = defined.sum(axis=(-2, -1))
        mean = np.where(defined, part, 0.0).sum(axis=(-2, -1)) / m
        e = np.where(defined, part - mean[..., None, None], 0.0) / m[..., None, None]
        n, seeds = defined.any(axis=-2).sum(axis=-1), defined.any(axis=-1).sum(axis=-1)
        estimate, of_seed = estimate + sign * mean, of_seed + sign * e.sum(axis=-1)
        crossed.append(_component(e.sum(axis=-2), n, n - 1))
        residuals = _residuals(e, defined).reshape(*m.shape, -1)
        shared.append(_component(residuals, m, m - seeds - n + 1))
    of_seeds = _component(of_seed, seeds, seeds - 1)
    of_texts = np.sum([one.variance for one in crossed], axis=0)
    of_cells = np.sum([np.nan_to_num(one.variance) for one in shared], axis=0)
    both = of_seeds.variance + of_texts - of_cells
    variance = np.maximum(both, np.maximum(of_seeds.variance, of_texts))
    crossed.append(of_seeds)
    spread = np.sum([np.nan_to_num(v * v / dof) for v, dof in (*crossed, *shared)], axis=0)
    least = np.min([one.dof for one in crossed], axis=0)
    by_rule = np.fmax(variance**2 / spread, least)
    return MeanGap(estimate, variance, np.where(seeds < ENOUGH_SEEDS, least, by_rule))


class _Component(NamedTuple):
    """(...) an estimated variance and its degrees of freedom."""

    variance: FloatArray
    dof: IntArray


def _component(shares: FloatArray, times: IntArray, dof: IntArray) -> _Component:
    """Scale the sum of squares of (..., k) shares in an error; NaN without degrees of freedom."""
    variance = np.where(dof > 0, (shares**2).sum(axis=-1) * times / dof, NAN)
    return _Component(variance, dof)


def _residuals(e: FloatArray, defined: BoolArray) -> FloatArray:
    """Return what seeds and texts leave of the defined cells, (..., s, n), fitted additively."""
    for _ in range(1 if defined.all() else _SWEEPS):
        for axis in (-1, -2):
            count = np.maximum(defined.sum(axis=axis, keepdims=True), 1)
            e = np.where(defined, e - e.sum(axis=axis, keepdims=True) / count, 0.0)
    return e


class _Divided(NamedTuple):
    """What is compared of two groups.

    Attributes:
        a, b: (s, n_a) and (s, n_b) values, NaN where undefined; every seed has one of each group.
        paired: whether columns are matched sets, whose cells are defined in both groups or none.
    """

    a: FloatArray
    b: FloatArray
    paired: bool


def _divided(values: FloatArray, is_b: IntArray, sets: IntArray | None) -> _Divided:
    """Divide (s, n) values by group, within the matched sets that have both if there are any.

    Of several values of a group in a set, the mean counts. Seeds without a value of each group and
    texts without any are left out.
    """
    a, b, paired = values[:, is_b == 0], values[:, is_b == 1], False
    if sets is not None:
        mixed = complete(set_means(np.zeros(len(is_b)), is_b, sets, 2))
        paired = bool(mixed.any())
        if paired:
            undefined = np.isnan(values)
            codes = np.where(undefined, 2, is_b)
            means = set_means(np.where(undefined, 0.0, values), codes, sets, 3)[:, mixed, :2]
            means[~complete(means)] = NAN
            a, b = means[..., 0], means[..., 1]
    seeds = ~(np.isnan(a).all(axis=1) | np.isnan(b).all(axis=1))
    a, b = a[seeds], b[seeds]
    return _Divided(a[:, ~np.isnan(a).all(axis=0)], b[:, ~np.isnan(b).all(axis=0)], paired)


def _tested(
    order: tuple[str, str],
    groups: _Divided,
    *,
    alpha: float,
    threshold: float,
    confidence: float,
    power: float,
) -> CrossedTest:
    """Describe two groups, and test them where there is something to test."""
    base, error, dof = _described(order, groups)
    problem = _problem(base, error, groups)
    if problem:
        return replace(base, flags=[problem])
    bound = threshold * base.pooled_sd
    detectable = minimal_detectable_effect(error / base.pooled_sd, dof, alpha=alpha, power=power)
    return replace(
        base,
        **t_tests(base.estimate, error, dof, bound=bound, confidence=confidence),
        statistic=base.estimate / error,
        minimal_detectable_effect=float(detectable),
    )


def t_tests(
    estimate: float, error: float, dof: float, *, bound: float, confidence: float
) -> dict[str, Any]:
    """Test by t whether an estimate is zero, and whether its size is below a bound.

    Args:
        estimate: what is tested.
        error: its standard error, above zero.
        dof: degrees of freedom of that.
        bound: size from which the estimate is considerable, in its unit.
        confidence: coverage of the interval.

    Returns:
        ``standard_error``, ``dof``, ``p``, ``ci_low``, ``ci_high`` and ``equivalence_p``; see
        :class:`CrossedTest`.
    """
    from scipy.special import stdtr, stdtrit

    half = float(stdtrit(dof, (1 + confidence) / 2)) * error
    below_bound = stdtr(dof, (estimate - bound) / error)
    above_bound = stdtr(dof, -(estimate + bound) / error)
    return {
        "standard_error": error,
        "dof": dof,
        "p": 2 * float(stdtr(dof, -abs(estimate) / error)),
        "ci_low": estimate - half,
        "ci_high": estimate + half,
        "equivalence_p": float(max(below_bound, above_bound)),
    }


def _described(order: tuple[str, str], groups: _Divided) -> tuple[CrossedTest, float, float]:
    """Return what needs no test, the standard error of the estimate and its degrees of freedom."""
    a, b, paired = groups
    (n_seeds, n_a), n_b = a.shape, b.shape[1]
    base = CrossedTest(*order, n_seeds, n_a * paired, n_a, n_b)
    if not a.size:
        return base, NAN, NAN
    gap = mean_gap(a - b) if paired else mean_gap(a, b)
    (means_a, variance_a), (means_b, variance_b) = map(_within_seeds, (a, b))
    sd = math.sqrt((variance_a + variance_b) / 2)
    numbers = (gap.estimate, math.sqrt(gap.variance), sd, *(means_a - means_b))
    least = _ROUNDING * max(np.nanmax(np.abs(part)) for part in (a, b))
    estimate, error, sd, *own = (0.0 if abs(x) <= least else float(x) for x in numbers)
    with np.errstate(divide="ignore", invalid="ignore"):
        d = float(np.divide(estimate, sd))
    above, below = (sum(sign * x > 0 for x in own) for sign in (1, -1))
    described = replace(
        base, seeds_above=above, seeds_below=below, estimate=estimate, pooled_sd=sd, d=d
    )
    return described, error, float(gap.dof)


@np.errstate(all="ignore")
def _within_seeds(part: FloatArray) -> tuple[FloatArray, float]:
    """Return (s,) means of (s, n) values and the mean of their variances, NaN if none has two."""
    defined = ~np.isnan(part)
    count = defined.sum(axis=1)
    means = np.where(defined, part, 0.0).sum(axis=1) / count
    squares = np.where(defined, part - means[:, None], 0.0) ** 2
    several = count > 1
    if not several.any():
        return means, NAN
    return means, float((squares.sum(axis=1)[several] / (count[several] - 1)).mean())


def _problem(described: CrossedTest, error: float, groups: _Divided) -> str:
    """Return the flag of what cannot be tested, empty if it can."""
    if min(described.n_a, described.n_b) < 2:
        return "too_few"
    if described.n_seeds < 2:
        return "one_training"
    if error > 0 and described.pooled_sd > 0:
        return ""
    values = np.concatenate([groups.a.ravel(), groups.b.ravel()])
    if np.nanmax(values) == np.nanmin(values):
        return "constant"
    return "no_variance" if error > 0 or described.estimate else "no_differences"
