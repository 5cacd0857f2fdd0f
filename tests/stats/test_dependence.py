"""Cramér's V of label and group, beside scipy's."""

import math

import numpy as np
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


def test_by_hand():
    # 30 + 10 against 10 + 30: φ = (30·30 − 10·10)/(40·40).
    dependence = cramers_v([0] * 40 + [1] * 40, [*"m" * 30, *"f" * 10, *"m" * 10, *"f" * 30])
    assert dependence.v == pytest.approx(0.5)
    assert cramers_v([0, 1] * 9, [*"mf"] * 9).v == 1.0
    assert cramers_v([0, 0, 1, 1] * 5, [*"mfmf"] * 5).v == 0.0


@pytest.mark.property
def test_independent_variables_are_called_dependent_at_the_level_of_the_test():
    rng = np.random.default_rng(0)
    draws = rng.integers(0, 2, (600, 2, 200))
    p = [cramers_v(labels.tolist(), groups.tolist()).p for labels, groups in draws]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.025)


def test_by_split():
    labels, groups = [0, 1, 0, 1, 0, 0, 1, 1], [*"mfmfmfmf"]
    splits = ["train"] * 4 + ["test"] * 4
    found = dependence_by_split(labels, groups, splits)
    assert list(found) == ["test", "train"]
    assert (found["train"].v, found["test"].v) == (1.0, 0.0)
    assert found["test"].n == 4
