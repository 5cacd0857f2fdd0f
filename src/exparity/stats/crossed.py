"""The crossed test of a gap between groups over trainings and texts.

Trainings (seeds) and texts are both samples. A test within one training tells nothing about the
next one, and a test that treats the scores of all trainings as independent ignores that they are
of the same texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal, TypeVar

import numpy as np

from exparity.core.settings import DEFAULTS, Statistics
from exparity.stats.behrens_fisher import upper_tail
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.parts import Parts, divided, like_with_like
from exparity.stats.power import detectable_effect
from exparity.stats.samples import GroupedTexts, set_index
from exparity.stats.strata import LEAST_SHARE
from exparity.stats.typical_gap import typical_gap
from exparity.types import FloatArray

TRAINING, PROMPT = "training", "prompt"
"""Kinds of run of a cell: another training of the classifier, or another prompt of it."""

NOT_COMPARABLE = "texts_not_comparable"
"""Flag of groups that hardly have texts alike, so that no gap is ascribed to what is tested."""
LEFT_OUT = "texts_left_out"
"""Flag of groups some of whose texts have no counterpart, and are left out."""
ROUNDING = 1e-12
"""Share of the largest score below which a difference is rounding."""


@dataclass(frozen=True, kw_only=True)
class GapTest:
    """Tests of a gap over trainings and texts.

    Sizes are in units of d, gaps over ``pooled_sd``, unless another unit is named.

    Attributes:
        v_seeds, v_texts, v_cells, dof_texts: mean squares and degrees of freedom, in the metric's
            unit squared; see :class:`~exparity.stats.mean_gap.Estimate`.
        standard_error: of the mean gap over other trainings and other texts, in the metric's unit.
        p_mean: two-sided p-value of "the mean gap over trainings and texts is zero".
        ci_low, ci_high: ends of the interval of the mean gap, in the metric's unit.
        equivalence_p: p-value of "the size of the mean gap is at least the threshold", by two
            one-sided tests (Schuirmann 1987). Gaps that cancel over trainings pass it.
        minimal_detectable_effect: mean |d| that the test finds with a power of 80 %, at α.
        rms_gap: R, the typical gap of one training: the root mean square over trainings.
        rms_low, rms_high: ends of its interval.
        seed_sd: standard deviation of d between trainings.
        p_seeds: p-value of "trainings do not differ", a description and no finding.
        p_large: p-value of "R is at most the threshold".
        p_small: p-value of "R is at least the threshold".
        p_large_others: ``p_large`` without the training of the largest gap.
        p_cross: p-value of "all trainings favour the same group" (Gail and Simon 1985; Piantadosi
            and Gail 1993).
    """

    v_seeds: float = np.nan
    v_texts: float = np.nan
    v_cells: float = np.nan
    dof_texts: float = np.nan
    standard_error: float = np.nan
    p_mean: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    equivalence_p: float = np.nan
    minimal_detectable_effect: float = np.nan
    rms_gap: float = np.nan
    rms_low: float = np.nan
    rms_high: float = np.nan
    seed_sd: float = np.nan
    p_seeds: float = np.nan
    p_large: float = np.nan
    p_small: float = np.nan
    p_large_others: float = np.nan
    p_cross: float = np.nan


@dataclass(frozen=True)
class CrossedTest(GapTest):
    """The gap between two groups over all trainings; every difference is first minus second.

    Attributes:
        group_a, group_b: first and second group.
        n_seeds: trainings with values of both groups.
        n_sets: matched sets with values of both; 0 where the examples are not matched.
        n_a, n_b: examples of each group that take part.
        seeds_above, seeds_below: trainings whose own gap is above zero, and below.
        mean_a, mean_b: mean of each group over trainings and texts, in the metric's unit.
        estimate: mean gap D̄, in the metric's unit.
        pooled_sd: standard deviation within groups and trainings (root of the mean variance).
        d: D̄ / ``pooled_sd``.
        flags: ``too_few``, ``constant`` or ``no_variance`` if nothing is tested;
            ``no_differences`` if all gaps are zero; ``one_training`` if the tests are about this
            classifier and other texts; ``driven_by_one_training`` if ``p_large`` is at most α, but
            not without the training of the largest gap; ``missing_cells`` if an example has no
            score in some training; ``texts_not_comparable`` and ``texts_left_out`` of groups that
            are compared like with like, see :func:`crossed_tests`.
    """

    group_a: str
    group_b: str
    n_seeds: int = 0
    n_sets: int = 0
    n_a: int = 0
    n_b: int = 0
    seeds_above: int = 0
    seeds_below: int = 0
    mean_a: float = np.nan
    mean_b: float = np.nan
    estimate: float = np.nan
    pooled_sd: float = np.nan
    d: float = np.nan
    flags: list[str] = field(default_factory=list)


Tested = TypeVar("Tested", bound=CrossedTest)
Only = Literal["mean", "p_mean"]
"""Less than all tests: those of the mean gap, or its p-value without its interval."""


def crossed_tests(
    scores: Sequence[Sequence[float] | FloatArray],
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = DEFAULTS.alpha,
    threshold: float = DEFAULTS.threshold,
    confidence: float = DEFAULTS.confidence,
    covariate: FloatArray | None = None,
    only: Only | None = None,
) -> list[CrossedTest]:
    """Compare a metric between every two groups over all trainings of a model.

    If any matched set has examples of both groups, the differences within sets are tested, else
    the examples of the two groups; see :func:`mean_gap`. The test of a single training is about
    other texts only, since the variation between trainings is unknown.

    ``scores`` are (s, n), NaN where undefined or missing. Degenerate input gives NaN and a flag.

    With a ``covariate``, (n,) of what else scores depend on, groups are compared like with like: by
    values that are standardised over its quantiles; see :mod:`~exparity.stats.strata`. Texts
    without a counterpart are left out. Where too few are left, groups are described and no gap is
    tested, unless all values are equal.

    ``only`` the mean gap leaves out what takes longest: the claims about the typical gap of a
    training, equivalence and the minimal detectable effect are NaN, and nothing is flagged by them.
    ``only`` its p-value leaves out its interval, too.
    """
    return crossed_gaps(
        scores,
        GroupedTexts.of(groups, order, pairs),
        Statistics(alpha=alpha, threshold=threshold, confidence=confidence),
        covariate=covariate,
        only=only,
    )


def crossed_gaps(
    scores: Sequence[Sequence[float] | FloatArray],
    texts: GroupedTexts,
    settings: Statistics,
    *,
    covariate: FloatArray | None = None,
    only: Only | None = None,
) -> list[CrossedTest]:
    """Compare a metric as :func:`crossed_tests` does, of texts and by settings that are checked."""
    values = np.array(scores, dtype=np.float64).reshape(len(scores), len(texts))
    tests = []
    for a, b in combinations(range(len(texts.order)), 2):
        chosen = (texts.codes == a) | (texts.codes == b)
        pair = values[:, chosen]
        is_b = (texts.codes[chosen] == b).astype(np.int64)
        sets = set_index(texts.sets, chosen)
        parts = divided(pair, is_b, sets)
        share = 1.0
        if covariate is not None:
            alike, share = like_with_like(parts, divided(covariate[None, chosen], is_b, sets))
            parts = alike if share >= LEAST_SHARE else parts
        blank = CrossedTest(texts.order[a], texts.order[b])
        test = _tested(blank, parts.known, settings, only=only)
        if share < LEAST_SHARE:
            test = _not_comparable(test)
        elif share < 1:
            test.flags.append(LEFT_OUT)
        if np.isnan(pair).any():
            test.flags.append("missing_cells")
        tests.append(test)
    return tests


def _not_comparable(test: CrossedTest) -> CrossedTest:
    """Return a test that describes two groups, and tests nothing unless all values are equal."""
    if not test.pooled_sd and not test.estimate:
        return test
    flags = [NOT_COMPARABLE, *(flag for flag in test.flags if flag != "driven_by_one_training")]
    return replace(
        test,
        p_mean=np.nan,
        p_large=np.nan,
        p_large_others=np.nan,
        p_cross=np.nan,
        p_small=np.nan,
        equivalence_p=np.nan,
        minimal_detectable_effect=np.nan,
        flags=flags,
    )


@np.errstate(all="ignore")
def _tested(
    test: CrossedTest, parts: Parts, settings: Statistics, *, only: Only | None
) -> CrossedTest:
    """Describe two groups, and test them where there is something to test."""
    a, b = parts.values
    n_seeds, n_a = a.shape
    n_b = b.shape[1]
    test = replace(test, n_seeds=n_seeds, n_sets=n_a * parts.are_sets, n_a=n_a, n_b=n_b)
    if not n_seeds:
        return replace(test, flags=["too_few"])
    estimate, sd = _estimated(a, b, paired=parts.are_sets)
    test = replace(
        test,
        seeds_above=int((estimate.gaps > 0).sum()),
        seeds_below=int((estimate.gaps < 0).sum()),
        mean_a=float(np.nanmean(a)),
        mean_b=float(np.nanmean(b)),
        estimate=float(estimate.gap),
        pooled_sd=sd,
        d=float(np.divide(estimate.gap, sd)),
    )
    values = np.hstack([a, b])
    is_constant = np.nanmax(values) == np.nanmin(values)
    return with_tests(test, estimate, settings, is_constant=is_constant, only=only)


@np.errstate(all="ignore")
def with_tests(
    test: Tested,
    estimate: Estimate,
    settings: Statistics,
    *,
    is_constant: bool,
    only: Only | None = None,
) -> Tested:
    """Test a gap that is described; whether all values are equal says ``is_constant``."""
    if min(test.n_a, test.n_b) < 2:
        return replace(test, flags=["too_few"])
    flags = []
    sd = test.pooled_sd
    varies = np.nansum([estimate.v_seeds, estimate.v_texts]) > 0
    if not (varies and sd > 0):
        if is_constant:
            return replace(test, flags=["constant"])
        if varies or test.estimate:
            return replace(test, flags=["no_variance"])
        flags.append("no_differences")
    elif test.n_seeds < 2:
        flags.append("one_training")
    if only is not None:
        confidence = None if only == "p_mean" else settings.confidence
        return replace(test, **vars(_mean_tests(estimate, confidence)), flags=flags)
    tests = gap_tests(estimate, sd, settings)
    if tests.p_large <= settings.alpha and not tests.p_large_others <= settings.alpha:
        flags.append("driven_by_one_training")
    return replace(test, **vars(tests), flags=flags)


@np.errstate(all="ignore")
def _estimated(a: FloatArray, b: FloatArray, *, paired: bool) -> tuple[Estimate, float]:
    """Estimate the mean gap, and the standard deviation within groups; 0 for what is rounding."""
    least = ROUNDING * max(np.nanmax(np.abs(a)), np.nanmax(np.abs(b)))

    def cleaned(value: FloatArray) -> FloatArray:
        return np.where(np.abs(value) <= least, 0.0, value)

    estimate = mean_gap(a - b) if paired else mean_gap(a, b)
    fields = estimate._asdict()
    for name in ("gap", "gaps", "gap_errors"):
        fields[name] = cleaned(fields[name])
    for name in ("v_seeds", "v_texts", "v_cells"):
        fields[name] = cleaned(np.sqrt(fields[name])) ** 2
    sd = float(cleaned(np.sqrt((_variance_within(a) + _variance_within(b)) / 2)))
    return Estimate(**fields), sd


@np.errstate(all="ignore")
def _variance_within(part: FloatArray) -> float:
    """Return the mean over seeds of the variance of (s, n) values, NaN if no seed has two."""
    count = (~np.isnan(part)).sum(axis=1)
    several = part[count > 1]
    return float(np.nanvar(several, axis=1, ddof=1).mean()) if len(several) else np.nan


@np.errstate(all="ignore")
def _mean_tests(estimate: Estimate, confidence: float | None) -> GapTest:
    """Test the mean gap over trainings and texts alone; its interval is NaN without a coverage."""
    typical = typical_gap(estimate)
    interval = (np.nan, np.nan) if confidence is None else typical.mean_interval(confidence)
    return GapTest(
        v_seeds=float(estimate.v_seeds),
        v_texts=float(estimate.v_texts),
        v_cells=float(estimate.v_cells),
        dof_texts=float(estimate.dof_texts),
        standard_error=float(estimate.errors.standard_error),
        p_mean=float(typical.p_mean),
        ci_low=float(interval[0]),
        ci_high=float(interval[1]),
    )


@np.errstate(all="ignore")
def gap_tests(estimate: Estimate, unit: float, settings: Statistics) -> GapTest:
    """Test the mean gap over trainings and texts, and the typical gap of one training."""
    errors = estimate.errors
    bound = settings.threshold * unit
    typical = typical_gap(estimate)
    tests = replace(
        _mean_tests(estimate, settings.confidence),
        equivalence_p=float(upper_tail(bound - np.abs(estimate.gap), errors)),
        minimal_detectable_effect=float(detectable_effect(errors, alpha=settings.alpha) / unit),
    )
    if estimate.n_seeds < 2:
        return tests
    rms_low, rms_high = typical.interval(settings.confidence, near=bound)
    return replace(
        tests,
        rms_gap=float(typical.rms / unit),
        rms_low=float(rms_low / unit),
        rms_high=float(rms_high / unit),
        seed_sd=float(typical.tau / unit),
        p_seeds=float(typical.p_seeds),
        p_large=float(typical.p_large(bound)),
        p_small=float(typical.p_small(bound)),
        p_large_others=float(typical.p_large_others(bound)),
        p_cross=float(estimate.p_cross),
    )
