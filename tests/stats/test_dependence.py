"""Cramér's V of label and group, by loops."""

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.stats.dependence import cramers_v, cramers_v_by_split


@pytest.mark.reference
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=60))
def test_cramers_v_equals_its_formula(rows):
    labels, groups = zip(*rows, strict=True)
    kinds, n, chi = (set(labels), set(groups)), len(rows), 0.0
    for label, group in product(*kinds):
        expected = labels.count(label) * groups.count(group) / n
        chi += (rows.count((label, group)) - expected) ** 2 / expected
    smaller = min(map(len, kinds)) - 1
    v = math.sqrt(chi / (n * smaller)) if smaller else math.nan
    assert cramers_v(labels, groups) == pytest.approx(v, abs=1e-9, nan_ok=True)


def test_cramers_v_is_taken_in_each_split():
    labels, groups = [0, 1, 0, 1, 0, 0, 1, 1], [*"mfmfmfmf"]
    found = cramers_v_by_split(labels, groups, ["train"] * 4 + ["test"] * 4)
    assert list(found) == ["test", "train"]
    assert (found["train"], found["test"]) == (1.0, 0.0)
