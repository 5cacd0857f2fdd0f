"""The crossed test of a gap between groups over trainings and texts.

Trainings (seeds) and texts are both samples. A test within one training tells nothing about the
next one, and a test that treats the scores of all trainings as independent ignores that they are
of the same texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np

from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS, Statistics
from exparity.stats.behrens_fisher import upper_tail
from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.parts import Parts, divided, like_with_like
from exparity.stats.power import detectable_effect
from exparity.stats.samples import GroupedTexts, set_index
from exparity.stats.strata import LEAST_SHARE
from exparity.stats.typical_gap import typical_gap
from exparity.types import BoolArray, FloatArray, IntArray, Row

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
    (tests,) = crossed_gaps_of_many([values], texts, settings, covariate=covariate, only=only)
    return tests


def crossed_gaps_of_many(
    values: Sequence[FloatArray],
    texts: GroupedTexts,
    settings: Statistics,
    *,
    covariate: FloatArray | None = None,
    only: Only | None = None,
) -> list[list[CrossedTest]]:
    """Compare many metrics' (s, n) values of the same texts, each as :func:`crossed_gaps` does."""
    stacked = np.array(values, dtype=np.float64)
    by_pair = dict.fromkeys(combinations(texts.order, 2), stacked)
    tests = with_tests(described_gaps(by_pair, texts, covariate), settings, only=only)
    return [tests[row :: len(values)] for row in range(len(values))]


@dataclass(frozen=True)
class DescribedGap(Generic[Tested]):
    """A gap between two groups that is described, and not tested yet.

    Attributes:
        test: what is known without a test.
        estimate: of the mean gap; None where no training has values of both groups.
        is_constant: whether all values are equal.
        share: smallest share of a group's values that is compared, like with like.
        lacks_cells: whether an example has no score in some training.
    """

    test: Tested
    estimate: Estimate | None
    is_constant: bool = False
    share: float = 1.0
    lacks_cells: bool = False


def described_gaps(
    values: Mapping[tuple[str, str], FloatArray],
    texts: GroupedTexts,
    covariate: FloatArray | None = None,
) -> list[DescribedGap[CrossedTest]]:
    """Describe the gaps between two groups by rows of values, each as it is alone.

    Args:
        values: (r, s, n) values of the texts, by pair of groups.
        texts: groups and matched sets of the n texts.
        covariate: (n,) what else scores depend on; groups are then compared like with like.

    Returns:
        The gaps of each pair by its rows.
    """
    compared = [
        part for pair, rows in values.items() for part in _compared(rows, texts, pair, covariate)
    ]
    gaps: dict[tuple[str, str, int], DescribedGap[CrossedTest]] = {}
    for alike in grouped(compared, attrgetter("cells")).values():
        places = [(*part.pair, row) for part in alike for row in part.rows]
        gaps |= zip(places, _described(alike), strict=True)
    return [gaps[*pair, row] for pair, rows in values.items() for row in range(len(rows))]


class _Compared(NamedTuple):
    """What is compared of two groups, in rows of values that are undefined in the same cells."""

    pair: tuple[str, str]
    rows: list[int]
    parts: Parts
    share: float
    lacks_cells: bool

    @property
    def n_seeds(self) -> int:
        """Trainings with values of both groups."""
        return int(self.parts.values[0].shape[-2])

    @property
    def cells(self) -> tuple[object, ...]:
        """What tells whether others are described with these: their cells that are undefined."""
        undefined = [np.isnan(part[0]) for part in self.parts.values]
        return (self.parts.are_sets, *((part.shape, part.tobytes()) for part in undefined))

    def gap(
        self,
        columns: Row,
        estimate: Estimate | None = None,
        *,
        is_constant: bool = False,
    ) -> DescribedGap[CrossedTest]:
        """Return the gap of a row with these columns of its test."""
        test = replace(CrossedTest(*self.pair), **columns)
        return DescribedGap(test, estimate, is_constant, self.share, self.lacks_cells)


