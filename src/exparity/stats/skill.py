r"""Skill: how far an explanation gets from a random one to a reference of the same text.

A score depends on the classifier's certainty: if it is less sure, all falls are smaller. The excess
over random explanations removes what certainty adds to scores, and keeps what it multiplies. Skill
is (score − chance) ÷ (reference − chance), the form of forecasters (Murphy 1988,
doi:10.1175/1520-0493(1988)116<2417:SSBOTM>2.0.CO;2), of kappa and of Somers' D. No single way to
count falls is fair to everything that may differ between two groups, so there are three.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeVar

import numpy as np

from exparity.core.errors import InputError
from exparity.core.grouping import grouped
from exparity.stats.crossed import CrossedTest
from exparity.stats.gap_change import GapChange
from exparity.types import Falls, FloatArray, IntArray

Test = TypeVar("Test", CrossedTest, GapChange)

Scale = Literal["ranks", "log_odds", "probability", "score", "ideal"]
SCALES: tuple[Scale, ...] = ("ranks", "log_odds", "probability")
"""Ways to count falls. ``ranks``: the share of the falls of random explanations of the same text
that are smaller, a tie counting half; what any increasing change of its probabilities leaves.
``log_odds``: what a temperature leaves. ``probability``: what a + b p leaves. Where no falls are
counted, the ``score`` itself is compared with that of the reference, or with the ``ideal``, the
best possible one."""
LEAST_ROOM = 0.05
"""Smallest mean room of a group that has skill, where the room is a share."""
LITTLE_ROOM = 0.1
"""Room below which there is little to tell of a text, and difference in it that is flagged."""
MOST_UNEQUAL = 3.0
"""Ratio of the mean rooms of two groups above which a scale cannot tell of a gap between them: in
one of them little is at stake on it."""
UNLIKE_COUNTS = 0.5
"""Smallest |d| of the number of units that count that the report names."""
_COUNTED_DIGITS = 9  # what follows is rounding, and would be a large d of equal numbers
_NO_SIZE: Scale = "probability"
"""Scale that does not say how small a gap is, where two others do: certainty alone moves it."""
Step = tuple[float, float]
"""Gain of a text's score over chance, and the room that the reference leaves above chance."""
NO_STEP: Step = (np.nan, np.nan)
"""Step of an explanation without a score, or without a step."""


def share_below(pool: FloatArray, falls: FloatArray) -> FloatArray:
    """Return the share of a pool of falls that is below each fall, a tie counting half."""
    return _share_below(np.sort(pool, axis=None), falls)


def _share_below(ordered: FloatArray, falls: FloatArray) -> FloatArray:
    below = np.searchsorted(ordered, falls, "left") + np.searchsorted(ordered, falls, "right")
    return np.asarray(below / (2 * ordered.size), dtype=np.float64)


def units_that_count(reference: Falls) -> float:
    """Return how many units of a text count, by what each adds to the log odds.

    With f the sizes of what they add, it is (Σ f)² ÷ Σ f²: 1 where one unit decides, n where all of
    n add the same, and NaN where none adds anything.
    ``reference`` are the (k,) falls of the reference at each number of units, from 0 or 1.
    """
    falls = reference.log_odds
    if reference.sizes.size and reference.sizes[0] > 0:
        falls = np.concatenate([[0.0], falls])
    added = np.abs(np.diff(falls))
    total = added.sum()
    if not total > 0:
        return np.nan
    return round(float(total**2 / np.square(added).sum()), _COUNTED_DIGITS)


