"""Distributions of scores: one estimate and one violin for the page and for figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from exparity.report.ranges import EQUAL, is_constant, shares_of
from exparity.types import FloatArray

POINTS = 33
"""Points of a density."""
_QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Ends of violin, whiskers and box, and the median; outliers would hide all else."""
_BINS = 256
_WIDTH_IN_SLOT = 0.86
_ROOM = 0.05  # of an axis, beyond each end
_GAP = 0.015  # between the halves of a violin
_BOX_OF_HALF = 0.045
_BOX_OF_WHOLE = 0.06


@dataclass(frozen=True)
class Spread:
    """Summary of one group's scores.

    Attributes:
        numbers: (5,) quantiles at 5, 25, 50, 75 and 95 %.
        at: (k,) places from the 1 % to the 99 % quantile.
        density: (k,) density there, its largest value 1.
    """

    numbers: FloatArray
    at: FloatArray
    density: FloatArray

    @property
    def is_flat(self) -> bool:
        """Whether the scores are equal up to rounding, and have no density."""
        return not self.at[0] < self.at[-1]


@dataclass(frozen=True)
class Violin:
    """Where the violin of a group lies: the unit of all but ``at`` is the distance of two places.

    Attributes:
        at: (k,) scores.
        left: (k,) its left side there.
        right: (k,) its right side there.
        centre: the middle of its box.
        half_box: half the width of its box.
    """

    at: FloatArray
    left: FloatArray
    right: FloatArray
    centre: float
    half_box: float


def score_spread(values: Sequence[float] | FloatArray) -> Spread | None:
    """Summarise the finite scores; None if there is none.

    The density is a Gaussian kernel estimate between the outer quantiles with the bandwidth of
    Silverman (1986). Equal scores have no density.
    """
    defined = np.asarray(values, dtype=np.float64)
    defined = defined[np.isfinite(defined)]
    if not len(defined):
        return None
    start, *numbers, end = np.quantile(defined, _QUANTILES).tolist()
    kept = defined[(defined >= start) & (defined <= end)]
    if len(kept) < 3:
        kept = defined
    density = _density(kept, start, end)
    if density is None:
        return Spread(np.array(numbers), np.full(2, kept[0]), np.ones(2))
    return Spread(np.array(numbers), np.linspace(start, end, POINTS), density / density.max())


def _density(values: FloatArray, start: float, end: float) -> FloatArray | None:
    """Return the unscaled density of values at even steps from start to end; None if equal."""
    if is_constant(float(values.min()), float(values.max())) or is_constant(start, end):
        return None
    shares = shares_of(values, start, end)
    sd = float(shares.std())
    if sd <= EQUAL:
        return None
    lower, upper = np.quantile(shares, (0.25, 0.75)).tolist()
    spread = min(sd, (upper - lower) / 1.34) or sd
    # No narrower than a step, or values between two points would be nowhere.
    width = max(0.9 * spread * len(shares) ** -0.2, 1 / POINTS)
    # No plot can tell narrow bins from the exact density.
    counts, edges = np.histogram(shares, _BINS, (min(0.0, shares.min()), max(1.0, shares.max())))
    centres = (edges[:-1] + edges[1:]) / 2
    distances = np.linspace(0.0, 1.0, POINTS)[:, None] - centres[None, :]
    density: FloatArray = np.exp(-0.5 * (distances / width) ** 2) @ counts
    return density if density.max() > 0 else None


def violin_of(spread: Spread, place: float, index: int, n_groups: int) -> Violin:
    """Return the violin of a group at a place; two groups are the halves of one violin."""
    slot = _WIDTH_IN_SLOT / n_groups
    if n_groups != 2:
        centre = place + (index - (n_groups - 1) / 2) * slot
        body = spread.density * slot * 0.46
        return Violin(spread.at, centre - body, centre + body, centre, _BOX_OF_WHOLE)
    body = spread.density * slot * 0.92
    side = -1 if index == 0 else 1
    edge = place + side * _GAP
    straight = np.full_like(body, edge)
    sides = (edge - body, straight) if index == 0 else (straight, edge + body)
    return Violin(spread.at, *sides, edge + side * 0.07, _BOX_OF_HALF)


def range_of(spreads: Iterable[Spread | None]) -> tuple[float, float] | None:
    """Return the ends of an axis that holds all spreads with some room; None if there are none.

    Where all scores are equal it reaches well beyond them, since it would show rounding otherwise.
    """
    ends = [end for spread in spreads if spread for end in (spread.at[0], spread.at[-1])]
    if not ends:
        return None
    low = float(min(ends))
    high = float(max(ends))
    # Shares of each: the difference of two huge numbers is infinite.
    room = (abs(low) / 10 or 1.0) if is_constant(low, high) else _ROOM * high - _ROOM * low
    return low - room, high + room