def _compared(
    values: FloatArray, texts: GroupedTexts, pair: tuple[str, str], covariate: FloatArray | None
) -> Iterator[_Compared]:
    """Yield what is compared of two groups by (r, s, n) values."""
    is_second = texts.in_group(pair[1])
    chosen = texts.in_group(pair[0]) | is_second
    is_b = is_second[chosen].astype(np.int64)
    sets = set_index(texts.sets, chosen)
    compared_values = values[..., chosen]
    undefined = np.isnan(compared_values)
    alike = grouped(range(len(compared_values)), lambda row: undefined[row].tobytes())
    for rows in alike.values():
        parts = divided(compared_values[rows], is_b, sets)
        share = 1.0
        if covariate is not None:
            like, share = like_with_like(parts, divided(covariate[None, chosen], is_b, sets))
            parts = like if share >= LEAST_SHARE else parts
        yield _Compared(pair, rows, parts.known, share, bool(undefined[rows[0]].any()))


def _not_comparable(test: Tested) -> Tested:
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


def _described(compared: Sequence[_Compared]) -> list[DescribedGap[CrossedTest]]:
    """Describe the gaps of all rows of what is undefined in the same cells."""
    compared_rows = [part for part in compared for _ in part.rows]
    gaps = _gaps_of(compared)
    rows = [*_rows(gaps.columns._asdict())]
    if gaps.estimate is None:
        return [part.gap(row) for part, row in zip(compared_rows, rows, strict=True)]
    described = zip(rows, map(Estimate, *gaps.estimate), gaps.are_constant.tolist(), strict=True)
    return [
        part.gap(row, row_estimate, is_constant=is_constant)
        for part, (row, row_estimate, is_constant) in zip(compared_rows, described, strict=True)
    ]


class _Columns(NamedTuple):
    """What is known of (k,) gaps without a test; see :class:`CrossedTest`."""

    n_seeds: IntArray
    n_sets: IntArray
    n_a: IntArray
    n_b: IntArray
    seeds_above: IntArray
    seeds_below: IntArray
    mean_a: FloatArray
    mean_b: FloatArray
    estimate: FloatArray
    pooled_sd: FloatArray
    d: FloatArray


class _Gaps(NamedTuple):
    """(k,) gaps of as many trainings that are described, and not tested yet.

    Attributes:
        columns: what is known without a test.
        estimate: of the mean gaps; None without trainings.
        are_constant: (k,) whether all values of a gap are equal.
    """

    columns: _Columns
    estimate: Estimate | None
    are_constant: BoolArray


