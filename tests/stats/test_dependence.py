"""Cramér's V of label and group, beside scipy's."""

import math

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from exparity.stats.dependence import cramers_v, dependence_by_split


@pytest.mark.reference
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abc")), min_size=1, max_size=60))
def test_is_scipys_association(rows):
    labels, groups = zip(*rows, strict=True)
    dependence = cramers_v(labels, groups)
    table = scipy.stats.contingency.crosstab(labels, groups).count
    assert dependence.n == len(rows)
    if min(table.shape) < 2:
        assert math.isnan(dependence.v)
        assert math.isnan(dependence.p)
        return
    expected = scipy.stats.contingency.association(table, method="cramer", correction=False)
    assert dependence.v == pytest.approx(expected, abs=1e-9)
    p = scipy.stats.chi2_contingency(table, correction=False).pvalue
    assert dependence.p == pytest.approx(p, rel=1e-9)


def test_by_split():
    labels, groups = [0, 1, 0, 1, 0, 0, 1, 1], [*"mfmfmfmf"]
    splits = ["train"] * 4 + ["test"] * 4
    found = dependence_by_split(labels, groups, splits)
    assert list(found) == ["test", "train"]
    assert (found["train"].v, found["test"].v) == (1.0, 0.0)
    assert found["test"].n == 4
