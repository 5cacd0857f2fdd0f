"""What a study would have found: known worsenings of explanations that are known to be good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.power import DETECTED
from exparity.types import FloatArray

SHARES = (0.1, 0.3, 0.5)
"""Shares of a group's explanations that are replaced by random ones."""
DRAWS = 20
"""Ways to choose the explanations that are replaced."""


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


def planted_gaps(
    good: FloatArray,
    random: FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
) -> list[PlantedGap]:
    """Test worsenings of each group against each other group, as the scores of methods are tested.

    Texts are chosen at random, the same in all trainings, as a method fails that cannot explain
    some texts.

    Args:
        good: (s, n) scores of good explanations, NaN where undefined.
        random: (s, n) scores of random explanations of the same texts.
        groups: (n,) group of each text.
        order: the groups.
        pairs: (n,) matched set of each text, if there are any.
        shares: shares of a group's explanations that become random.
        draws: ways to choose them.
    """
    names = np.asarray(groups, dtype=object)
    sets = None if pairs is None else np.asarray(pairs, dtype=object)
    planted = []
    for pair in combinations(order, 2):
        chosen = np.isin(names, pair)
        good_scores = good[:, chosen]
        random_scores = random[:, chosen]
        pair_groups = names[chosen].tolist()
        pair_sets = None if sets is None else sets[chosen].tolist()
        control = _tested(good_scores, pair_groups, pair, pair_sets)
        for worse in pair:
            places = np.flatnonzero(names[chosen] == worse)
            for share in shares:
                count = round(share * len(places))
                tests = []
                for draw in range(draws):
                    rng = generator(0, "planted", *pair, worse, str(share), draw)
                    spoilt = rng.choice(places, count, replace=False)
                    values = good_scores.copy()
                    values[:, spoilt] = random_scores[:, spoilt]
                    tests.append(_tested(values, pair_groups, pair, pair_sets))
                planted.append(_summed_up(control, tests, worse, share))
    return planted


def _tested(
    values: FloatArray,
    groups: Sequence[str],
    pair: tuple[str, str],
    sets: Sequence[str | None] | None,
) -> CrossedTest:
    """Test the mean gap between two groups in (s, n) scores."""
    (test,) = crossed_tests([*values], groups, pair, sets, mean_only=True)
    return test


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
