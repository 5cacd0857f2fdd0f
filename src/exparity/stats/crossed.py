"""The crossed test of a gap between groups over trainings and texts.

Trainings (seeds) and texts are both samples. A test within one training tells nothing about the
next one, and a test that treats the scores of all trainings as independent ignores that they are
of the same texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from operator import attrgetter
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np

from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS, Statistics
from exparity.stats.behrens_fisher import upper_tail
from exparity.stats.mean_gap import Estimate, Sample, gap_of, sample_of
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


def p_by_pair(values: FloatArray, texts: GroupedTexts) -> dict[frozenset[str], float]:
    """Return the p-value of the mean gap in (s, n) values between every two groups.

    It is corrected for the number of pairs (Bonferroni), and NaN where nothing is tested.
    """
    if not len(values):
        return {}
    tests = crossed_gaps([*values], texts, Statistics(), only="p_mean")
    return {frozenset((test.group_a, test.group_b)): test.p_mean * len(tests) for test in tests}


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
    gaps: dict[int, DescribedGap[CrossedTest]] = {}
    for alike in grouped(_compared(values, texts, covariate), attrgetter("kind")).values():
        gaps |= zip(_places_of(alike), _described(alike), strict=True)
    return [gaps[place] for place in range(len(gaps))]


class _Compared(NamedTuple):
    """What is compared of two groups, in rows of values that are undefined in the same cells.

    Attributes:
        pair: the groups.
        places: numbers of the rows' gaps among those of all pairs.
        parts: values of the groups.
        share, lacks_cells: see :class:`DescribedGap`.
    """

    pair: tuple[str, str]
    places: list[int]
    parts: Parts
    share: float
    lacks_cells: bool

    @property
    def n_seeds(self) -> int:
        """Trainings with values of both groups."""
        return int(self.parts.values[0].shape[-2])

    @property
    def kind(self) -> tuple[int, bool]:
        """Trainings and whether sets are compared: what is of one kind is described at once."""
        return self.n_seeds, self.parts.are_sets


def _compared(
    values: Mapping[tuple[str, str], FloatArray], texts: GroupedTexts, covariate: FloatArray | None
) -> Iterator[_Compared]:
    """Yield what is compared of every two groups by their (r, s, n) values."""
    n_gaps = 0
    for pair, pair_values in values.items():
        is_second = texts.in_group(pair[1])
        chosen = texts.in_group(pair[0]) | is_second
        is_b = is_second[chosen].astype(np.int64)
        sets = set_index(texts.sets, chosen)
        compared_values = pair_values[..., chosen]
        undefined = np.isnan(compared_values)
        cells = [missing.tobytes() for missing in undefined]
        for rows in grouped(range(len(cells)), cells.__getitem__).values():
            parts = divided(compared_values[rows], is_b, sets)
            share = 1.0
            if covariate is not None:
                like, share = like_with_like(parts, divided(covariate[None, chosen], is_b, sets))
                parts = like if share >= LEAST_SHARE else parts
            lacks_cells = bool(undefined[rows[0]].any())
            places = [n_gaps + row for row in rows]
            yield _Compared(pair, places, parts.known, share, lacks_cells)
        n_gaps += len(pair_values)


def _places_of(compared: Sequence[_Compared]) -> list[int]:
    """Return the numbers of the gaps of what is compared."""
    return [place for part in compared for place in part.places]


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
    """Describe the gaps of all rows of one kind."""
    alike = [part for part in compared for _ in part.places]
    if not alike[0].n_seeds:
        return [
            DescribedGap(CrossedTest(*part.pair), None, False, part.share, part.lacks_cells)
            for part in alike
        ]
    gaps = _gaps_of(compared)
    rows = _rows(gaps.columns._asdict())
    estimates = map(Estimate, *gaps.estimate)
    are_constant = gaps.are_constant.tolist()
    return [
        DescribedGap(
            CrossedTest(*part.pair, **row), estimate, is_constant, part.share, part.lacks_cells
        )
        for part, row, estimate, is_constant in zip(
            alike, rows, estimates, are_constant, strict=True
        )
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
        estimate: of the mean gaps.
        are_constant: (k,) whether all values of a gap are equal.
    """

    columns: _Columns
    estimate: Estimate
    are_constant: BoolArray


