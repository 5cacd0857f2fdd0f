"""Corrected p-values against loops over the definitions, and families of tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from stats.loops import corrected

from exparity.stats.informative import UNINFORMATIVE
from exparity.stats.multiplicity import adjust, benjamini_hochberg, holm

P = st.one_of(
    st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.025, 0.05, 1.0]), st.just(math.nan)
)  # some equal, some undefined
LISTS = st.lists(P, max_size=25)


@pytest.mark.reference
@pytest.mark.parametrize(("function", "is_holm"), [(holm, True), (benjamini_hochberg, False)])
@given(p=LISTS)
def test_corrected_p_values_equal_a_naive_loop(function, is_holm, p):
    np.testing.assert_allclose(function(p), corrected(p, is_holm=is_holm), rtol=1e-9, atol=0)


def row(p, dataset="d", **more):
    ids = {"model": "m", "seed": 0, "method": "x", "metric": "y", "group_a": "a", "group_b": "b"}
    return {"dataset": dataset, **ids, "p": p, **more}


class TestFamilies:
    def test_each_dataset_is_one_by_default(self):
        rows = [row(0.02, "one"), row(0.02, "two"), row(0.04, "one"), row(math.nan, "two")]
        found = adjust(rows)
        for name in ("p_holm", "p_bh"):
            expected = [0.04, 0.02, 0.04, math.nan]
            assert [r[name] for r in found] == pytest.approx(expected, nan_ok=True)
        assert [r["significant_holm"] for r in found] == [True, True, True, False]
        assert all(isinstance(r["significant_bh"], bool) for r in found)
        assert [r["dataset"] for r in found] == ["one", "two", "one", "two"]
        assert [r["p"] for r in found] == pytest.approx([0.02, 0.02, 0.04, math.nan], nan_ok=True)
        assert "p_holm" not in rows[0]

    def test_a_family_may_share_several_ids(self):
        rows = [row(0.02, seed=s, metric=m) for s in (0, 1) for m in ("g", "h")]
        by = {
            family: [r["p_holm"] for r in adjust(rows, family)]
            for family in ((), ("seed",), ("seed", "metric"), ("dataset", "model"))
        }
        assert by[()] == by["dataset", "model"] == pytest.approx([0.08] * 4)
        assert by["seed",] == pytest.approx([0.04] * 4)
        assert by["seed", "metric"] == pytest.approx([0.02] * 4)

    def test_signed_ranks_are_corrected_as_well(self):
        rows = [row(0.5, wilcoxon_p=p) for p in (0.01, 0.04, math.nan)]
        adjusted = adjust(rows)
        for name, expected in (
            ("wilcoxon_p_holm", [0.02, 0.04, math.nan]),
            ("wilcoxon_p_bh", [0.02, 0.04, math.nan]),
            ("p_holm", [1.0] * 3),
        ):
            assert [r[name] for r in adjusted] == pytest.approx(expected, nan_ok=True)

    @pytest.mark.parametrize("flag", UNINFORMATIVE)
    def test_what_says_nothing_is_in_no_family(self, flag):
        rows = [row(0.02), row(0.001, flags=["undefined_values", flag]), row(0.03, flags=["x"])]
        adjusted = adjust(rows)
        expected = [0.04, math.nan, 0.04]
        assert [r["p_holm"] for r in adjusted] == pytest.approx(expected, nan_ok=True)
        assert [r["significant_bh"] for r in adjusted] == [True, False, True]
        assert adjusted[1]["p"] == 0.001

    def test_no_rows_have_no_correction(self):
        assert adjust([]) == []
