"""Tests of a quantity on all its scales, and the rooms of a skill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

import numpy as np

from exparity.quantities.quantity import Quantity, Skill
from exparity.stats.effect import cohens_d
from exparity.stats.means import mean_of_finite
from exparity.stats.skill import (
    LITTLE_ROOM,
    UNLIKE_COUNTS,
    Rooms,
    Scale,
    ScaleTests,
    Test,
    of_constant,
    on_all_scales,
    tell_nothing,
)
from exparity.types import FloatArray

REFERENCE_BEATEN = "reference_beaten"
"""Flag of a cell in which the explanations of a group do better than the reference."""
COUNTS_DIFFER = "counting_units_differ"
"""Flag of a cell in which more units count in the texts of one group."""
_ROUNDING = 1e-9


def scales_of(quantities: Sequence[Quantity]) -> list[Scale | None]:
    """Return the scales on which a quantity is tested, given what it is in each training."""
    scales = dict.fromkeys(scale for quantity in quantities for scale in quantity.values)
    return [*scales] or [None]


def over_scales(
    quantities: Sequence[Quantity],
    tests: Mapping[Scale | None, Sequence[Test]],
    estimate: str = "d",
) -> list[tuple[Test, ScaleTests]]:
    """Return the test on all scales, for each pair of groups.

    ``tests`` are those of the pairs on each of :func:`scales_of` a quantity; ``estimate`` names
    what is tested.
    """
    if None in tests:
        return [(test, ScaleTests()) for test in tests[None]]
    skills = [quantity for quantity in quantities if isinstance(quantity, Skill)]
    claims_means = all(skill.claims_means for skill in skills)
    scales = [scale for scale in tests if scale]
    mean_room = cache(partial(_mean_room, skills))  # a group is in many pairs
    results = []
    for pair in zip(*tests.values(), strict=True):
        by_scale = dict(zip(scales, pair, strict=True))
        rooms = {
            scale: (mean_room(scale, test.group_a), mean_room(scale, test.group_b))
            for scale, test in by_scale.items()
        }
        on_all, apart = on_all_scales(
            {scale: of_constant(test) for scale, test in by_scale.items()},
            estimate=estimate,
            claims_means=claims_means,
        )
        on_all.flags.extend(f"{scale}_cannot_tell" for scale in tell_nothing(rooms))
        results.append((on_all, apart))
    return results


def _mean_room(skills: Sequence[Skill], scale: Scale, group: str) -> float:
    """Return the mean room of a group on a scale, over texts and trainings; NaN of no text."""
    rooms = [
        skill.steps[scale][np.array(skill.groups) == group, 1]
        for skill in skills
        if scale in skill.steps
    ]
    return mean_of_finite(np.concatenate(rooms)) if rooms else np.nan


def rooms_of(skills: Sequence[Skill], group_a: str, group_b: str) -> tuple[Rooms, list[str]]:
    """Return skill and room of two groups over trainings, and the flags of a cell by these."""
    flags: list[str] = []
    skill_a, room_a, little_room_a = _group_means(skills, group_a, flags)
    skill_b, room_b, little_room_b = _group_means(skills, group_b, flags)
    counting = _counting(skills, group_a, group_b, flags)
    rooms = Rooms(skill_a, skill_b, room_a, room_b, little_room_a, little_room_b, *counting)
    is_share = all(skill.is_share for skill in skills)
    if is_share and abs(room_a - room_b) > LITTLE_ROOM:
        flags.append("room_differs")
    is_searched = all(len(skill.steps) > 1 for skill in skills)
    if is_searched and max(np.nan_to_num([skill_a, skill_b])) > 1 + _ROUNDING:
        flags.append(REFERENCE_BEATEN)
    return rooms, [*flags, *(flag for skill in skills for flag in skill.flags)]


def _group_means(
    skills: Sequence[Skill], group: str, flags: list[str]
) -> tuple[float, float, float]:
    """Return a group's mean skill and room over trainings, and its share of texts with little room.

    Where texts have rooms and no skill, that is flagged.
    """
    values = []
    rooms = []
    for skill in skills:
        in_group = np.array(skill.groups) == group
        values.append(_finite(skill.shown[in_group]))
        rooms.append(_finite(skill.shown_room[in_group]))
    skill_means = [float(part.mean()) for part in values if part.size]
    room_means = [float(part.mean()) for part in rooms if part.size]
    is_little = np.concatenate(rooms) < LITTLE_ROOM
    if is_little.size and not skill_means:
        flags[:] = ["no_room"]
    return _mean(skill_means), _mean(room_means), _mean(is_little)


def _counting(
    skills: Sequence[Skill], group_a: str, group_b: str, flags: list[str]
) -> tuple[float, float, float]:
    """Return how many units count in the texts of two groups, and d of it, mean over trainings.

    A d that is large, and larger than texts leave to chance, is flagged.
    """
    means = []
    gaps = []
    least = UNLIKE_COUNTS
    for skill in skills:
        if skill.counting is None:
            continue
        groups = np.array(skill.groups)
        first = _finite(skill.counting[groups == group_a])
        second = _finite(skill.counting[groups == group_b])
        if min(len(first), len(second)) > 1:
            means.append((float(first.mean()), float(second.mean())))
            gaps.append(float(cohens_d(first, second)))
            least = max(least, 2 * np.sqrt(1 / len(first) + 1 / len(second)))
    counting_d = _mean(gaps)
    if abs(counting_d) >= least:
        flags.append(COUNTS_DIFFER)
    return _mean([a for a, _ in means]), _mean([b for _, b in means]), counting_d


def _finite(values: FloatArray) -> FloatArray:
    return values[np.isfinite(values)]


def _mean(values: Sequence[float] | np.ndarray) -> float:
    return float(np.mean(values)) if len(values) else np.nan