class _Spread(NamedTuple):
    """How the values of a group spread, in (k,) rows.

    Attributes:
        n: texts.
        mean: over trainings and texts.
        variance: within trainings, their mean; NaN if none has two values.
        low, high: smallest and largest value.
    """

    n: IntArray
    mean: FloatArray
    variance: FloatArray
    low: FloatArray
    high: FloatArray


@np.errstate(all="ignore")
def _gaps_of(compared: Sequence[_Compared]) -> _Gaps:
    """Describe the gaps of all rows of one kind, which has trainings, in columns."""
    n_seeds, are_sets = compared[0].kind
    sides = [[part.parts.values[side] for part in compared] for side in (0, 1)]
    a, b = _by_side(_spread_of, sides)
    low = np.minimum(a.low, b.low)
    high = np.maximum(a.high, b.high)
    tested = [[first - second for first, second in zip(*sides, strict=True)]] if are_sets else sides
    least = ROUNDING * np.maximum(-low, high)
    estimate = _cleaned(gap_of(_by_side(sample_of, tested)), least)
    sd = _unless_rounding(np.sqrt((a.variance + b.variance) / 2), least)
    columns = _Columns(
        n_seeds=np.full(len(sd), n_seeds),
        n_sets=a.n * are_sets,
        n_a=a.n,
        n_b=b.n,
        seeds_above=(estimate.gaps > 0).sum(axis=-1),
        seeds_below=(estimate.gaps < 0).sum(axis=-1),
        mean_a=a.mean,
        mean_b=b.mean,
        estimate=estimate.gap,
        pooled_sd=sd,
        d=np.divide(estimate.gap, sd),
    )
    return _Gaps(columns, estimate, low == high)


Described = TypeVar("Described", _Spread, Sample)


def _by_side(
    describe: Callable[[FloatArray], Described], sides: Sequence[Sequence[FloatArray]]
) -> list[Described]:
    """Describe all rows of (r, s, n) values of each side, at once where the same cells are missing.

    What cells a group has does not depend on what it is compared with, so that the calls rise with
    the groups, also where these are of unequal sizes, and not with the pairs.
    """
    parts = [part for side in sides for part in side]
    ends = np.cumsum([len(part) for part in parts])
    places = np.split(np.arange(ends[-1]), ends[:-1])
    missing = [np.isnan(part[0]) for part in parts]
    cells = [(mask.shape, mask.tobytes()) for mask in missing]
    blocks = grouped(range(len(parts)), cells.__getitem__).values()
    described = [describe(_joined([parts[number] for number in block])) for block in blocks]
    order = np.argsort(np.concatenate([places[number] for block in blocks for number in block]))
    columns = [np.concatenate(column)[order] for column in zip(*described, strict=True)]
    by_side = zip(*(np.split(column, len(sides)) for column in columns), strict=True)
    return [type(described[0])._make(side) for side in by_side]


