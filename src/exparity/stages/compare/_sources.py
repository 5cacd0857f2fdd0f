"""Chance, room and skill of the scores of a cell, for the sources of their gaps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.quantities.quantity import Skill
from exparity.quantities.scores import Cell
from exparity.stats.skill import Scale
from exparity.stats.sources import Divided
from exparity.types import FloatArray, IntArray

_IN_UNITS: tuple[Scale, ...] = ("probability", "score")
"""Scales of a skill whose gain and room are in the unit of the scores."""


def divided(cells: Sequence[Cell], places: IntArray) -> list[Divided]:
    """Return score, gain and room of the texts at rising places, for each training.

    Empty where nothing is known of chance in some training.
    """
    trainings = [_divided(cell, places) for cell in cells]
    parts = [training for training in trainings if training is not None]
    return parts if len(parts) == len(cells) else []


def _divided(cell: Cell, places: IntArray) -> Divided | None:
    """Return the parts of one training; None without random explanations."""
    gain = np.full(len(cell.places), np.nan)
    room = gain
    for name, quantity in cell.quantities.items():
        if name.endswith("excess"):
            gain = quantity.shown
        if isinstance(quantity, Skill):
            gain, room = _in_units(cell, quantity, gain)
    if np.isnan(gain).all():
        return None
    return Divided(*(cell.laid(places, part) for part in (cell.measured, gain, room)))


def _in_units(cell: Cell, skill: Skill, excess: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return gain and room in the unit of the scores; gain is the excess where a skill has none."""
    scale = next((scale for scale in _IN_UNITS if scale in skill.steps), None)
    if scale is None:
        return excess, np.full_like(excess, np.nan)
    sign = -1.0 if cell.direction_of("score") == "lower" else 1.0
    gain, room = sign * skill.steps[scale].T
    has_skill = np.isfinite(skill.shown)
    return np.where(np.isfinite(gain), gain, excess), np.where(has_skill, room, np.nan)
