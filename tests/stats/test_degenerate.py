"""Constant and otherwise degenerate values: a defined, flagged row, never a spurious effect."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from exparity import InputError, compare_groups


def groups(n_a, n_b):
    return ["male"] * n_a + ["female"] * n_b


@pytest.mark.parametrize("value", [0.0, 0.1, 1 / 3, 1e300])
def test_equal_values_have_no_effect(value):
    found = compare_groups([value] * 10, groups(3, 7))
    assert found.flags == ["constant"]
    assert math.isnan(found.cohens_d)
    assert (found.considerable, found.significant, found.direction) == (False, False, 0)
    assert (found.p, found.sd_a, found.mean_difference) == (1.0, 0.0, 0.0)


def test_two_constant_groups_have_an_infinite_effect():
    found = compare_groups([0.1] * 3 + [0.7] * 3, groups(3, 3))
    assert found.flags == ["no_variance", "cannot_pass"]
    assert found.cohens_d == -math.inf
    assert (found.considerable, found.direction) == (True, -1)
    assert math.isnan(found.d_ci_low)


def test_one_matched_set_gives_no_interval():
    found = compare_groups([1, 2, 3, 5.0], groups(2, 2), pairs=["a"] * 4)
    assert found.flags == ["cannot_pass", "interval_none"]
    assert found.n_pairs == 1
    assert math.isnan(found.d_ci_low)


def test_sets_may_come_from_a_data_frame():
    """There a missing set is NaN, and a filtered column has an index of its own."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"score": rng.normal(size=40), "group": groups(20, 20)})
    frame["match_id"] = pd.Series([None] * 40, dtype=object)
    frame = frame[frame.index > 3]
    found = compare_groups(frame["score"], frame["group"], pairs=frame["match_id"])
    plain = compare_groups(frame["score"].tolist(), frame["group"].tolist())
    assert found.n_pairs == 0
    assert (found.d_ci_low, found.d_ci_high) == (plain.d_ci_low, plain.d_ci_high)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("alpha", 0), ("alpha", 5), ("confidence", 1), ("confidence", 2), ("threshold", -0.1),
        ("ddof", 2), ("resamples", -3),
    ],
)  # fmt: skip
def test_options_out_of_range_are_named(option, value):
    with pytest.raises(InputError, match=rf"statistics\.{option}: (one of|.* is out of range)"):
        compare_groups([1, 2, 3, 4], groups(2, 2), **{option: value})
