"""Counts of permutations and resamples against permuted and resampled rows, written apart."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

from exparity.stats.model_bias import _MOST_TERMS
from exparity.stats.permutations import (
    Labelled,
    bins_of_distance,
    permuted_counts,
    resampled_counts,
    swapped_counts,
)

DRAWS = 20_000


def outcomes(cells, is_first, blocks, n_cells):
    """Counts of the first group by cell, under every permutation within the blocks."""
    rows_of = [np.flatnonzero(blocks == block) for block in np.unique(blocks)]
    choices = [combinations(rows, int(is_first[rows].sum())) for rows in rows_of]
    for chosen in product(*choices):
        firsts = [row for rows in chosen for row in rows]
        yield np.bincount(cells[firsts], minlength=n_cells)


def shares(counts):
    """The share of each row of counts."""
    rows, times = np.unique(np.asarray(counts), axis=0, return_counts=True)
    return {
        tuple(row): count / len(counts) for row, count in zip(rows.tolist(), times, strict=True)
    }


def near(found, expected, draws=DRAWS):
    """Whether shares of draws are those expected, up to five standard errors."""
    assert set(found) <= set(expected)
    for key, share in expected.items():
        error = np.sqrt(share * (1 - share) / draws)
        assert found.get(key, 0.0) == pytest.approx(share, abs=5 * error + 1e-12), key


class TestCounts:
    @pytest.mark.parametrize(
        "blocks",
        [
            [0] * 7,
            [0, 0, 1, 1, 2, 2, 0],
            [0, 0, 0, 1, 1, 1, 1],
            [0, 1, 1, 1, 2, 2, 2],
            [0, 0, 1, 1, 2, 2, 3],
        ],
    )
    def test_every_permutation_is_equally_likely(self, blocks):
        cells = np.array([0, 2, 1, 1, 2, 0, 1])
        is_first = np.array([True, False, True, False, False, True, False])
        blocks = np.array(blocks)
        expected = shares(list(outcomes(cells, is_first, blocks, 4)))
        labelled = Labelled(cells, is_first, blocks)
        drawn = permuted_counts(labelled, 4, DRAWS, np.random.default_rng(0))
        near(shares(drawn), expected)

    def test_a_large_block_is_permuted_as_rows_are(self):
        rng = np.random.default_rng(1)
        cells = rng.integers(0, 3, 90)
        is_first = rng.random(90) < 0.3
        labelled = Labelled(cells, is_first, np.zeros(90, dtype=np.int64))
        drawn = permuted_counts(labelled, 3, DRAWS, rng)
        rows = np.array([np.bincount(cells[rng.permutation(is_first)], minlength=3)
                         for _ in range(DRAWS)])  # fmt: skip
        assert (drawn.sum(axis=1) == is_first.sum()).all()
        assert drawn.mean(0) == pytest.approx(rows.mean(0), abs=0.1)
        assert np.cov(drawn.T) == pytest.approx(np.cov(rows.T), rel=0.08)

    def test_the_rows_of_a_unit_change_sides_together(self):
        first = np.array([0, 1, 2, 0])
        second = np.array([1, 0, 2, 2])
        units = np.array([0, 0, 1, 2])
        found = swapped_counts(first, second, units, 3, DRAWS, np.random.default_rng(0))
        expected = [
            np.bincount(np.where(np.array(swapped)[units], first, second), minlength=3)
            for swapped in product([False, True], repeat=3)
        ]
        near(shares(found), shares(expected))

    @pytest.mark.parametrize("sizes", [[1] * 100, [2] * 60, [1, 2, 3] * 20, [1] * 4])
    def test_resamples_of_units_are_those_of_their_rows(self, sizes):
        rng = np.random.default_rng(2)
        units = np.repeat(np.arange(len(sizes)), sizes)
        cells = rng.integers(0, 2, len(units))
        found = resampled_counts(cells, units, 2, DRAWS, rng)
        held = np.zeros((len(sizes), 2))
        np.add.at(held, (units, cells), 1)
        rows = held[rng.integers(0, len(sizes), (DRAWS, len(sizes)))].sum(axis=1)
        assert found.mean(0) == pytest.approx(rows.mean(0), rel=0.02)
        assert np.cov(found.T) == pytest.approx(np.cov(rows.T), rel=0.08, abs=0.1)


def distances(values, is_first, blocks, most, draws):
    """Distances of permuted groups, measured by at most so many terms."""
    bins = bins_of_distance(values, is_first, blocks, most)
    n_cells = len(bins.weights) + 1
    rng = np.random.default_rng(3)
    firsts = permuted_counts(Labelled(bins.cells, is_first, blocks), n_cells, draws, rng)
    others = np.bincount(bins.cells, minlength=n_cells) - firsts
    gaps = firsts.cumsum(1) / is_first.sum() - others.cumsum(1) / (~is_first).sum()
    return np.abs(gaps[:, :-1]) @ bins.weights


class TestDistance:
    def test_few_values_give_the_distance_itself(self):
        rng = np.random.default_rng(0)
        values = rng.integers(0, 20, 60) / 20  # with ties
        is_first = rng.random(60) < 0.4
        bins = bins_of_distance(values, is_first, np.zeros(60, dtype=np.int64), 100)
        firsts, others = (
            np.bincount(bins.cells[mask], minlength=len(bins.weights) + 1).cumsum() / mask.sum()
            for mask in (is_first, ~is_first)
        )
        expected = wasserstein_distance(values[is_first], values[~is_first])
        assert np.abs(firsts - others)[:-1] @ bins.weights == pytest.approx(expected)

    @pytest.mark.sweep
    @pytest.mark.parametrize("matched", [False, True])
    @pytest.mark.parametrize("kind", ["even", "certain", "rare"])
    def test_few_terms_give_the_distances_of_all(self, kind, matched):
        # Both have the error of their draws; docs/bias.md has that of more draws.
        rng = np.random.default_rng(5)
        values = {
            "even": rng.random(2000),
            "certain": rng.beta(5, 0.3, 2000),  # a classifier that is sure nearly always
            "rare": np.where(rng.random(2000) < 0.01, rng.random(2000), 1 - rng.random(2000) / 1e4),
        }[kind]
        is_first = np.arange(2000) % 2 == 0
        blocks = np.arange(2000) // 2 if matched else np.zeros(2000, dtype=np.int64)
        few, every = (
            distances(values, is_first, blocks, most, 4000) for most in (_MOST_TERMS, 2000)
        )
        error = 4 * every.std() / np.sqrt(4000)
        assert few.mean() == pytest.approx(every.mean(), abs=error)
        ends = [np.quantile(drawn, (0.025, 0.975)) for drawn in (few, every)]
        assert ends[0] == pytest.approx(ends[1], rel=0.1)
        assert few.std() == pytest.approx(every.std(), rel=0.05)

    def test_groups_of_different_shares_in_sets_are_not_centred(self):
        # Two of the first group with one of the second, and the reverse, at other values.
        rng = np.random.default_rng(6)
        blocks = np.repeat(np.arange(400), 3)
        is_first = np.tile([True, True, False, True, False, False], 200)
        values = rng.random(1200) / 2 + np.tile([0, 0, 0, 0.5, 0.5, 0.5], 200)
        few, every = (distances(values, is_first, blocks, most, 2000) for most in (128, 1200))
        assert every.mean() > 10 * every.std()
        assert few.mean() == pytest.approx(every.mean(), rel=0.01)
