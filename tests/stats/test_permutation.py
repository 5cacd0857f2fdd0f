"""Permuted groups: what is permuted, what is tested, and what cannot be."""

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from exparity.core.seeding import derive_seed
from exparity.stats import permuted_rates
from exparity.stats.permutation import shuffled

GROUPS = ["m"] * 30 + ["f"] * 30
SETS = [f"{i:02d}" for i in range(30)] * 2


def rates(values, groups=GROUPS, order=("m", "f"), pairs=SETS, **options):
    options = {"alpha": 0.05, "permutations": 40, "seed": 0, **options}
    return tuple(permuted_rates(values, groups, order, pairs, **options).values())


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    base = rng.normal(size=30)
    return np.concatenate([base + rng.normal(size=30) + 2, base + rng.normal(size=30)])


class TestShuffled:
    @given(
        st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 4)), min_size=1, max_size=20),
        st.integers(0, 2**32),
    )
    def test_labels_stay_in_their_block(self, rows, seed):
        codes, blocks = (np.array(column) for column in zip(*rows, strict=True))
        found = shuffled(codes, blocks, 5, np.random.default_rng(seed))
        assert found.shape == (5, len(rows))
        for labels in found:
            for block in set(blocks.tolist()):
                inside = blocks == block
                assert sorted(labels[inside]) == sorted(codes[inside])

    def test_every_order_of_a_block_is_as_likely(self):
        codes, blocks = np.array([0, 9, 1, 2, 9]), np.array([5, 0, 5, 5, 0])
        found = shuffled(codes, blocks, 6000, np.random.default_rng(1))
        counts = Counter(map(tuple, found[:, [0, 2, 3]].tolist()))
        assert len(counts) == 6
        # 1,000 each with a standard deviation of 29
        assert all(abs(count - 1000) < 120 for count in counts.values())
        assert (found[:, [1, 4]] == 9).all()

    def test_pairs_swap_half_of_the_time_and_independently(self):
        codes, blocks = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
        found = shuffled(codes, blocks, 4000, np.random.default_rng(2))
        counts = Counter((row[0], row[2]) for row in found.tolist())
        assert len(counts) == 4
        assert all(abs(count - 1000) < 120 for count in counts.values())


class TestRates:
    @pytest.mark.parametrize("alpha", [0.05, 0.3])
    def test_they_are_those_of_scipy_on_the_same_permutations(self, values, alpha):
        rng = np.random.default_rng(derive_seed(7, "within_sets", "m", "f"))
        labels = shuffled(np.repeat([0, 1], 30), np.tile(np.arange(30), 2), 40, rng)
        plain = [
            scipy.stats.mannwhitneyu(values[row == 0], values[row == 1]).pvalue for row in labels
        ]
        differences = (values[:30] - values[30:]) * np.where(labels[:, :30] == 1, -1, 1)
        paired = [scipy.stats.wilcoxon(row).pvalue for row in differences]
        expected = [np.mean([p <= alpha for p in found]) for found in (plain, paired)]
        assert rates(values, alpha=alpha, seed=7) == (40, *expected)
        assert len({rates(values, alpha=alpha, seed=seed) for seed in range(5)}) > 1

    def test_undefined_values_and_other_groups_take_no_part(self, values):
        holes = values.copy()
        holes[[3, 40]] = math.nan
        kept = [i for i in range(60) if i not in (3, 40)]
        expected = rates(
            holes[kept], [GROUPS[i] for i in kept], pairs=[SETS[i] for i in kept], alpha=0.3
        )
        with_others = np.append(holes, [5.0, 6.0]), [*GROUPS, "x", "x"]
        assert rates(*with_others, pairs=[*SETS, "00", None], alpha=0.3) == expected

    def test_rows_without_a_partner_are_shuffled_too(self):
        # Thirty males and thirty females without partners, far apart: were their labels kept, the
        # difference would be found each time.
        values = np.concatenate([np.arange(30.0) + 100, np.arange(30.0), [5.0, 6.0]])
        pairs = [f"alone{i}" if i % 2 else None for i in range(60)] + ["pair", "pair"]
        n, plain, paired = rates(values, [*GROUPS, "m", "f"], pairs=pairs)
        assert n == 40
        assert plain < 0.3
        assert math.isnan(paired)

    def test_sets_of_several_values_keep_their_numbers(self):
        rng = np.random.default_rng(4)
        groups, pairs = ["m", "m", "f"] * 20, [str(i) for i in range(20) for _ in range(3)]
        assert rates(rng.normal(size=60), groups, pairs=pairs, permutations=200)[2] < 0.12

    @pytest.mark.parametrize(
        ("values", "changes"),
        [
            ([0.1] * 60, {}),
            ([math.nan] * 60, {}),
            ([1.0, *[math.nan] * 58, 2.0], {}),
            ([], {"groups": [], "pairs": []}),
            (range(60), {"pairs": None}),
            (range(60), {"pairs": [None] * 60}),
            (range(60), {"permutations": 0}),
        ],
    )
    def test_nothing_to_permute(self, values, changes):
        n, *shares = rates(np.array(values, dtype=float), **changes)
        assert n == 0
        assert np.isnan(shares).all()

    def test_pairs_that_are_equal_have_no_signed_rank_test(self):
        n, plain, paired = rates(np.tile(np.random.default_rng(5).normal(size=30), 2))
        assert (n, plain) == (40, 0.0)
        assert math.isnan(paired)
