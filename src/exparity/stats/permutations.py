"""Permutations of the labels of two groups, as counts: no row is moved.

A statistic of permuted labels that needs nothing but how many rows of the first group each cell
holds (a bin of values, an entry of a confusion matrix) needs no permuted rows either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# What a batch of draws may hold at once.
BATCH_BYTES = 32_000_000
# Rows of a block from which its cells are counted rather than its rows labelled.
_LARGE = 64
# A multinomial number takes this many times as long as the draw of one unit.
_FEW_KINDS = 16


class Labelled(NamedTuple):
    """Rows of two groups, whose labels are permuted within blocks.

    Attributes:
        cells: (n,) number of the cell of each row, from 0.
        is_first: (n,) whether it is of the first group.
        blocks: (n,) the number of its block, from 0.
    """

    cells: IntArray
    is_first: BoolArray
    blocks: IntArray

    def select(self, rows: BoolArray) -> Labelled:
        """Return some of the rows."""
        return Labelled(self.cells[rows], self.is_first[rows], self.blocks[rows])


def batches(repeats: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices of draws, each as large as fits into a fixed number of bytes."""
    size = max(1, BATCH_BYTES // max(1, row_bytes))
    for start in range(0, repeats, size):
        yield slice(start, min(start + size, repeats))


def permuted_counts(
    labelled: Labelled, n_cells: int, repeats: int, rng: np.random.Generator
) -> IntArray:
    """Return (repeats, n_cells) rows of the first group in each cell, labels being permuted.

    Every permutation within the blocks is equally likely. Of a large block the counts themselves
    are drawn, which are multivariate hypergeometric; of two rows, whether they change places.
    """
    sizes = np.bincount(labelled.blocks)
    firsts = np.bincount(labelled.blocks, labelled.is_first, len(sizes)).astype(np.int64)
    size = sizes[labelled.blocks]
    is_mixed = (firsts > 0) & (firsts < sizes)
    mixed = is_mixed[labelled.blocks]
    fixed = labelled.cells[~mixed & labelled.is_first]
    counts = np.broadcast_to(np.bincount(fixed, minlength=n_cells), (repeats, n_cells)).copy()
    for block in np.flatnonzero(is_mixed & (sizes >= _LARGE)):
        colours = np.bincount(labelled.cells[labelled.blocks == block], minlength=n_cells)
        counts += _drawn_colours(colours, int(firsts[block]), repeats, rng)
    for number in np.unique(size[mixed & (size < _LARGE)]):
        rows = labelled.select(mixed & (size == number))
        draw = _swapped if number == 2 else _dealt
        counts += draw(rows, n_cells, repeats, rng)
    return counts


def swapped_counts(
    first: IntArray,
    second: IntArray,
    units: IntArray,
    n_cells: int,
    repeats: int,
    rng: np.random.Generator,
) -> IntArray:
    """Return (repeats, n_cells) rows on the first side, each unit changing sides at random.

    ``first`` and ``second`` are the (m,) cells of rows and of their partners on the second side.
    """
    gained = _indicator(first, units, n_cells) - _indicator(second, units, n_cells)
    gained.eliminate_zeros()
    gained = gained[:, np.unique(gained.indices)]  # units that change nothing need no draw
    counts = np.empty((repeats, n_cells), dtype=np.int64)
    for batch in batches(repeats, 5 * gained.shape[1]):
        shape = gained.shape[1], batch.stop - batch.start
        swapped = rng.integers(0, 2, shape, dtype=np.bool_)
        counts[batch] = (gained @ swapped.astype(np.float32)).T
    return counts + np.bincount(second, minlength=n_cells)


def resampled_counts(
    cells: IntArray, units: IntArray, n_cells: int, repeats: int, rng: np.random.Generator
) -> IntArray:
    """Return (repeats, n_cells) rows in each cell, of bootstrap samples of the units.

    For units that hold the same cells, the number of draws is drawn at once.
    """
    kinds = _kinds(cells, units, n_cells)
    examples, kind, numbers = np.unique(
        kinds, return_index=True, return_inverse=True, return_counts=True
    )[1:]
    rows = np.isin(units, examples)
    rows_of_kind = _indicator(cells[rows], kind[units[rows]], n_cells)
    m = len(kinds)
    counts = np.empty((repeats, n_cells), dtype=np.int64)
    for batch in batches(repeats, 12 * len(numbers)):
        size = batch.stop - batch.start
        if _FEW_KINDS * len(numbers) < m:
            times = rng.multinomial(m, numbers / m, size)
        else:
            drawn = (kind[rng.integers(0, m, m)] for _ in range(size))
            times = np.stack([np.bincount(kinds, minlength=len(numbers)) for kinds in drawn])
        counts[batch] = (rows_of_kind @ times.T.astype(np.float32)).T
    return counts


def _kinds(cells: IntArray, units: IntArray, n_cells: int) -> IntArray:
    """Return (m,) a number for each unit, the same for those whose rows are in the same cells."""
    sizes = np.bincount(units)
    size = int(sizes[0])
    if (sizes != size).any() or n_cells**size >= 2**62:
        return np.arange(len(sizes))
    in_order = cells[np.lexsort((cells, units))].reshape(-1, size)
    return in_order @ n_cells ** np.arange(size)


def _drawn_colours(
    colours: IntArray, n_firsts: int, repeats: int, rng: np.random.Generator
) -> IntArray:
    """Draw (repeats, k) counts of k colours, in ``n_firsts`` rows without replacement."""
    present = np.flatnonzero(colours)
    drawn = np.zeros((repeats, len(colours)), dtype=np.int64)
    drawn[:, present] = rng.multivariate_hypergeometric(
        colours[present], n_firsts, repeats, method="marginals"
    )
    return drawn


def _swapped(rows: Labelled, n_cells: int, repeats: int, rng: np.random.Generator) -> IntArray:
    """Count the first group's rows, of blocks with one row of each group."""
    order = np.lexsort((~rows.is_first, rows.blocks))
    first, second = rows.cells[order].reshape(-1, 2).T
    return swapped_counts(first, second, np.arange(len(first)), n_cells, repeats, rng)


def _dealt(rows: Labelled, n_cells: int, repeats: int, rng: np.random.Generator) -> IntArray:
    """Count the first group's rows, of blocks of one size."""
    order = np.argsort(rows.blocks, kind="stable")
    size = int(np.bincount(rows.blocks).max())
    cells = rows.cells[order].reshape(-1, size)
    firsts = rows.is_first[order].reshape(-1, size).sum(axis=1)
    gained = _indicator(cells.ravel(), np.arange(cells.size), n_cells)
    counts = np.empty((repeats, n_cells), dtype=np.int64)
    for batch in batches(repeats, 20 * cells.size):
        keys = rng.random((*cells.shape, batch.stop - batch.start))
        last = np.take_along_axis(np.sort(keys, axis=1), firsts[:, None, None] - 1, axis=1)
        drawn = (keys <= last).reshape(cells.size, -1)
        counts[batch] = (gained @ drawn.astype(np.float32)).T
    return counts


def _indicator(cells: IntArray, units: IntArray, n_cells: int) -> csr_array:
    """Return (n_cells, units) how many rows of each unit are in each cell."""
    from scipy.sparse import csr_array

    n_units = int(units.max(initial=-1)) + 1
    ones = np.ones(len(cells), dtype=np.float32)
    return csr_array((ones, (cells, units)), shape=(n_cells, n_units))


class Distances(NamedTuple):
    """Where the distance of two permuted samples is measured, and with which weights.

    Attributes:
        cells: (n,) the bin of each value, 0 to k.
        weights: (k,) what |difference of the two groups' shares up to bin j| counts for.
    """

    cells: IntArray
    weights: FloatArray


def bins_of_distance(
    values: FloatArray, is_first: BoolArray, blocks: IntArray, most: int
) -> Distances:
    """Return at most ``most`` + 1 bins of (n,) values that give the Wasserstein-1 distance.

    The distance is the sum over neighbouring values of their distance times |F_a − F_b| between
    them. Where there are more of these terms than ``most``, as many are taken, at equal steps of
    the cumulated root mean squares that the terms have under permutation.
    """
    order = np.argsort(values, kind="stable")
    widths = np.diff(values[order])
    kept = np.flatnonzero(widths)
    weights = widths[kept]
    if len(kept) > most:
        expected = _expected_size(is_first[order], blocks[order])[kept]
        mass = np.cumsum(weights * expected)
        steps = (np.arange(most) + 0.5) / most * mass[-1]
        chosen, times = np.unique(np.searchsorted(mass, steps), return_counts=True)
        weights = times * (mass[-1] / most) / expected[chosen]
        kept = kept[chosen]
    cells = np.empty(len(values), dtype=np.int64)
    cells[order] = np.searchsorted(kept, np.arange(len(values)))
    return Distances(cells, weights)


def _expected_size(is_first: BoolArray, blocks: IntArray) -> FloatArray:
    """Return (n − 1,) root mean square of F_a − F_b after each sorted row, labels permuted."""
    n = len(blocks)
    n_a = int(is_first.sum())
    n_b = n - n_a
    sizes = np.bincount(blocks).astype(np.float64)
    share = np.bincount(blocks, is_first, len(sizes)) / np.maximum(sizes, 1)
    spread = share * (1 - share) * sizes / np.maximum(sizes - 1, 1)
    home = np.argsort(blocks, kind="stable")
    starts = np.cumsum(sizes) - sizes
    earlier = np.empty(n)  # rows of its block before each
    earlier[home] = np.arange(n) - starts[blocks[home]]
    steps = spread[blocks] * (1 - (2 * earlier + 1) / sizes[blocks])
    variance = np.maximum(0.0, np.cumsum(steps)) * (1 / n_a + 1 / n_b) ** 2
    mean = np.cumsum(share[blocks]) * (1 / n_a + 1 / n_b) - np.arange(1, n + 1) / n_b
    size: FloatArray = np.sqrt(variance + mean**2)[:-1]
    return size