def _joined(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the rows of (r, s, n) values one after the other, in memory as :attr:`Parts.known`."""
    return np.concatenate([part.swapaxes(-1, -2) for part in parts]).swapaxes(-1, -2)


@np.errstate(all="ignore")
def _spread_of(part: FloatArray) -> _Spread:
    """Return how (k, s, n) values spread that are undefined in the same cells."""
    several = (~np.isnan(part[0])).sum(axis=1) > 1
    variances = np.nanvar(np.ascontiguousarray(part[:, several]), axis=-1, ddof=1)
    return _Spread(
        n=np.full(len(part), part.shape[-1]),
        mean=np.nanmean(part, axis=(-2, -1)),
        variance=variances.mean(axis=-1) if several.any() else np.full(len(part), np.nan),
        low=np.nanmin(part, axis=(-2, -1)),
        high=np.nanmax(part, axis=(-2, -1)),
    )


@np.errstate(all="ignore")
def _cleaned(estimate: Estimate, least: FloatArray) -> Estimate:
    """Return (k,) estimates without what is rounding: sizes up to the least one."""
    fields = estimate._asdict()
    for name in ("gap", "gaps", "gap_errors"):
        fields[name] = _unless_rounding(fields[name], least)
    for name in ("v_seeds", "v_texts", "v_cells"):
        fields[name] = _unless_rounding(np.sqrt(fields[name]), least) ** 2
    return Estimate(**fields)


def _unless_rounding(sizes: FloatArray, least: FloatArray) -> FloatArray:
    """Return (k, ...) sizes, 0 where they are at most the (k,) least ones."""
    bound = least.reshape(-1, *[1] * (sizes.ndim - 1))
    return np.where(np.abs(sizes) <= bound, 0.0, sizes)


def _rows(columns: Mapping[str, np.ndarray]) -> Iterator[Row]:
    """Yield a mapping for each row of columns."""
    for row in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield dict(zip(columns, row, strict=True))


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
        d: mean gap in units of the standard deviation within groups; 0 where all values are equal.
        p_mean: of "the mean gap is zero"; NaN where it is not tested, 1 where all values are equal.
    """

    n_seeds: IntArray
    mean_a: FloatArray
    mean_b: FloatArray
    d: FloatArray
    p_mean: FloatArray


def mean_gaps(
    values: Mapping[tuple[str, str], FloatArray],
    texts: GroupedTexts,
    covariate: FloatArray | None = None,
) -> MeanGaps:
    """Test nothing but the mean gaps between two groups, each as :func:`with_tests` does.

    A gap has no object of its own, which takes longer to make than its test.

    Args:
        values: (r, s, n) values of the texts, by pair of groups.
        texts: groups and matched sets of the n texts.
        covariate: (n,) what else scores depend on; groups are then compared like with like.

    Returns:
        The gaps of each pair by its rows.
    """
    n_gaps = sum(map(len, values.values()))
    p_mean = np.full(n_gaps, np.nan)
    tests = MeanGaps(
        n_seeds=np.zeros(n_gaps, dtype=np.int64),
        mean_a=p_mean.copy(),
        mean_b=p_mean.copy(),
        d=p_mean.copy(),
        p_mean=p_mean,
    )
    for alike in grouped(_compared(values, texts, covariate), attrgetter("kind")).values():
        if alike[0].n_seeds:
            are_comparable = [part.share >= LEAST_SHARE for part in alike for _ in part.places]
            tested = _tested_means(_gaps_of(alike), np.array(are_comparable))
            for column, some in zip(tests, tested, strict=True):
                column[_places_of(alike)] = some
    return tests


def _tested_means(gaps: _Gaps, are_comparable: BoolArray) -> MeanGaps:
    """Test the mean gaps of as many trainings, those of (k,) comparable groups."""
    columns, estimate, are_constant = gaps
    flags = _flags_by_spread(
        np.stack([estimate.v_seeds, estimate.v_texts], axis=1),
        columns.pooled_sd,
        columns.estimate,
        np.minimum(columns.n_a, columns.n_b),
        are_constant,
    )
    is_tested = ~np.isin(flags, [*_UNTESTED]) & are_comparable
    tested = Estimate(*(part[is_tested] for part in estimate))
    p_mean = np.full(len(flags), np.nan)
    p_mean[is_tested] = typical_gap(tested).p_mean
    is_level = np.isin(flags, ["constant", "no_differences"])
    are_equal = is_level & (columns.pooled_sd == 0) & (columns.estimate == 0)
    d = np.where(are_equal, 0.0, columns.d)
    p_mean[are_equal] = 1.0
    return MeanGaps(columns.n_seeds, columns.mean_a, columns.mean_b, d, p_mean)


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
