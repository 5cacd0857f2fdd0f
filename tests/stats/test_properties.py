"""How the comparison behaves: signs, order, scale, missing and degenerate values, error rates."""

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
from compared import near
from hypothesis import given
from stats.drawn import scores

from exparity.stats.compare import compare_groups

pytestmark = pytest.mark.property


def compared(columns, **changes):
    return compare_groups(**{**columns, "resamples": 0, **changes})


@given(scores())
def test_counts_add_up_and_numbers_are_in_their_ranges(columns):
    found, undefined = compared(columns), np.isnan(columns["values"])
    assert found.n_a + found.n_b + found.n_undefined == found.n_examples == len(undefined)
    assert found.n_undefined == undefined.sum()
    assert ("undefined_values" in found.flags) == (found.n_undefined > 0)
    assert found.direction in (-1, 0, 1)
    if min(found.n_a, found.n_b) >= 2:
        assert 0 <= found.p <= 1
        assert -1 <= found.rank_biserial <= 1
        assert found.significant == (found.p <= 0.05)
    else:
        assert "too_few" in found.flags
        assert math.isnan(found.p)
    if not math.isnan(found.cohens_d) and not math.isnan(found.mean_difference):
        assert np.sign(found.cohens_d) == found.direction


@given(scores())
def test_undefined_rows_count_and_change_nothing_else(columns):
    defined = np.flatnonzero(~np.isnan(columns["values"])).tolist()
    kept = {name: [columns[name][i] for i in defined] for name in ("values", "groups")}
    if columns["pairs"] is not None:
        kept["pairs"] = [columns["pairs"][i] for i in defined]
    one, two = compared(columns), compared(columns, **kept)
    changed = {"n_undefined": 0, "n_examples": len(defined), "flags": two.flags}
    for name, value in vars(dataclasses.replace(one, **changed)).items():
        assert getattr(two, name) == near(value), name


class TestDegenerate:
    @pytest.mark.parametrize(
        ("males", "females"), [([], []), ([1.0], []), ([], [1.0, 2.0]), ([1.0], [2.0, 3.0])]
    )
    def test_an_absent_or_single_group_is_flagged(self, males, females):
        groups = ["male"] * len(males) + ["female"] * len(females)
        found = compare_groups([*males, *females], groups, pairs=["x"] * len(groups))
        assert found.flags == ["too_few"]
        assert (found.n_a, found.n_b) == (len(males), len(females))
        for name in ("U", "p", "cohens_d", "d_ci_low", "d_ci_high", "rank_biserial", "d_z"):
            assert math.isnan(getattr(found, name)), name
        assert not found.significant
        assert not found.considerable
        means = [np.mean(x) if x else math.nan for x in (males, females)]
        assert [found.mean_a, found.mean_b] == pytest.approx(means, nan_ok=True)

    @pytest.mark.parametrize("pairs", [None, [*"abc", *"abc"]])
    @pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e300])
    def test_equal_values_have_no_effect(self, value, pairs):
        found = compare_groups([value] * 6, ["male"] * 3 + ["female"] * 3, pairs=pairs)
        assert found.flags == ["constant"]
        assert (found.U, found.p, found.rank_biserial, found.direction) == (4.5, 1.0, 0.0, 0)
        assert (found.sd_a, found.mean_difference) == (0.0, 0.0)
        assert math.isnan(found.cohens_d)
        assert math.isnan(found.d_ci_low)
        assert not found.considerable
        if pairs:
            assert found.wilcoxon_p == 1.0
            assert math.isnan(found.d_z)

    def test_two_constants_have_an_infinite_effect(self):
        found = compare_groups([0.1] * 3 + [0.7] * 3, ["male"] * 3 + ["female"] * 3)
        assert found.flags == ["no_variance", "cannot_pass"]
        assert (found.cohens_d, found.considerable, found.direction) == (-math.inf, True, -1)
        assert math.isnan(found.d_ci_low)

    def test_one_matched_set_gives_neither_interval_nor_test(self):
        groups = ["male"] * 2 + ["female"] * 2
        found = compare_groups([1, 2, 3, 5.0], groups, pairs=["a"] * 4)
        assert found.flags == ["cannot_pass", "interval_none"]
        assert found.n_pairs == 1
        for name in ("d_ci_low", "wilcoxon_p", "d_z"):
            assert math.isnan(getattr(found, name)), name

    @pytest.mark.parametrize(
        "pairs",
        [
            [*"12", None] * 2,
            [1, 2, None] * 2,
            [1.0, 2.0, math.nan] * 2,
            pd.array([*"12", pd.NA] * 2, "string"),
            pd.Series([*"12", None] * 2, index=range(4, 10), dtype=object),
        ],
    )
    def test_ids_of_sets_may_be_of_any_kind_and_missing(self, pairs):
        """As columns of a filtered data frame too, which have an index of their own."""
        values, groups = [2.0, 4.0, 9.0, 1.0, 2.0, 0.0], ["male"] * 3 + ["female"] * 3
        frame = pd.DataFrame({"score": values, "group": groups}, index=range(4, 10))
        found = compare_groups(frame["score"], frame["group"], pairs=pairs, resamples=0)
        assert found.n_pairs == 2
        assert found.d_z == pytest.approx(1.5 / math.sqrt(0.5))

    def test_no_resamples_no_interval(self):
        found = compare_groups([1.0, 2, 3, 5], ["male"] * 2 + ["female"] * 2, resamples=0)
        assert math.isnan(found.d_ci_low)
        assert "interval_none" not in found.flags

    @pytest.mark.parametrize("sets", [0, 5, 6])
    @pytest.mark.parametrize(("n_a", "n_b"), [(3, 3), (2, 6), (4, 4), (5, 6), (6, 6)])
    def test_samples_that_cannot_be_significant_are_flagged(self, n_a, n_b, sets):
        """Scores as far apart as can be are significant if any are."""
        sets = min(sets, n_a, n_b)
        groups = ["male"] * n_a + ["female"] * n_b
        pairs = [f"{i}" if i < sets else None for n in (n_a, n_b) for i in range(n)]
        scores = [*np.arange(n_a), *np.arange(n_b) * 1.5 + 100]
        found = compare_groups(scores, groups, pairs=pairs)
        p = found.wilcoxon_p if sets > 1 else found.p
        assert ("cannot_pass" in found.flags) == (p > 0.05)
