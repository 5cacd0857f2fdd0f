"""Gaps between groups of people who marked words, over trainings, texts and raters.

What is scored is a pair: an explanation of a text, against the words that one rater marked in it.
Texts are crossed with raters, and raters are nested in groups, so that a gap between groups of
raters is about other raters too: pairs of one rater share his habits, and are no independent draws.
Two groups are compared within the texts that both marked, so that what a text does to the scores of
all raters cancels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.behrens_fisher import TwoErrors, critical_value, welch
from exparity.stats.crossed import CrossedTest, DescribedGap, with_tests
from exparity.stats.mean_gap import Estimate, additive_residuals
from exparity.stats.power import detectable_effect
from exparity.types import BoolArray, FloatArray, IntArray

ICC = 0.2
"""Share of a rater in the variance within groups that a plan assumes; 0.09 to 0.28 were measured
on ``fair_rationales``."""


@dataclass(frozen=True)
class RatedPairs:
    """The p pairs of a text and a rater.

    Attributes:
        texts: (p,) number of the text.
        raters: (p,) number of the rater.
        groups: (p,) number of the rater's group, the finest that is told apart.
    """

    texts: IntArray
    raters: IntArray
    groups: IntArray

    def among(self, chosen: BoolArray) -> RatedPairs:
        """Return some of the (p,) pairs."""
        return RatedPairs(self.texts[chosen], self.raters[chosen], self.groups[chosen])

    @cached_property
    def groups_within_texts(self) -> FloatArray:
        """(p, k) orthonormal columns of what groups explain within texts."""
        members = np.eye(int(self.groups.max()) + 1)[self.groups]
        within = np.apply_along_axis(self._less_texts, 0, members)
        left, sizes, _ = np.linalg.svd(within, full_matrices=False)
        return np.asarray(left[:, sizes > 1e-9 * max(1.0, sizes.max())], dtype=np.float64)

    def _less_texts(self, values: FloatArray) -> FloatArray:
        counts = np.bincount(self.texts)
        totals = np.bincount(self.texts, values, len(counts))
        return np.asarray(values - (totals / np.maximum(counts, 1))[self.texts], dtype=np.float64)

    def residuals(self, values: FloatArray) -> FloatArray:
        """Return what texts and groups leave of (p,) values, fitted additively."""
        within = self._less_texts(values)
        basis = self.groups_within_texts
        return np.asarray(within - basis @ (basis.T @ within), dtype=np.float64)

    def contrast(self, is_first: BoolArray, is_second: BoolArray) -> FloatArray:
        """Return (p,) weights of the mean difference of two sides, within the texts of both.

        Each of these texts counts alike, and so does each pair of a side of a text.
        """
        n_texts = int(self.texts.max(initial=-1)) + 1
        sides = (is_first, is_second)
        counts = [np.bincount(self.texts[side], minlength=n_texts) for side in sides]
        shared = (counts[0] > 0) & (counts[1] > 0)
        weights = np.zeros(len(self.texts))
        for sign, side, count in zip((1, -1), sides, counts, strict=True):
            places = self.texts[side]
            weights[side] = sign * shared[places] / np.maximum(count[places], 1)
        return weights / max(int(shared.sum()), 1)


@dataclass(frozen=True)
class RaterTest(CrossedTest):
    """The gap between two groups of raters over trainings, texts and raters.

    Attributes:
        n_sets: texts that raters of both groups marked.
        n_a, n_b: raters of each group who marked one of them.
        pairs_a, pairs_b: pairs of a text and a rater.
        v_texts, dof_texts: variance of the mean gap from texts, raters and single cells.
        v_raters: the part of it from raters and single pairs.
        icc: share of the raters in the variance of scores that texts and groups leave.
    """

    pairs_a: int = 0
    pairs_b: int = 0
    v_raters: float = np.nan
    icc: float = np.nan


class _Spread(NamedTuple):
    """Variance of a mean gap from raters and texts, and its degrees of freedom."""

    raters: FloatArray
    both: FloatArray
    dof: FloatArray


@dataclass(frozen=True)
class _Comparison:
    """Two sides of the p pairs whose mean difference is tested.

    Attributes:
        pairs: all pairs, those of other groups too: they tell what a text does.
        sides: (p,) pairs of the first side, and of the second, in the texts that both marked.
        weights: (p,) weights of the mean difference.
    """

    pairs: RatedPairs
    sides: tuple[BoolArray, BoolArray]
    weights: FloatArray

    @classmethod
    def of(cls, pairs: RatedPairs, is_first: BoolArray, is_second: BoolArray) -> _Comparison:
        """Compare two sides within the texts that both marked."""
        weights = pairs.contrast(is_first, is_second)
        counted = weights != 0
        return cls(pairs, (is_first & counted, is_second & counted), weights)

    @property
    def counted(self) -> BoolArray:
        """(p,) whether a pair is compared."""
        return self.sides[0] | self.sides[1]

    @property
    def n_raters(self) -> tuple[int, int]:
        """Raters of each side."""
        first, second = self.sides
        return len(np.unique(self.pairs.raters[first])), len(np.unique(self.pairs.raters[second]))

    @property
    def n_texts(self) -> int:
        """Texts that both sides marked."""
        return len(np.unique(self.pairs.texts[self.counted]))

    @cached_property
    def corrections(self) -> list[float]:
        """By how much the fit of texts and groups lowers the part of each side's raters.

        The larger of what is expected where raters differ, and where single pairs alone do.
        """
        pairs = self.pairs
        basis = pairs.groups_within_texts
        n_texts = np.bincount(pairs.texts)
        columns = np.zeros((int(pairs.raters.max()) + 1, basis.shape[1]))
        np.add.at(columns, pairs.raters, basis)
        marked = np.zeros((len(n_texts), len(columns)))
        np.add.at(marked, (pairs.texts, pairs.raters), 1.0)
        return [max(self._correction(side, n_texts, columns, marked)) for side in self.sides]

    def _correction(
        self, side: BoolArray, n_texts: IntArray, columns: FloatArray, marked: FloatArray
    ) -> tuple[float, float]:
        """Return what is wanted over what is expected, of raters and of single pairs."""
        basis = self.pairs.groups_within_texts
        numbers = self.pairs.raters[side]
        sums = np.zeros((len(columns), len(n_texts)))
        np.add.at(sums, (numbers, self.pairs.texts[side]), self.weights[side])
        projected = np.zeros_like(columns)
        np.add.at(projected, numbers, self.weights[side, None] * basis[side])
        means = sums / np.maximum(n_texts, 1)
        totals = sums.sum(axis=1)
        between = np.diag(totals) - means @ marked - projected @ columns.T
        squares = float((self.weights[side] ** 2).sum())
        left = squares - float((means * sums).sum()) - float((projected**2).sum())
        sum_of_squares = float((between**2).sum())
        return (
            float((totals**2).sum()) / sum_of_squares if sum_of_squares > 0 else np.inf,
            squares / left if left > 0 else np.inf,
        )

    @cached_property
    def leverage(self) -> float:
        """By how much the squared residuals of single pairs fall short of their variance."""
        pairs = self.pairs
        shares = 1 / np.bincount(pairs.texts)[pairs.texts]
        shares = shares + (pairs.groups_within_texts**2).sum(axis=1)
        squares = self.weights**2
        left = float((squares * (1 - shares)).sum())
        return float(squares.sum()) / left if left > 0 else np.inf

    def spread(self, values: FloatArray) -> _Spread:
        """Return the variance of the mean gap of (p,) values from other raters and texts."""
        shares = self.weights * self.pairs.residuals(values)
        parts = []
        for side, correction in zip(self.sides, self.corrections, strict=True):
            by_rater = _totals(shares, self.pairs.raters, side)
            parts.append((correction * (by_rater**2).sum(), len(by_rater) - 1.0))
        from_raters = np.sum([variance for variance, _ in parts])
        by_text = _totals(self.weights * values, self.pairs.texts, self.counted)
        from_texts = len(by_text) * by_text.var(ddof=1)
        beyond = max(from_texts - self.leverage * (shares**2).sum(), 0.0)
        both, dof = welch([*parts, (beyond, len(by_text) - 1.0)])
        return _Spread(np.asarray(from_raters), np.asarray(both), dof)

    def from_cells(self, values: FloatArray) -> float:
        """Return the variance of the mean gap of (s, p) values from single cells."""
        n_seeds = len(values)
        total = 0.0
        for side in self.sides:
            part = values[:, side]
            residuals = additive_residuals(part, np.ones(part.shape, dtype=bool))
            shares = residuals * self.weights[side] / n_seeds
            dof = (n_seeds - 1) * (part.shape[1] - 1)
            total += float((shares**2).sum()) * part.size / dof if dof else 0.0
        return total

    @property
    def planned(self) -> _Spread:
        """The variance of the mean gap that a plan assumes, of scores with a variance of one."""
        parts = []
        for side in self.sides:
            by_rater = _totals(self.weights, self.pairs.raters, side)
            single = float((self.weights[side] ** 2).sum())
            variance = ICC * float((by_rater**2).sum()) + (1 - ICC) * single
            parts.append((variance, len(by_rater) - 1.0))
        both, dof = welch(parts)
        return _Spread(np.asarray(both), np.asarray(both), dof)


def rater_test(
    scores: FloatArray,
    pairs: RatedPairs,
    is_first: BoolArray,
    is_second: BoolArray,
    names: tuple[str, str],
    settings: Statistics,
) -> RaterTest:
    r"""Test the mean difference between the scores of two groups of raters.

    With weights w of the mean difference within texts, and residuals r of an additive fit of texts
    and groups, its variance has the parts

    - :math:`V_S`, the mean square of the trainings' own gaps;
    - :math:`V_R = \sum_{groups} \kappa \sum_{raters} (\sum_{pairs} w r)^2`, from raters and
      single pairs. κ undoes what the fit takes away;
    - :math:`V_I`, from texts that set the groups apart, as far as it exceeds that of single pairs.

    The gap is compared with the sum of two t variables, one for trainings and one for the rest,
    as by :func:`~exparity.stats.crossed.crossed_tests`. Variances are those of Cameron, Gelbach and
    Miller 2011, doi:10.1198/jbes.2010.07136, for clusters that cross.

    Args:
        scores: (s, p) values of s trainings and p pairs; a pair that is NaN in one is left out.
        pairs: the pairs.
        is_first: (p,) whether a pair is of the first group.
        is_second: (p,) whether it is of the second.
        names: the groups.
        settings: level, threshold and coverage.

    Returns:
        The test, first minus second. NaN and a flag where fewer than two raters of a group, or two
        texts, are known.
    """
    is_scored: BoolArray = np.asarray(np.isfinite(scores).all(axis=0))
    compared = _Comparison.of(pairs.among(is_scored), is_first[is_scored], is_second[is_scored])
    n_a, n_b = compared.n_raters
    first, second = compared.sides
    test = RaterTest(
        *names,
        n_seeds=len(scores),
        n_sets=compared.n_texts,
        n_a=n_a,
        n_b=n_b,
        pairs_a=int(first.sum()),
        pairs_b=int(second.sum()),
    )
    if min(n_a, n_b, test.n_sets) < 2 or not len(scores):
        test = replace(test, flags=["too_few"])
    else:
        test = _tested(test, scores[:, is_scored], compared, settings)
    if ((is_first | is_second) & ~is_scored).any():
        test.flags.append("missing_cells")
    return test


@np.errstate(all="ignore")
def _tested(
    test: RaterTest, values: FloatArray, compared: _Comparison, settings: Statistics
) -> RaterTest:
    """Test the gap of (s, p) values that are all known."""
    weights = compared.weights
    gaps = values @ weights
    n_seeds = len(values)
    mean = values.mean(axis=0)
    spread = compared.spread(mean)
    spreads = [compared.spread(row) for row in values]
    estimate = Estimate(
        gap=np.asarray(gaps.mean()),
        v_seeds=np.asarray(gaps.var(ddof=1) / n_seeds if n_seeds > 1 else np.nan),
        v_texts=spread.both,
        v_cells=np.asarray(compared.from_cells(values) if n_seeds > 1 else np.nan),
        n_seeds=np.asarray(n_seeds),
        dof_texts=spread.dof,
        gaps=gaps,
        gap_errors=np.sqrt([training.both for training in spreads]),
        gap_dof=np.array([training.dof for training in spreads]),
    )
    first, second = compared.sides
    variances = [values[:, side].var(axis=1, ddof=1).mean() for side in compared.sides]
    sd = float(np.sqrt(np.mean(variances)))
    test = replace(
        test,
        seeds_above=int((gaps > 0).sum()),
        seeds_below=int((gaps < 0).sum()),
        mean_a=float(weights[first] @ mean[first]),
        mean_b=float(-weights[second] @ mean[second]),
        estimate=float(estimate.gap),
        pooled_sd=sd,
        d=float(estimate.gap) / sd if sd > 0 else np.nan,
        v_raters=float(spread.raters),
        icc=_icc(compared.pairs.residuals(mean), compared.pairs.raters),
    )
    is_constant = not np.ptp(values[:, compared.counted])
    (tested,) = with_tests([DescribedGap(test, estimate, is_constant)], settings)
    return tested


def _totals(values: FloatArray, places: IntArray, side: BoolArray) -> FloatArray:
    """Return the sum of the (p,) values of each rater or text that has pairs of a side."""
    _, numbers = np.unique(places[side], return_inverse=True)
    return np.asarray(np.bincount(numbers, values[side]), dtype=np.float64)


def _icc(residuals: FloatArray, raters: IntArray) -> float:
    """Return the correlation of two residuals of one rater; NaN where none has two."""
    counts = np.bincount(raters)
    twice = float((counts * (counts - 1)).sum())
    squares = float((residuals**2).sum())
    if not twice or not squares:
        return np.nan
    products = float((np.bincount(raters, residuals) ** 2).sum()) - squares
    return products / twice * len(residuals) / squares


@dataclass(frozen=True)
class RaterLevel:
    """The level of a group of raters, by a model, method and metric.

    Attributes:
        compared: attribute of the group, or ``all groups``.
        rater_group: the group.
        n_raters: its raters.
        n_pairs: pairs of a text and a rater.
        marked: mean share of the words that they marked.
        score: mean score.
        random: mean score of words in random order.
        excess: mean of what the scores exceed that by.
        skill: the excess, over what the best explanation would exceed random ones by.
        ci_low, ci_high: ends of its interval over trainings, texts and raters.
    """

    compared: str
    rater_group: str
    n_raters: int
    n_pairs: int
    marked: float
    score: float
    random: float
    excess: float
    skill: float
    ci_low: float
    ci_high: float


class Level(NamedTuple):
    """The mean of a group of raters, and an interval of it over trainings, texts and raters."""

    mean: float
    low: float
    high: float


@np.errstate(all="ignore")
def rater_level(
    scores: FloatArray, pairs: RatedPairs, in_group: BoolArray, confidence: float
) -> Level:
    """Return the level of a group's (s, p) scores; pairs that are NaN in a training are left out.

    The interval is NaN where fewer than two of its raters or texts are known.
    """
    chosen = in_group & np.isfinite(scores).all(axis=0)
    values = scores[:, chosen]
    if not values.size:
        return Level(np.nan, np.nan, np.nan)
    n_seeds, n_pairs = values.shape
    shares = (values.mean(axis=0) - values.mean()) / n_pairs
    everything = np.ones(n_pairs, dtype=bool)
    by_text = _totals(shares, pairs.texts[chosen], everything)
    by_rater = _totals(shares, pairs.raters[chosen], everything)
    from_texts = (by_text**2).sum() * len(by_text) / (len(by_text) - 1.0)
    from_raters = (by_rater**2).sum() * len(by_rater) / (len(by_rater) - 1.0)
    single = (shares**2).sum()
    both, dof = welch(
        [
            (np.maximum(from_raters, single), len(by_rater) - 1.0),
            (np.maximum(from_texts - single, 0.0), len(by_text) - 1.0),
        ]
    )
    means = values.mean(axis=1)
    from_seeds = np.asarray(means.var(ddof=1) / n_seeds if n_seeds > 1 else 0.0)
    errors = TwoErrors(from_seeds, np.asarray(n_seeds - 1.0), np.asarray(both), dof)
    reach = float(critical_value(1 - confidence, errors))
    mean = float(values.mean())
    return Level(mean, mean - reach, mean + reach)


def relative(scores: FloatArray, chance: FloatArray, groups: IntArray) -> FloatArray:
    """Return (s, p) values whose mean over a group is its skill: a ratio of means, linearised.

    Skill is the mean excess of the (s, p) scores over (p,) ``chance``, over the mean of what the
    best score of 1 exceeds it by. It is NaN of a group whose raters mark every word.
    """
    excess = scores - chance
    room = np.where(np.isfinite(excess), 1 - chance, np.nan)
    values = np.full(scores.shape, np.nan)
    for group in np.unique(groups):
        chosen = groups == group
        space = np.nanmean(room[:, chosen], axis=1, keepdims=True)
        skill = np.nanmean(excess[:, chosen], axis=1, keepdims=True) / space
        values[:, chosen] = skill + (excess[:, chosen] - skill * room[:, chosen]) / space
    return values


def planned_gap(
    pairs: RatedPairs, is_first: BoolArray, is_second: BoolArray, *, alpha: float
) -> float:
    """Return the gap that a study of these pairs finds with 80 % power, in standard deviations.

    Single trainings add nothing to it, raters have the share :data:`ICC` of the variance, and the
    test is at the level ``alpha``. NaN where fewer than two raters of a group share texts.
    """
    compared = _Comparison.of(pairs, is_first, is_second)
    if min(*compared.n_raters, compared.n_texts) < 2:
        return np.nan
    spread = compared.planned
    errors = TwoErrors(np.asarray(0.0), np.asarray(1.0), spread.both, spread.dof)
    return float(detectable_effect(errors, alpha=alpha))