class Limits:
    """Chance and reference of one text, by the number of tokens that a step takes.

    ``random`` are the falls of r random orders of the tokens, (r, k) at k rising sizes, and
    ``reference`` those of the reference explanation, (k,). Falls are no linear function of the
    size, so that limits of other sizes say nothing of a step: each of its size must be there.
    ``counting`` is how many units count; see :func:`units_that_count`.
    """

    def __init__(
        self,
        random: Falls,
        reference: Falls,
        *,
        higher_is_better: bool,
        counting: float = math.nan,
    ) -> None:
        self.random = random
        self.reference = reference
        self.higher_is_better = higher_is_better
        self.counting = counting

    def steps(self, falls: Falls) -> dict[Scale, Step]:
        """Return gain and room of an explanation at its own steps, by scale.

        Steps that take no token are the same for all explanations, and left out; there is nothing
        without others.

        Raises:
            InputError: there are no limits of a step's size.
        """
        has_units = falls.sizes > 0
        if not has_units.any():
            return dict.fromkeys(SCALES, NO_STEP)
        places = self._places(falls.sizes[has_units])
        chance, reference = self._on_scales.take(places, axis=-1).mean(axis=-1)
        explained = np.array(self._counted(falls)).compress(has_units, axis=-1).mean(axis=-1)
        sign = 1.0 if self.higher_is_better else -1.0
        gains = (sign * (explained - chance)).tolist()
        rooms = (sign * (reference - chance)).tolist()
        return dict(zip(SCALES, zip(gains, rooms, strict=True), strict=True))

    @cached_property
    def _on_scales(self) -> FloatArray:
        """(2, c, k) the mean of the random orders, and the reference, on all scales."""
        chance = [falls.mean(axis=0) for falls in self._counted(self.random)]
        return np.array([chance, self._counted(self.reference)])

    @cached_property
    def _pool(self) -> FloatArray:
        """The log odds of all random orders, ordered."""
        return np.sort(self.random.log_odds, axis=None)

    @cached_property
    def _sizes(self) -> IntArray:
        """(k + 1,) sizes that there are limits of, and 0 for larger ones."""
        return np.append(self.random.sizes, 0)

    def _places(self, sizes: IntArray) -> IntArray:
        """Return the places of sizes, which are above 0, among those of the limits."""
        places = np.searchsorted(self.random.sizes, sizes)
        if (self._sizes[places] != sizes).any():
            missing = np.setdiff1d(sizes, self.random.sizes)
            raise InputError(
                f"limits of removal are of {self.random.sizes.tolist()} units, and an explanation "
                f"takes {missing.tolist()}; run again, so that they are computed for each number"
            )
        return places

    def _counted(self, falls: Falls) -> list[FloatArray]:
        """Return falls on each of :data:`SCALES`."""
        return [_share_below(self._pool, falls.log_odds), falls.log_odds, falls.probability]


def step_among(pool: FloatArray, falls: FloatArray, *, higher_is_better: bool) -> Step:
    """Return gain and room of an explanation whose steps are draws, in ranks.

    The ideal is to fall more, or less, than every random explanation of the text, whose falls are
    the pool.
    """
    if not falls.size or not np.size(pool):
        return NO_STEP
    sign = 1.0 if higher_is_better else -1.0
    return float(sign * (share_below(pool, falls).mean() - 0.5)), 0.5


def of_constant(test: Test) -> Test:
    """Return a test of skill for values that are the same everywhere, in all trainings.

    A skill without any variance, equal in both groups, is as equivalent as it can be. Tests that
    divide by a standard deviation do not tell; others are returned as they are.
    """
    flags = {"constant", "no_differences"}.intersection(test.flags)
    is_constant = isinstance(test, CrossedTest) and test.pooled_sd == 0 and test.estimate == 0
    if not flags or not is_constant:
        return test
    return replace(
        test,
        d=0.0,
        ci_low=0.0,
        ci_high=0.0,
        rms_gap=0.0,
        rms_low=0.0,
        rms_high=0.0,
        p_mean=1.0,
        p_large=1.0,
        p_large_others=1.0,
        p_cross=1.0,
        p_small=0.0,
        equivalence_p=0.0,
        flags=[flag for flag in test.flags if flag not in flags],
    )