@np.errstate(all="ignore")
def _gaps_of(compared: Sequence[_Compared]) -> _Gaps:
    """Describe the gaps of all rows of what is undefined in the same cells, in columns."""
    are_sets = compared[0].parts.are_sets
    a = _joined([part.parts.values[0] for part in compared])
    b = _joined([part.parts.values[1] for part in compared])
    n_gaps, n_seeds, n_a = a.shape
    columns = _Columns(
        n_seeds=np.full(n_gaps, n_seeds),
        n_sets=np.full(n_gaps, n_a * are_sets),
        n_a=np.full(n_gaps, n_a),
        n_b=np.full(n_gaps, b.shape[-1]),
        seeds_above=np.zeros(n_gaps, dtype=np.int64),
        seeds_below=np.zeros(n_gaps, dtype=np.int64),
        mean_a=np.full(n_gaps, np.nan),
        mean_b=np.full(n_gaps, np.nan),
        estimate=np.full(n_gaps, np.nan),
        pooled_sd=np.full(n_gaps, np.nan),
        d=np.full(n_gaps, np.nan),
    )
    if not n_seeds:
        return _Gaps(columns, None, np.zeros(n_gaps, dtype=bool))
    estimate, sd = _estimated(a, b, paired=are_sets)
    columns = columns._replace(
        seeds_above=(estimate.gaps > 0).sum(axis=-1),
        seeds_below=(estimate.gaps < 0).sum(axis=-1),
        mean_a=np.nanmean(a, axis=(-2, -1)),
        mean_b=np.nanmean(b, axis=(-2, -1)),
        estimate=estimate.gap,
        pooled_sd=sd,
        d=np.divide(estimate.gap, sd),
    )
    values = np.concatenate([a, b], axis=-1)
    are_constant = np.nanmax(values, axis=(-2, -1)) == np.nanmin(values, axis=(-2, -1))
    return _Gaps(columns, estimate, are_constant)


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the rows of (r, s, n) values one after the other, in memory as :attr:`Parts.known`."""
    return np.concatenate([part.swapaxes(-1, -2) for part in parts]).swapaxes(-1, -2)


def _rows(columns: Mapping[str, np.ndarray]) -> Iterator[Row]:
    """Yield a mapping for each row of columns."""
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, row, strict=True))


@np.errstate(all="ignore")
def _estimated(a: FloatArray, b: FloatArray, *, paired: bool) -> tuple[Estimate, FloatArray]:
    """Estimate mean gaps of (r, s, n) values, and the standard deviations within groups.

    What is rounding counts as 0.
    """
    sizes = [np.nanmax(np.abs(part), axis=(-2, -1)) for part in (a, b)]
    least = ROUNDING * np.maximum(*sizes)

    def cleaned(value: FloatArray) -> FloatArray:
        bound = least.reshape(-1, *[1] * (value.ndim - 1))
        return np.where(np.abs(value) <= bound, 0.0, value)

    estimate = mean_gap(a - b) if paired else mean_gap(a, b)
    fields = estimate._asdict()
    for name in ("gap", "gaps", "gap_errors"):
        fields[name] = cleaned(fields[name])
    for name in ("v_seeds", "v_texts", "v_cells"):
        fields[name] = cleaned(np.sqrt(fields[name])) ** 2
    sd = cleaned(np.sqrt((_variances_within(a) + _variances_within(b)) / 2))
    return Estimate(**fields), sd


@np.errstate(all="ignore")
def _variances_within(part: FloatArray) -> FloatArray:
    """Return (r,) means over seeds of the variance of (r, s, n) values, NaN if no seed has two.

    The rows are undefined in the same cells.
    """
    several = (~np.isnan(part[0])).sum(axis=1) > 1
    if not several.any():
        return np.full(len(part), np.nan)
    variances = np.nanvar(np.ascontiguousarray(part[:, several]), axis=-1, ddof=1)
    return np.asarray(variances.mean(axis=-1))


def with_tests(
    gaps: Sequence[DescribedGap[Tested]], settings: Statistics, *, only: Only | None = None
) -> list[Tested]:
    """Test gaps that are described, each as it is tested alone."""
    flags = _flags_by_spread(
        np.array([_variances(gap.estimate) for gap in gaps]).reshape(-1, 2),
        np.array([gap.test.pooled_sd for gap in gaps]),
        np.array([gap.test.estimate for gap in gaps]),
        np.array([min(gap.test.n_a, gap.test.n_b) for gap in gaps]),
        np.array([gap.is_constant for gap in gaps], dtype=bool),
    )
    tested = [
        (gap.estimate, gap.test.pooled_sd)
        for gap, flag in zip(gaps, flags, strict=True)
        if gap.estimate is not None and flag not in _UNTESTED
    ]
    gap_test = iter(gap_tests(tested, settings, only=only))
    return [
        _flagged(gap, replace(gap.test, flags=[flag]))
        if flag in _UNTESTED
        else _flagged(gap, _with_test(gap, flag, next(gap_test), settings))
        for gap, flag in zip(gaps, flags, strict=True)
    ]


_UNTESTED = {"too_few", "constant", "no_variance"}
"""Flags of gaps that are not tested."""


def _variances(estimate: Estimate | None) -> tuple[float, float]:
    """Return what of the variance of a gap is from trainings and from texts."""
    if estimate is None:
        return np.nan, np.nan
    return float(estimate.v_seeds), float(estimate.v_texts)


def _flags_by_spread(
    variances: FloatArray,
    pooled_sd: FloatArray,
    estimate: FloatArray,
    n_least: IntArray,
    are_constant: BoolArray,
) -> list[str]:
    """Return a flag of each of k gaps by how its values spread; those of ``_UNTESTED`` say why.

    Args:
        variances: (k, 2) of the mean gap, from trainings and from texts.
        pooled_sd: (k,) standard deviations within groups.
        estimate: (k,) mean gaps.
        n_least: (k,) texts of the smaller group.
        are_constant: (k,) whether all values are equal.
    """
    varies = np.nansum(variances, axis=1) > 0
    cases = {
        "too_few": n_least < 2,
        "": varies & (pooled_sd > 0),
        "constant": are_constant,
        "no_variance": varies | (estimate != 0),
    }
    flags: list[str] = np.select([*cases.values()], [*cases], "no_differences").tolist()
    return flags


class MeanGaps(NamedTuple):
    """Mean gaps between two groups and their tests, (k,) each; see :class:`CrossedTest`.

    Attributes:
        n_seeds: trainings with values of both groups.
        mean_a, mean_b: mean of each group.
        d: mean gap in units of the standard deviation within groups.
        p_mean: of "the mean gap is zero"; NaN where it is not tested.
        are_equal: whether both groups have one mean, from which no value of a training differs.
    """

    n_seeds: IntArray
    mean_a: FloatArray
    mean_b: FloatArray
    d: FloatArray
    p_mean: FloatArray
    are_equal: BoolArray


def mean_gaps(values: Mapping[tuple[str, str], FloatArray], texts: GroupedTexts) -> MeanGaps:
    """Test nothing but the mean gaps between two groups, each as :func:`with_tests` does.

    A gap has no object of its own, which takes longer to make than its test.

    Args:
        values: (r, s, n) values of the texts, by pair of groups.
        texts: groups and matched sets of the n texts.

    Returns:
        The gaps of each pair by its rows.
    """
    placed: list[tuple[IntArray, _Compared]] = []
    n_gaps = 0
    for pair, rows in values.items():
        parts = _compared(rows, texts, pair, None)
        placed += [(n_gaps + np.array(part.rows), part) for part in parts]
        n_gaps += len(rows)
    p_mean = np.full(n_gaps, np.nan)
    tests = MeanGaps(
        n_seeds=np.zeros(n_gaps, dtype=np.int64),
        mean_a=p_mean.copy(),
        mean_b=p_mean.copy(),
        d=p_mean.copy(),
        p_mean=p_mean,
        are_equal=np.zeros(n_gaps, dtype=bool),
    )
    for n_seeds, alike in grouped(placed, lambda part: part[1].n_seeds).items():
        if n_seeds:
            blocks = grouped(alike, lambda part: part[1].cells).values()
            places = np.concatenate([rows for block in blocks for rows, _ in block])
            gaps = [_gaps_of([part for _, part in block]) for block in blocks]
            for column, some in zip(tests, _tested_means(gaps), strict=True):
                column[places] = some
    return tests


def _tested_means(blocks: Sequence[_Gaps]) -> MeanGaps:
    """Test the mean gaps of all blocks, which are of as many trainings."""
    columns = _Columns(*map(np.concatenate, zip(*(gaps.columns for gaps in blocks), strict=True)))
    estimates = [gaps.estimate for gaps in blocks if gaps.estimate is not None]
    estimate = Estimate(*map(np.concatenate, zip(*estimates, strict=True)))
    flags = _flags_by_spread(
        np.stack([estimate.v_seeds, estimate.v_texts], axis=1),
        columns.pooled_sd,
        columns.estimate,
        np.minimum(columns.n_a, columns.n_b),
        np.concatenate([gaps.are_constant for gaps in blocks]),
    )
    is_tested = ~np.isin(flags, [*_UNTESTED])
    tested = Estimate(*(part[is_tested] for part in estimate))
    p_mean = np.full(len(flags), np.nan)
    p_mean[is_tested] = typical_gap(tested).p_mean
    is_level = np.isin(flags, ["constant", "no_differences"])
    return MeanGaps(
        columns.n_seeds,
        columns.mean_a,
        columns.mean_b,
        columns.d,
        p_mean,
        is_level & (columns.pooled_sd == 0) & (columns.estimate == 0),
    )


def _with_test(
    gap: DescribedGap[Tested], flag: str, gap_test: GapTest, settings: Statistics
) -> Tested:
    """Return a described gap with its test, and what is to be known of it."""
    flags = [flag] if flag else []
    if not flags and gap.test.n_seeds < 2:
        flags.append("one_training")
    if gap_test.p_large <= settings.alpha and not gap_test.p_large_others <= settings.alpha:
        flags.append("driven_by_one_training")
    return replace(gap.test, **vars(gap_test), flags=flags)


def _flagged(gap: DescribedGap[Tested], test: Tested) -> Tested:
    """Return a test with the flags of what is not compared."""
    if gap.share < LEAST_SHARE:
        test = _not_comparable(test)
    elif gap.share < 1:
        test.flags.append(LEFT_OUT)
    if gap.lacks_cells:
        test.flags.append("missing_cells")
    return test


def gap_tests(
    gaps: Sequence[tuple[Estimate, float]], settings: Statistics, *, only: Only | None = None
) -> list[GapTest]:
    """Test mean gaps over trainings and texts, and the typical gap of one training.

    Those of as many trainings are tested at once, each as it is tested alone.

    Args:
        gaps: estimates of a single gap each, and what is a d of 1.
        settings: level, threshold and coverage.
        only: less than all tests.
    """
    tests: dict[int, GapTest] = {}
    alike = grouped(range(len(gaps)), lambda place: len(gaps[place][0].gaps))
    for places in alike.values():
        estimates = [gaps[place][0] for place in places]
        estimate = Estimate(*map(np.array, zip(*estimates, strict=True)))
        columns = _mean_tests(estimate, None if only == "p_mean" else settings.confidence)
        if only is None:
            unit = np.array([gaps[place][1] for place in places])
            columns |= _typical_tests(estimate, unit, settings)
        tests |= zip(places, (GapTest(**row) for row in _rows(columns)), strict=True)
    return [tests[place] for place in range(len(gaps))]


@np.errstate(all="ignore")
def _mean_tests(estimate: Estimate, confidence: float | None) -> dict[str, FloatArray]:
    """Test (k,) mean gaps over trainings and texts alone; without a coverage, no interval is."""
    typical = typical_gap(estimate)
    columns = {
        "v_seeds": estimate.v_seeds,
        "v_texts": estimate.v_texts,
        "v_cells": estimate.v_cells,
        "dof_texts": estimate.dof_texts,
        "standard_error": estimate.errors.standard_error,
        "p_mean": typical.p_mean,
    }
    if confidence is not None:
        ci_low, ci_high = typical.mean_interval(confidence)
        columns |= {"ci_low": ci_low, "ci_high": ci_high}
    return columns


@np.errstate(all="ignore")
def _typical_tests(
    estimate: Estimate, unit: FloatArray, settings: Statistics
) -> dict[str, FloatArray]:
    """Test whether (k,) mean gaps are small, and the typical gap of one of several trainings."""
    errors = estimate.errors
    bound = settings.threshold * unit
    columns = {
        "equivalence_p": upper_tail(bound - np.abs(estimate.gap), errors),
        "minimal_detectable_effect": detectable_effect(errors, alpha=settings.alpha) / unit,
    }
    if estimate.gaps.shape[-1] < 2:
        return columns
    typical = typical_gap(estimate)
    rms_low, rms_high = typical.interval(settings.confidence, near=bound)
    return columns | {
        "rms_gap": typical.rms / unit,
        "rms_low": rms_low / unit,
        "rms_high": rms_high / unit,
        "seed_sd": typical.tau / unit,
        "p_seeds": typical.p_seeds,
        "p_large": typical.p_large(bound),
        "p_small": typical.p_small(bound),
        "p_large_others": typical.p_large_others(bound),
        "p_cross": estimate.p_cross,
    }
