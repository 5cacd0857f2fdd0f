"""Gaps of rates of all classes in one number: the root of their mean square.

Both sides of a gap are rows of predictions: those of two groups, or those of the same examples
under do(first) and do(second). Everything follows from their two confusion matrices, so that these
alone are drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.bootstrap import Draws, central
from exparity.stats.permutations import (
    Labelled,
    permuted_counts,
    resampled_counts,
    swapped_counts,
)
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.samples import exchangeable
from exparity.stats.shares import Interval
from exparity.types import BoolArray, FloatArray, IntArray

RATES = ("tpr", "fpr", "selection_rate")


@dataclass(frozen=True, eq=False)
class Sides:
    """Predictions on the two sides of a gap, row by row.

    Attributes:
        second: (m,) True for a row of the second side.
        labels, predicted: (m,) true and predicted class.
        units: (m,) number of what is drawn as one, an example or its matched set: 0, 1, ...
        n_classes: c.
        paired: whether each unit has the same rows on both sides, so that nothing but the sides of
            a unit can be exchanged; groups are permuted else.
        matched: whether rows of the two groups share units, if they are not paired.
    """

    second: BoolArray
    labels: IntArray
    predicted: IntArray
    units: IntArray
    n_classes: int
    paired: bool
    matched: bool = False

    @property
    def confusion(self) -> FloatArray:
        """(2, c, c) rows by side, true and predicted class."""
        return self._matrices(np.bincount(self._entries, minlength=2 * self.n_classes**2))

    @property
    def _cells(self) -> IntArray:
        """(m,) number of each row's entry in the confusion matrix of a side."""
        return self.labels * self.n_classes + self.predicted

    @property
    def _entries(self) -> IntArray:
        """(m,) number of each row's entry in the matrices of both sides."""
        return self.second * self.n_classes**2 + self._cells

    def _matrices(self, counts: IntArray) -> FloatArray:
        """Return (..., 2, c, c) confusion matrices of (..., 2 · c · c) counts."""
        c = self.n_classes
        return counts.astype(np.float64).reshape(*counts.shape[:-1], 2, c, c)

    def resampled(self, resamples: int, rng: np.random.Generator) -> FloatArray:
        """Return (resamples, 2, c, c) counts of bootstrap samples of the units.

        Those of two groups without matched sets are drawn within each group.
        """
        n_entries = 2 * self.n_classes**2
        if self.paired or self.matched:
            counts = resampled_counts(self._entries, self.units, n_entries, resamples, rng)
            return self._matrices(counts)
        entries = np.bincount(self._entries, minlength=n_entries).reshape(2, -1)
        drawn = [rng.multinomial(side.sum(), side / side.sum(), resamples) for side in entries]
        return self._matrices(np.concatenate(drawn, axis=1))

    def permuted(
        self, resamples: int, rng: np.random.Generator, *, within_classes: bool = False
    ) -> FloatArray:
        """Return (resamples, 2, c, c) counts where the sides mean nothing."""
        n_cells = self.n_classes**2
        first = ~self.second
        if self.paired:
            rows = self._cells[first], self._cells[self.second], self.units[first]
            firsts = swapped_counts(*rows, n_cells, resamples, rng)
        else:
            blocks = exchangeable(len(self.units), self.units if self.matched else None)
            if within_classes:  # those without a partner; block 0
                blocks = np.where(blocks == 0, -1 - self.labels, blocks)
            labelled = Labelled(self._cells, first, np.unique(blocks, return_inverse=True)[1])
            firsts = permuted_counts(labelled, n_cells, resamples, rng)
        seconds = np.bincount(self._cells, minlength=n_cells) - firsts
        return self._matrices(np.concatenate([firsts, seconds], axis=1))


