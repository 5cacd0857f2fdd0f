"""Which explanation method is better: paired tests of two methods on the same texts.

Two methods explain the same text of the same classifier, so that its certainty, length and tokens
are the same on both sides, and raw scores may be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from exparity.core.formats import joined
from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import ROUNDING
from exparity.stats.mean_gap import mean_gap
from exparity.stats.multiplicity import holm
from exparity.stats.samples import set_index, set_means
from exparity.stats.typical_gap import typical_gap
from exparity.types import FloatArray, IntArray

EVERYBODY = ""
"""Name of the group of all texts."""


@dataclass(frozen=True)
class MethodTest:
    """The difference between two methods on the texts of a group, over trainings and texts.

    Attributes:
        group: the group; empty for all texts.
        method_a, method_b: first and second method.
        n_seeds, n_texts: trainings and texts in which both have a score. Texts of one matched set
            count once where the texts of all groups are compared.
        mean_a, mean_b: mean score of each, in the metric's unit.
        difference: first minus second.
        ci_low, ci_high: ends of its interval.
        p: two-sided p-value of "the mean difference is zero"; of a single training, over other
            texts alone; NaN where nothing varies.
        p_holm: the same, corrected by Holm over all pairs of methods and all groups.
        better: the method whose scores are better, if ``p_holm`` is at most α; else empty.
    """

    group: str
    method_a: str
    method_b: str
    n_seeds: int = 0
    n_texts: int = 0
    mean_a: float = np.nan
    mean_b: float = np.nan
    difference: float = np.nan
    ci_low: float = np.nan
    ci_high: float = np.nan
    p: float = np.nan
    p_holm: float = np.nan
    better: str = ""


def compare_methods(
    scores: Mapping[str, FloatArray],
    groups: Sequence[str],
    order: Sequence[str],
    sets: Sequence[str | None] | None = None,
    *,
    higher_is_better: bool,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> list[MethodTest]:
    """Compare every two methods for each group, and for all texts.

    Args:
        scores: (s, n) scores of s trainings and n texts by method; NaN where undefined.
        groups: (n,) group of each text.
        order: the groups.
        sets: (n,) matched set of each text.
        higher_is_better: whether higher scores are better.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals, which are not corrected.
    """
    names = np.array(groups, dtype=object)
    tests = []
    for group in (EVERYBODY, *order):
        chosen = np.ones(len(names), dtype=bool) if group == EVERYBODY else names == group
        numbers = set_index(sets, chosen)
        for method_a, method_b in combinations(scores, 2):
            a = scores[method_a][:, chosen]
            b = scores[method_b][:, chosen]
            test = MethodTest(group, method_a, method_b)
            tests.append(_tested(test, *_defined_in_both(a, b, numbers), confidence))
    corrected = holm([test.p for test in tests])
    return [
        _judged(test, float(p), alpha, higher_is_better=higher_is_better)
        for test, p in zip(tests, corrected, strict=True)
    ]


def best_methods(tests: Sequence[MethodTest], group: str = EVERYBODY) -> list[str]:
    """Return the methods that no other is better than, for a group, in the order of the tests."""
    tests = [test for test in tests if test.group == group]
    methods = dict.fromkeys(name for test in tests for name in (test.method_a, test.method_b))
    beaten = {
        test.method_b if test.better == test.method_a else test.method_a
        for test in tests
        if test.better
    }
    return [method for method in methods if method not in beaten]


def best_in_words(best: Sequence[str], n_methods: int, texts: str = "") -> str:
    """Say which methods are the best, as a clause.

    Args:
        best: names of the methods that no other is better than; not of random explanations.
        n_methods: how many methods were compared, random explanations not counted.
        texts: for which texts these are the best, such as "for female texts"; by default unsaid.
    """
    if not best:
        return "no method is shown to be better than random explanations"
    if len(best) == n_methods:
        return "no method is shown to be better than another"
    verb = "is" if len(best) == 1 else "are"
    clause = " ".join(filter(None, [joined(best), verb, "best", texts]))
    return clause if len(best) == 1 else f"{clause}, and not told apart"


def _defined_in_both(
    a: FloatArray, b: FloatArray, sets: IntArray | None
) -> tuple[FloatArray, FloatArray]:
    """Return two (s, n) scores where both are defined, else NaN: the means of matched sets."""
    undefined = np.isnan(a) | np.isnan(b)
    if sets is None:
        return np.where(undefined, np.nan, a), np.where(undefined, np.nan, b)
    codes = undefined.astype(np.int64)
    means = [set_means(np.where(undefined, 0.0, x), codes, sets, 2)[..., 0] for x in (a, b)]
    return means[0], means[1]


@np.errstate(all="ignore")
def _tested(test: MethodTest, a: FloatArray, b: FloatArray, confidence: float) -> MethodTest:
    """Test the mean difference of (s, n) scores, which are NaN in the same cells."""
    defined = ~np.isnan(a)
    seeds = defined.any(axis=1)
    texts = defined.any(axis=0)
    if not seeds.any():
        return test
    differences = (a - b)[seeds][:, texts]
    measured = replace(
        test,
        n_seeds=int(seeds.sum()),
        n_texts=int(texts.sum()),
        mean_a=float(np.nanmean(a)),
        mean_b=float(np.nanmean(b)),
        difference=float(np.nanmean(differences)),
    )
    rounding = ROUNDING * max(np.nanmax(np.abs(a)), np.nanmax(np.abs(b)))
    if np.nanmax(differences) - np.nanmin(differences) <= rounding:
        return measured
    gap = typical_gap(mean_gap(differences))
    ci_low, ci_high = gap.mean_interval(confidence)
    return replace(measured, ci_low=float(ci_low), ci_high=float(ci_high), p=float(gap.p_mean))


def _judged(test: MethodTest, p_holm: float, alpha: float, *, higher_is_better: bool) -> MethodTest:
    """Name the better method where the corrected p-value is significant."""
    better = ""
    if p_holm <= alpha:
        better = test.method_a if (test.difference > 0) == higher_is_better else test.method_b
    return replace(test, p_holm=p_holm, better=better)
