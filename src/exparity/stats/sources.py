r"""Where a gap in scores comes from: chance, the room that texts leave, and the explanations.

Of a text with score m, chance c and reference b, the gain is A = m − c and the room B = b − c. Of a
group, with means M, C and B and skill S = ΣA / ΣB, the mean score is M = C + S·B. The difference Δ
of two groups is then the sum of three parts, a bar being the mean of both groups (Kitagawa 1955,
doi:10.1080/01621459.1955.10501299; Oaxaca 1973; Blinder 1973):

.. math:: \Delta M = \Delta C + \bar S\,\Delta B + \bar B\,\Delta S

It is exact in every training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np

from exparity.core.settings import Statistics
from exparity.stats.crossed import described_gaps, with_tests
from exparity.stats.samples import GroupedTexts
from exparity.types import BoolArray, FloatArray

Source = Literal["chance", "room", "explanations"]
SOURCES: tuple[Source, ...] = get_args(Source)
"""Sources of a gap, in the order of the parts."""


@dataclass(frozen=True)
class GapParts:
    """The parts of a mean gap, in the metric's unit; NaN where they are unknown.

    Attributes:
        gap_chance: what random explanations show, too.
        gap_room: what comes from texts that leave more to find; NaN where only chance is known.
        gap_explanations: what belongs to the explanations; NaN where only chance is known.
    """

    gap_chance: float = np.nan
    gap_room: float = np.nan
    gap_explanations: float = np.nan


@dataclass(frozen=True)
class GapSources(GapParts):
    """The parts of a mean gap over trainings, with the ends of their intervals."""

    gap_chance_low: float = np.nan
    gap_chance_high: float = np.nan
    gap_room_low: float = np.nan
    gap_room_high: float = np.nan
    gap_explanations_low: float = np.nan
    gap_explanations_high: float = np.nan


class Divided(NamedTuple):
    """Parts of the scores of one training, (n,) each, in the metric's unit.

    Attributes:
        score: m.
        gain: m − c.
        room: b − c; NaN where no reference is known.
    """

    score: FloatArray
    gain: FloatArray
    room: FloatArray


def gap_sources(
    trainings: Sequence[Divided], texts: GroupedTexts, settings: Statistics
) -> dict[tuple[str, str], GapSources]:
    """Divide the gap between every two groups, first minus second, over all trainings.

    The intervals are those of the crossed test of each part, whose values are linearised (the
    infinitesimal jackknife). Where a group has no room in some training, only chance is known.

    Args:
        trainings: scores, gains and rooms of the n texts in each training, NaN where undefined.
        texts: groups and matched sets of the n texts.
        settings: of the tests, for the coverage of the intervals.
    """
    values: dict[tuple[str, str], FloatArray] = {}
    sources_by_pair: dict[tuple[str, str], list[Source]] = {}
    for pair in combinations(texts.order, 2):
        parts = [_linearised(training, *map(texts.in_group, pair)) for training in trainings]
        sources_by_pair[pair] = [
            source for source in SOURCES if parts and all(source in part for part in parts)
        ]
        if sources_by_pair[pair]:
            values[pair] = np.array(
                [[part[source] for part in parts] for source in sources_by_pair[pair]]
            )
    tests = iter(with_tests(described_gaps(values, texts), settings, only="mean"))
    sources = {}
    for pair, names in sources_by_pair.items():
        columns = {}
        for source in names:
            test = next(tests)
            columns[f"gap_{source}"] = test.estimate
            columns[f"gap_{source}_low"] = test.ci_low
            columns[f"gap_{source}_high"] = test.ci_high
        sources[pair] = GapSources(**columns)
    return sources


def gap_parts(training: Divided, texts: GroupedTexts, pair: tuple[str, str]) -> GapParts:
    """Divide the gap between two groups, first minus second, in one training.

    Args:
        training: scores, gains and rooms of n texts, NaN where undefined.
        texts: groups of the n texts.
        pair: the two groups.
    """
    is_first = texts.in_group(pair[0])
    is_second = texts.in_group(pair[1])
    columns = {}
    for source, values in _linearised(training, is_first, is_second).items():
        is_known = np.isfinite(values)
        if (is_known & is_first).any() and (is_known & is_second).any():
            first = values[is_known & is_first].mean()
            second = values[is_known & is_second].mean()
            columns[f"gap_{source}"] = float(first - second)
    return GapParts(**columns)


def _linearised(
    training: Divided, is_first: BoolArray, is_second: BoolArray
) -> dict[Source, FloatArray]:
    """Return values of each text by source: differences of their group means are the parts.

    The three values of a text add up to its score, so that the parts add up to the gap whatever
    the weights of the texts.
    """
    is_defined = np.isfinite(training.score) & np.isfinite(training.gain)
    has_room = is_defined & np.isfinite(training.room)
    if np.isfinite(training.room).any():
        is_defined = has_room
    chance = np.where(is_defined, training.score - training.gain, np.nan)
    parts: dict[Source, FloatArray] = {"chance": chance}
    members = [is_defined & in_group for in_group in (is_first, is_second)]
    if not all((has_room & in_group).any() for in_group in members):
        return parts
    gains = [training.gain[in_group].mean() for in_group in members]
    rooms = [training.room[in_group].mean() for in_group in members]
    if min(rooms) <= 0 <= max(rooms) or 0 in rooms:
        return parts
    skills = [gain / room for gain, room in zip(gains, rooms, strict=True)]
    mean_skill = np.mean(skills)
    mean_room = np.mean(rooms)
    half_room_gap = (rooms[0] - rooms[1]) / 2
    half_skill_gap = (skills[0] - skills[1]) / 2
    room_part = np.full(len(chance), np.nan)
    explained_part = np.full(len(chance), np.nan)
    for in_group, skill, mean, sign in zip(members, skills, rooms, (1, -1), strict=True):
        room = training.room[in_group]
        influence = (training.gain[in_group] - skill * room) / mean  # of a text on the skill
        room_part[in_group] = mean_skill * room + sign * half_room_gap * influence
        explained_part[in_group] = mean_room * influence + sign * half_skill_gap * room
    return {**parts, "room": room_part, "explanations": explained_part}