def rate_gaps(confusion: FloatArray) -> dict[str, FloatArray]:
    """Return the gap of every class's rates, first minus second side."""
    rows = confusion.sum((-2, -1))[..., None]  # (..., 2, 1)
    predicted = confusion.sum(-2)  # (..., 2, c)
    positives = confusion.sum(-1)  # (..., 2, c)
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        rates = (hits / positives, (predicted - hits) / (rows - positives), predicted / rows)
    gaps = [rate[..., 0, :] - rate[..., 1, :] for rate in rates]
    return dict(zip(RATES, gaps, strict=True))


def rms(gaps: FloatArray) -> FloatArray:
    """Return the root of the mean square of gaps over classes (Chen, Ji and Evans 2024).

    The paper prints it without the square; its numbers are with it.
    """
    defined = ~np.isnan(gaps)
    with np.errstate(invalid="ignore"):
        mean = (np.where(defined, gaps, 0.0) ** 2).sum(-1) / defined.sum(-1)
    return np.asarray(np.sqrt(mean))


def rms_rows(prefix: str, groups: tuple[str, str], sides: Sides, draws: Draws) -> Iterator[BiasRow]:
    """Yield the RMS over classes of each rate's gap, and what it is by chance."""
    observed = rate_gaps(sides.confusion)
    resampled: dict[str, FloatArray] = {}
    by_chance: dict[str, FloatArray] = {}
    if draws.resamples and 0 < sides.second.sum() < len(sides.second):
        rng = generator(draws.seed, f"{prefix}rms", *groups)
        resampled = rate_gaps(sides.resampled(draws.resamples, rng))
        rng = generator(draws.seed, f"{prefix}rms_by_chance", *groups)
        by_chance = rate_gaps(sides.permuted(draws.resamples, rng))
        if not sides.paired:
            # Rates of a true class have the noise of how many of it each group has: a class of nine
            # men and one woman has more of it than one of five and five.
            within = rate_gaps(sides.permuted(draws.resamples, rng, within_classes=True))
            by_chance |= {rate: within[rate] for rate in ("tpr", "fpr")}
    for rate, gaps in observed.items():
        n = int((~np.isnan(gaps)).sum())
        flags = ("classes_left_out",) if n < len(gaps) else ()
        row = BiasRow(f"{prefix}{rate}_gap_rms", *groups, "", float(rms(gaps)), n, flags=flags)
        chance = replace(row, quantity=f"{row.quantity}_by_chance", value=np.nan)
        if not n:
            yield from (replace(empty, flags=("no_examples",)) for empty in (row, chance))
        elif not draws.resamples:
            yield from (row, replace(chance, flags=(*flags, "not_drawn")))
        else:
            low, high = reverse_percentile(row.value, rms(resampled[rate]), draws.confidence)
            yield replace(row, ci_low=low, ci_high=high)
            value, low, high = central(rms(by_chance[rate]), draws.confidence)
            yield replace(chance, value=value, ci_low=low, ci_high=high)


def rms_of_groups(data: Predictions, draws: Draws) -> Iterator[BiasRow]:
    """Yield the RMS over classes of the gaps between every two groups' examples."""
    units = np.arange(len(data)) if data.sets is None else data.sets
    for i, j in combinations(range(len(data.order)), 2):
        kept = np.isin(data.groups, (i, j))
        sides = Sides(
            second=data.groups[kept] == j,
            labels=data.labels[kept],
            predicted=data.predicted[kept],
            units=np.unique(units[kept], return_inverse=True)[1],
            n_classes=len(data.classes),
            paired=False,
            matched=data.sets is not None,
        )
        yield from rms_rows("", (data.order[i], data.order[j]), sides, draws)


def reverse_percentile(value: float, drawn: FloatArray, confidence: float) -> Interval:
    """Return the reverse percentile ("basic") bootstrap interval of an RMS.

    Noise makes an RMS larger, and that of resamples, which have it twice, still larger. Taken the
    other way round their quantiles undo both, so that the interval can lie below the value.
    """
    _, low, high = central(drawn, confidence)
    return max(0.0, 2 * value - high), max(0.0, 2 * value - low)
