"""Texts in groups: checked once, then chosen from."""

import numpy as np
import pytest

from exparity.stats.samples import GroupedTexts

pytestmark = pytest.mark.contract
TEXTS = GroupedTexts.of([*"abcab"], ("a", "b", "c"), ["1", "1", None, "2", "2"])


def test_some_groups_are_in_the_order_that_is_wanted():
    texts = TEXTS.among(("c", "a"))
    assert texts.order == ("c", "a")
    assert texts.codes.tolist() == [1, 0, 1]
    assert texts.sets == ["1", None, "2"]


@pytest.mark.parametrize("group", "abc")
def test_texts_of_a_group_stay_those_of_the_group(group):
    chosen = np.array([*"abcab"])[TEXTS.in_group(group)]
    assert {*chosen} == {group}
