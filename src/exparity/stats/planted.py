"""Planted gaps: the share of known worsenings of explanations that a study would have found."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.crossed import MeanGaps, mean_gaps
from exparity.stats.permutations import batches
from exparity.stats.power import DETECTED
from exparity.stats.samples import GroupedTexts
from exparity.stats.skill import p_mean_on_all_scales
from exparity.types import BoolArray, FloatArray

SpoiltScores = Callable[[BoolArray], FloatArray]
"""(c, r, s, n) scores on c scales where some of the explanations are random, in each row of (r, n);
those of a group do not depend on what is random in others."""
SHARES = (0.1, 0.3, 0.5)
"""Shares of a group's explanations that are replaced by random ones."""
DRAWS = 20
"""Ways to choose the explanations that are replaced."""
_BYTES_OF_SCORE = 100  # of a text in one training, and of what is made of it
_BYTES_OF_TEST = 4_000  # of the nodes of its integral


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
            the worsened group; NaN where the groups cannot be compared. The worsening is found at
            a level from this p on.
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
    spoilt_scores: SpoiltScores,
    texts: GroupedTexts,
    *,
    covariate: FloatArray | None = None,
    shares: Sequence[float] = SHARES,
    draws: int = DRAWS,
) -> list[PlantedGap]:
    """Test worsenings of each group against each other group, as the scores of methods are tested.

    Texts are chosen at random, the same in all trainings and against all groups, as a method fails
    that cannot explain some texts. A gap counts if all scales show it.

    Args:
        spoilt_scores: scores where some explanations are random.
        texts: groups and matched sets of the n texts.
        covariate: (n,) what else scores depend on; groups are then compared like with like.
        shares: shares of a group's explanations that become random.
        draws: ways to choose them.
    """
    pairs = [*combinations(texts.order, 2)]
    good = spoilt_scores(np.zeros((1, len(texts)), dtype=bool))
    control = _tested(dict.fromkeys(pairs, good), texts, covariate)
    spoilt = np.array([_spoilt(texts, share, draw) for share in shares for draw in range(draws)])
    n_tests = 2 * len(pairs) * len(good)
    n_scores = 2 * (len(texts.order) - 1) * good.size
    tests = []
    for batch in batches(len(spoilt), _BYTES_OF_TEST * n_tests + _BYTES_OF_SCORE * n_scores):
        scores = spoilt_scores(spoilt[batch])
        worse = {name: np.where(texts.in_group(name), scores, good) for name in texts.order}
        rows = {pair: np.concatenate([worse[name] for name in pair], axis=1) for pair in pairs}
        tests.append(_tested(rows, texts, covariate))
    d = _by_draw([gaps.d for gaps in tests], len(shares))
    p_mean = _by_draw([gaps.p_mean for gaps in tests], len(shares))
    favours_other = np.sign(d) == np.array([-1, 1])[:, None, None]
    p = np.where(np.isnan(p_mean) | favours_other, p_mean, 1.0)
    median_d = np.median(d, axis=-1)
    most_p = np.quantile(p, DETECTED, axis=-1, method="higher")
    return [
        PlantedGap(
            *pairs[pair],
            pairs[pair][worse],
            shares[share],
            n_seeds=int(control.n_seeds[pair, 0]),
            mean_a=float(control.mean_a[pair, 0]),
            mean_b=float(control.mean_b[pair, 0]),
            control_p=float(control.p_mean[pair, 0]),
            d=float(median_d[pair, worse, share]),
            p=float(most_p[pair, worse, share]),
        )
        for pair, worse, share in np.ndindex(median_d.shape)
    ]


def _by_draw(batches_of_tests: Sequence[FloatArray], n_shares: int) -> FloatArray:
    """Return (pairs, 2, shares, draws) of batches of (pairs, 2 r), the first group worse first."""
    n_pairs = len(batches_of_tests[0])
    by_group = [part.reshape(n_pairs, 2, -1) for part in batches_of_tests]
    return np.concatenate(by_group, axis=-1).reshape(n_pairs, 2, n_shares, -1)


def _tested(
    scores: Mapping[tuple[str, str], FloatArray],
    texts: GroupedTexts,
    covariate: FloatArray | None,
) -> MeanGaps:
    """Test gaps on all scales by (c, r, s, n) scores of each pair of groups: (pairs, r) tests."""
    rows = {pair: part.reshape(-1, *part.shape[2:]) for pair, part in scores.items()}
    gaps = mean_gaps(rows, texts, covariate)
    first, *_ = scores.values()
    by_scale = len(scores), len(first), -1
    d = gaps.d.reshape(by_scale)
    p_mean = gaps.p_mean.reshape(by_scale)
    return MeanGaps(
        n_seeds=gaps.n_seeds.reshape(by_scale)[:, 0],
        mean_a=gaps.mean_a.reshape(by_scale)[:, 0],
        mean_b=gaps.mean_b.reshape(by_scale)[:, 0],
        d=d[:, 0],
        p_mean=p_mean_on_all_scales(d.swapaxes(0, 1), p_mean.swapaxes(0, 1)),
    )


def _spoilt(texts: GroupedTexts, share: float, draw: int) -> BoolArray:
    """Draw which (n,) explanations are random: a share of those of each group."""
    spoilt = np.zeros(len(texts), dtype=bool)
    for group in texts.order:
        rng = generator(0, "planted", *texts.order, group, str(share), draw)
        places = np.flatnonzero(texts.in_group(group))
        spoilt[rng.choice(places, round(share * len(places)), replace=False)] = True
    return spoilt