def linearised(
    gain: FloatArray,
    room: FloatArray,
    groups: Sequence[str] | np.ndarray,
    *,
    least_room: float = 0.0,
) -> FloatArray:
    """Return values whose mean in a group is the group's skill, Σ gain ÷ Σ room.

    With S the skill of a group, the value of a text is S + (gain − S · room) ÷ mean room: the
    infinitesimal jackknife, so that the variance of the mean is that of the ratio. It is NaN where
    gain or room is, and in groups of less mean room, or none. Each row of (..., n) has the values
    that it has alone.
    """
    values = np.full(gain.shape, np.nan)
    by_row = values.reshape(math.prod(gain.shape[:-1]), gain.shape[-1])  # a view
    gains = gain.reshape(by_row.shape)
    rooms = room.reshape(by_row.shape)
    is_known = np.isfinite(gains) & np.isfinite(rooms)
    names = np.asarray(groups)
    for rows in grouped(range(len(by_row)), lambda row: is_known[row].tobytes()).values():
        for name in dict.fromkeys(names.tolist()):
            members = np.ix_(rows, (names == name) & is_known[rows[0]])
            gain_of_group = gains[members]
            room_of_group = rooms[members]
            if not room_of_group.size:
                continue
            mean_room = room_of_group.mean(axis=-1, keepdims=True)
            with np.errstate(invalid="ignore", divide="ignore"):
                skill = gain_of_group.sum(-1, keepdims=True) / room_of_group.sum(-1, keepdims=True)
                linear = skill + (gain_of_group - skill * room_of_group) / mean_room
            has_skill = (mean_room > 0) & (mean_room >= least_room)
            by_row[members] = np.where(has_skill, linear, np.nan)
    return values


@dataclass(frozen=True)
class ScaleTests:
    """Tests of skill scale by scale, beside a test of all; NaN without.

    Attributes:
        d_ranks, d_log_odds, d_probability: d on each scale.
        p_ranks, p_log_odds, p_probability: ``p_mean`` on each scale alone.
        p_small_ranks, p_small_log_odds, p_small_probability: p-value of "the gap is at least the
            threshold" on each scale alone: ``p_small``, of one training ``equivalence_p``.
        detectable_ratio: minimal detectable effect of the scale that finds least, over that of the
            scale that is shown, at least 1.
    """

    d_ranks: float = np.nan
    d_log_odds: float = np.nan
    d_probability: float = np.nan
    p_ranks: float = np.nan
    p_log_odds: float = np.nan
    p_probability: float = np.nan
    p_small_ranks: float = np.nan
    p_small_log_odds: float = np.nan
    p_small_probability: float = np.nan
    detectable_ratio: float = np.nan


@dataclass(frozen=True)
class Rooms:
    """Parts of a skill by group, mean over trainings; NaN without a skill.

    Attributes:
        skill_a, skill_b: of the first and the second group, on the scale that is shown.
        room_a, room_b: mean room.
        little_room_a, little_room_b: share of texts with a room below :data:`LITTLE_ROOM`.
        counting_a, counting_b: mean number of units that count; see :func:`units_that_count`.
        counting_d: d of that number.
    """

    skill_a: float = np.nan
    skill_b: float = np.nan
    room_a: float = np.nan
    room_b: float = np.nan
    little_room_a: float = np.nan
    little_room_b: float = np.nan
    counting_a: float = np.nan
    counting_b: float = np.nan
    counting_d: float = np.nan


def tell_nothing(rooms: Mapping[Scale, tuple[float, float]]) -> list[Scale]:
    """Return the scales on which one group has no room, or over three times less than the other.

    There, worse explanations of the group with more room hardly move the gap, so that it is missed
    although the other scales may show it. The scales still count: without them, groups of other
    numbers of words that matter would differ. The first scale, which is shown, has its own limit.

    Args:
        rooms: mean room of both groups by scale.
    """
    silent: list[Scale] = []
    for scale, pair in list(rooms.items())[1:]:
        low, high = sorted(pair)
        if not (low > 0 and high <= MOST_UNEQUAL * low):
            silent.append(scale)
    return silent


