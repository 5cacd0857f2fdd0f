"""Planted gaps: the share of known worsenings of explanations that a study would have found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from exparity.core.seeding import generator
from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import CrossedTest, described_gaps, with_tests
from exparity.stats.permutations import batches
from exparity.stats.power import DETECTED
from exparity.stats.samples import GroupedTexts
from exparity.types import BoolArray, FloatArray

SpoiltTests = Callable[[BoolArray, tuple[str, str]], list[CrossedTest]]
"""Tests of the gap between two groups where some of the explanations are random ones, in each row
of (r, n)."""
SHARES = (0.1, 0.3, 0.5)
"""Shares of a group's explanations that are replaced by random ones."""
DRAWS = 20
"""Ways to choose the explanations that are replaced."""
_BYTES_OF_TEXT = 1_000  # of the scores of a text in ten trainings, and of what is made of them


@dataclass(frozen=True)
class PlantedGap:
    """Good explanations of two groups, some of them made random in one group.

    Attributes:
        group_a, group_b: the groups.
        worse_group: the one whose explanations are worsened.
        share: how many of them are, in (0, 1].
        n_seeds: trainings.
        mean_a, mean_b: mean score of the good explanations of each group.
        control_p: ``p_mean`` of the gap between these; small if they differ already.
        d: median d over the draws of what is replaced, first minus second group.
        p: p-value of the mean gap that four of five draws have at most, 1 for a draw that favours
            the worsened group. The worsening is found at a level from this p on.
    """

    group_a: str
    group_b: str
    worse_group: str
    share: float
    n_seeds: int = 0
    mean_a: float = np.nan
    mean_b: float = np.nan
    control_p: float = np.nan
    d: float = np.nan
    p: float = np.nan


def spoilt_scores(good: FloatArray, random: FloatArray, texts: GroupedTexts) -> SpoiltTests:
    """Return the tests of the mean gap in scores.

    Args:
        good: (s, n) scores of good explanations, NaN where undefined.
        random: (s, n) scores of random explanations of the same texts.
        texts: groups and matched sets of the n texts.
    """

    def tested(spoilt: BoolArray, pair: tuple[str, str]) -> list[CrossedTest]:
        chosen = texts.in_group(pair[0]) | texts.in_group(pair[1])
        scores = np.where(spoilt[:, None, chosen], random[:, chosen], good[:, chosen])
        gaps = described_gaps({pair: scores}, texts.among(pair))
        return with_tests(gaps, DEFAULTS, only="p_mean")

    return tested


def planted_gaps(
    test: SpoiltTests,
    texts: GroupedTexts,
    *,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
) -> list[PlantedGap]:
    """Test worsenings of each group against each other group, as the scores of methods are tested.

    Texts are chosen at random, the same in all trainings, as a method fails that cannot explain
    some texts.

    Args:
        test: of the gap where some explanations are random.
        texts: groups and matched sets of the n texts.
        shares: shares of a group's explanations that become random.
        draws: ways to choose them.
    """
    planted = []
    for pair in combinations(texts.order, 2):
        worsenings = [*product(pair, shares)]
        spoilt = [np.zeros(len(texts), dtype=bool)]
        for worse, share in worsenings:
            spoilt += [_spoilt(texts, pair, worse, share, draw) for draw in range(draws)]
        tests = [
            tested
            for batch in batches(len(spoilt), _BYTES_OF_TEXT * len(texts))
            for tested in test(np.array(spoilt[batch]), pair)
        ]
        for place, (worse, share) in enumerate(worsenings):
            drawn = tests[1 + place * draws : 1 + (place + 1) * draws]
            planted.append(_summed_up(tests[0], drawn, worse, share))
    return planted


def _spoilt(
    texts: GroupedTexts, pair: tuple[str, str], worse: str, share: float, draw: int
) -> BoolArray:
    """Draw which (n,) explanations are random: a share of those of the group that is worse."""
    rng = generator(0, "planted", *pair, worse, str(share), draw)
    places = np.flatnonzero(texts.in_group(worse))
    spoilt = np.zeros(len(texts), dtype=bool)
    spoilt[rng.choice(places, round(share * len(places)), replace=False)] = True
    return spoilt


def _summed_up(
    control: CrossedTest, tests: Sequence[CrossedTest], worse: str, share: float
) -> PlantedGap:
    """Return what most draws show; NaN where nothing is tested."""
    sign = -1 if worse == control.group_a else 1
    d = np.array([test.d for test in tests])
    p = np.array([test.p_mean for test in tests])
    p = np.where(np.isnan(p), p, np.where(np.sign(d) == sign, p, 1.0))
    return PlantedGap(
        control.group_a,
        control.group_b,
        worse,
        share,
        n_seeds=control.n_seeds,
        mean_a=control.mean_a,
        mean_b=control.mean_b,
        control_p=control.p_mean,
        d=float(np.median(d)),
        p=float(np.quantile(p, DETECTED, method="higher")),
    )
