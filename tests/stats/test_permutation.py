"""The permutation control: what is permuted, what is tested, and what cannot be."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.stats import PermutedTest, control_rates, permutation_control
from exparity.stats.permutation import shuffled

GROUPS = ["m"] * 30 + ["f"] * 30
SETS = [f"{i:02d}" for i in range(30)] * 2


def control(values, groups=GROUPS, order=("m", "f"), pairs=SETS, **options):
    found = permutation_control(values, groups, order, pairs, **{"repeats": 40, **options})
    return {(r.scheme, r.test, r.group_a, r.group_b): r for r in found}


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
    @settings(max_examples=100)
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


class TestRows:
    def test_both_schemes_and_their_tests(self, values):
        assert list(control(values)) == [
            ("within_sets", "mann_whitney", "m", "f"),
            ("within_sets", "wilcoxon", "m", "f"),
            ("across_rows", "mann_whitney", "m", "f"),
        ]

    @pytest.mark.parametrize("pairs", [None, [None] * 60])
    def test_without_sets_rows_alone_are_permuted(self, values, pairs):
        assert list(control(values, pairs=pairs)) == [("across_rows", "mann_whitney", "m", "f")]

    def test_three_groups(self):
        rng = np.random.default_rng(3)
        sets = [str(i) for i in range(15) for _ in range(3)]
        found = control(rng.normal(size=45), [*"abc"] * 15, (*"abc",), sets)
        pairs = [("a", "b"), ("a", "c"), ("b", "c")]
        expected = [("within_sets", t, *p) for p in pairs for t in ("mann_whitney", "wilcoxon")]
        expected += [("across_rows", "mann_whitney", *p) for p in pairs]
        expected += [("within_sets", t, "", "") for t in ("kruskal_wallis", "friedman")]
        expected += [("across_rows", "kruskal_wallis", "", "")]
        assert sorted(found) == sorted(expected)
        assert {r.n_permutations for r in found.values()} == {40}

    def test_counts_are_those_of_scipy_on_the_same_permutations(self, values):
        for alpha in (0.05, 0.3):
            found = control(values, alpha=alpha, seed=7)
            codes = np.repeat([0, 1], 30)
            sets = np.tile(np.arange(30), 2)
            draws = {
                scheme: shuffled(
                    codes, blocks, 40, np.random.default_rng(derive_seed(7, scheme, "m", "f"))
                )
                for scheme, blocks in (("within_sets", sets), ("across_rows", sets * 0))
            }
            for scheme, labels in draws.items():
                p = [
                    scipy.stats.mannwhitneyu(values[row == 0], values[row == 1]).pvalue
                    for row in labels
                ]
                row = found[scheme, "mann_whitney", "m", "f"]
                assert row.n_significant == sum(x <= alpha for x in p)
                assert row.rate == row.n_significant / 40
            swapped = draws["within_sets"][:, :30] == 1
            differences = (values[:30] - values[30:]) * np.where(swapped, -1, 1)
            p = [scipy.stats.wilcoxon(row).pvalue for row in differences]
            row = found["within_sets", "wilcoxon", "m", "f"]
            assert row.n_significant == sum(x <= alpha for x in p)

    def test_the_seed_decides(self, values):
        one, again = (control(values, seed=1, alpha=0.3) for _ in range(2))
        assert one == again
        others = {r.n_significant for s in range(5) for r in control(values, seed=s).values()}
        assert len(others) > 1

    def test_a_scheme_alone_gives_what_it_gives_beside_the_other(self, values):
        both = control(values, alpha=0.3)
        for scheme in ("within_sets", "across_rows"):
            alone = control(values, alpha=0.3, schemes=(scheme,))
            assert alone == {key: row for key, row in both.items() if key[0] == scheme}

    def test_undefined_values_take_no_part(self, values):
        holes = values.copy()
        holes[[3, 40]] = math.nan
        found = control(holes, alpha=0.3)
        kept = [i for i in range(60) if i not in (3, 40)]
        expected = control(
            holes[kept], [GROUPS[i] for i in kept], pairs=[SETS[i] for i in kept], alpha=0.3
        )
        for key, row in found.items():
            assert row.flags == ["undefined_values"]
            assert row.n_significant == expected[key].n_significant


class TestUnmatchedRows:
    def test_rows_without_a_partner_are_shuffled_too(self):
        # Thirty males and thirty females without partners, far apart: were their labels kept, the
        # difference would be found each time.
        values = np.concatenate([np.arange(30.0) + 100, np.arange(30.0), [5.0, 6.0]])
        groups = [*GROUPS, "m", "f"]
        pairs = [f"alone{i}" if i % 2 else None for i in range(60)] + ["pair", "pair"]
        found = control(values, groups, pairs=pairs)
        assert found["within_sets", "mann_whitney", "m", "f"].rate < 0.3
        assert found["within_sets", "wilcoxon", "m", "f"].flags == ["too_few"]

    def test_sets_of_several_values_keep_their_numbers(self):
        rng = np.random.default_rng(4)
        groups, pairs = ["m", "m", "f"] * 20, [str(i) for i in range(20) for _ in range(3)]
        found = control(rng.normal(size=60), groups, pairs=pairs, repeats=200)
        assert found["within_sets", "wilcoxon", "m", "f"].rate < 0.12
        assert all(row.n_permutations == 200 for row in found.values())


class TestDegenerate:
    @pytest.mark.parametrize(
        ("values", "flags"),
        [
            ([0.1] * 60, ["constant"]),
            ([math.nan] * 60, ["undefined_values", "too_few"]),
            ([1.0, *[math.nan] * 58, 2.0], ["undefined_values", "too_few"]),
        ],
    )
    def test_nothing_is_tested_and_the_row_says_so(self, values, flags):
        found = control(values)
        assert len(found) == 3
        for row in found.values():
            assert (row.n_permutations, row.n_significant, row.flags) == (0, 0, flags)
            assert math.isnan(row.rate)

    def test_no_values_at_all(self):
        found = control([], [], pairs=[])
        assert [row.flags for row in found.values()] == [["too_few"]]

    def test_pairs_that_are_equal_have_no_signed_rank_test(self):
        values = np.tile(np.random.default_rng(5).normal(size=30), 2)
        found = control(values)
        assert found["within_sets", "wilcoxon", "m", "f"].flags == ["no_differences"]
        assert found["within_sets", "wilcoxon", "m", "f"].n_permutations == 0
        assert found["within_sets", "mann_whitney", "m", "f"].rate == 0.0
        assert found["across_rows", "mann_whitney", "m", "f"].n_permutations == 40

    def test_an_absent_group_leaves_the_others(self):
        rng = np.random.default_rng(6)
        groups = [*"abc"] * 12
        pairs = [str(i) for i in range(12) for _ in range(3)]
        found = control(rng.normal(size=36), groups, (*"abc", "d"), pairs)
        assert found["across_rows", "kruskal_wallis", "", ""].n_permutations == 40
        assert found["within_sets", "friedman", "", ""].n_permutations == 40
        for first in "abc":
            assert found["across_rows", "mann_whitney", first, "d"].flags == ["too_few"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0}, "statistics.alpha: 0 is out of range .above 0 and below 1"),
        ({"repeats": 0}, "controls.permutation.repeats must be 1 or more"),
        ({"schemes": ()}, "controls.permutation.schemes must name"),
        ({"schemes": ("rows",)}, r"controls.permutation.schemes must name .* not \['rows'\]"),
        ({"order": ("m",)}, "two or more different groups"),
        ({"groups": ["m"]}, "60 values but 1 groups"),
        ({"pairs": ["m"]}, "60 values but 1 pairs"),
    ],
)
def test_bad_options_are_named(values, options, message):
    with pytest.raises(InputError, match=message):
        control(values, **options)


def row(n, significant, scheme="across_rows", test="mann_whitney", **more):
    rate = significant / n if n else math.nan
    found = PermutedTest(scheme, test, "m", "f", n, significant, rate)
    return {**vars(found), "method": "x", **more}


class TestRates:
    def test_add_up_by_scheme_and_test(self):
        rows = [
            row(20, 1),
            row(20, 3),
            row(0, 0),
            row(20, 0, scheme="within_sets"),
            row(10, 10, scheme="within_sets", test="wilcoxon"),
        ]
        found = control_rates(rows)
        assert [(r.scheme, r.test) for r in found] == [
            ("across_rows", "mann_whitney"),
            ("within_sets", "mann_whitney"),
            ("within_sets", "wilcoxon"),
        ]
        first = found[0]
        assert (first.n_results, first.n_degenerate) == (2, 1)
        assert (first.n_permutations, first.n_significant, first.rate) == (40, 4, 0.1)

    def test_interval_is_that_of_clopper_and_pearson(self):
        # The ends are where the tails of the binomial distribution hold 2.5 % each.
        (found,) = control_rates([row(60, 2), row(60, 4)])
        assert scipy.stats.binom.sf(5, 120, found.low) == pytest.approx(0.025, rel=1e-6)
        assert scipy.stats.binom.cdf(6, 120, found.high) == pytest.approx(0.025, rel=1e-6)
        (narrow,) = control_rates([row(60, 2), row(60, 4)], confidence=0.5)
        assert found.low < narrow.low < 0.05 < narrow.high < found.high

    def test_no_and_all_significant(self):
        assert control_rates([row(50, 0)])[0].low == 0.0
        assert control_rates([row(50, 50)])[0].high == 1.0

    def test_nothing_tested(self):
        (found,) = control_rates([row(0, 0)])
        assert (found.n_results, found.n_degenerate) == (0, 1)
        assert math.isnan(found.rate)
        assert math.isnan(found.low)
        assert control_rates([]) == []