def p_mean_on_all_scales(estimates: FloatArray, p_means: FloatArray) -> FloatArray:
    """Return the (...) p-values of mean gaps on all scales; see :func:`on_all_scales`.

    Args:
        estimates: (c, ...) what is tested on each scale, that which is shown first.
        p_means: (c, ...) p-values of its mean.
    """
    signs = np.sign(estimates)
    agree = (signs[1:] == signs[0]).all(axis=0)
    largest = np.where(np.isnan(p_means), 1.0, p_means).max(axis=0)
    return np.where(np.isnan(p_means[0]), np.nan, np.where(agree, largest, 1.0))


def on_all_scales(
    tests: Mapping[Scale, Test], *, estimate: str = "d", claims_means: bool = True
) -> tuple[Test, ScaleTests]:
    """Return the test on all scales: an intersection–union test, which needs no correction.

    Estimates and intervals are those of the first scale: ranks, which certainty cannot change.
    p-values of a gap are the largest of all scales (Berger 1982); that of the mean is 1 if the
    signs of the estimate disagree. p-values of a small gap are the larger of ranks and log odds:
    ranks count a fall of 1e-6 like one of 0.9. A scale that cannot be tested shows nothing. The
    minimal detectable effect is the largest of all scales, since each must show a gap.
    ``estimate`` names the tested quantity, in units of d. Unless ``claims_means``, neither a mean
    gap nor one that changes between trainings is tested: their p-values and the minimal detectable
    effect are NaN.
    """
    on_each_scale = list(tests.values())
    shown, *_ = on_each_scale
    sized = [test for scale, test in tests.items() if scale != _NO_SIZE]
    sized = sized if len(sized) > 1 else on_each_scale

    def largest(name: str, among: Sequence[Test]) -> float:
        """Return the largest p-value of a claim; NaN where it is not tested on the first scale."""
        first = float(getattr(shown, name))
        if math.isnan(first):
            return first
        values = [float(getattr(test, name)) for test in among]
        return max(1.0 if math.isnan(value) else value for value in values)

    has_effect = not math.isnan(shown.minimal_detectable_effect)
    effects = np.nan_to_num([test.minimal_detectable_effect for test in on_each_scale])
    flags: list[str] = [flag for flag in shown.flags if flag != "driven_by_one_training"]
    if any("driven_by_one_training" in test.flags for test in on_each_scale):
        flags.append("driven_by_one_training")
    estimates = np.array([getattr(test, estimate) for test in on_each_scale])
    p_means = np.array([test.p_mean for test in on_each_scale])
    on_all = replace(
        shown,
        p_mean=float(p_mean_on_all_scales(estimates, p_means)),
        p_large=largest("p_large", on_each_scale),
        p_large_others=largest("p_large_others", on_each_scale),
        p_cross=largest("p_cross", on_each_scale),
        p_small=largest("p_small", sized),
        equivalence_p=largest("equivalence_p", sized),
        minimal_detectable_effect=float(np.max(effects)) if has_effect else math.nan,
        flags=flags,
    )
    if not claims_means:
        on_all = replace(
            on_all, p_mean=math.nan, p_cross=math.nan, minimal_detectable_effect=math.nan
        )
    columns = {}
    if has_effect and shown.minimal_detectable_effect > 0:
        columns["detectable_ratio"] = float(np.max(effects) / shown.minimal_detectable_effect)
    for scale, test in tests.items():
        if scale in SCALES:
            small = test.p_small if test.n_seeds > 1 else test.equivalence_p
            columns[f"d_{scale}"] = float(getattr(test, estimate))
            columns[f"p_{scale}"] = float(test.p_mean)
            columns[f"p_small_{scale}"] = float(small)
    return on_all, ScaleTests(**columns)
