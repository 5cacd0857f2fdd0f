"""Input that no statistic takes: one line names what is wrong."""

import math
from functools import partial

import pandas as pd
import pytest

from exparity import InputError
from exparity.stats.compare import compare_all, compare_groups

of_pair = partial(compare_groups, groups=["male", "female"])
of_all = partial(compare_all, [1.0], ["a"])


@pytest.mark.parametrize(
    ("call", "changes", "message"),
    [
        (of_pair, {"values": [1.0, math.inf]}, "value 1 is infinite"),
        (of_pair, {"values": [1.0]}, "1 values but 2 groups"),
        (of_pair, {"values": [1.0, 2.0], "pairs": ["a"]}, "2 values but 1 pairs"),
        (of_pair, {"values": [[1.0, 2.0]]}, "values must be a list of numbers"),
        (of_pair, {"values": [1.0] * 2, "groups": ["male", 1]}, "1 is not one of 'male', 'female'"),
        (of_pair, {"values": [1.0] * 2, "groups": ["male", pd.NA]}, "group of value 1 is missing"),
        (of_pair, {"values": [1.0] * 2, "order": ("a", "a")}, "order must name two or more"),
        (of_pair, {"values": [1.0] * 2, "groups": ["a", "b"], "order": (*"abc",)}, "two groups"),
        (of_all, {"order": ("a",)}, "order must name two or more different groups"),
        (of_all, {"order": ("a", "b"), "alhpa": 1}, "unknown option 'alhpa'; did you mean 'alpha'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(call, changes, message):
    with pytest.raises(InputError, match=message):
        call(**changes)
