"""The questions of an auditor, which a page of one training ends with."""

from types import SimpleNamespace

import pytest

from exparity.report.sections.answers import _in_plain_numbers, _Largest

ROW = {"quantity": "excess", "group_a": "Islam", "group_b": "Women", "better_group": "Islam"}


@pytest.mark.parametrize(("d", "draws"), [(0.2, 56), (-0.8, 71), (1.4, 84)])
def test_a_gap_is_told_in_draws_of_two_texts(d, draws):
    largest = _Largest(SimpleNamespace(), ("m", "lime", "gini"), {**ROW, "d": d})
    assert f"that of Islam is the better explained in {draws} of 100 draws" in _in_plain_numbers(
        largest
    )


def test_a_gap_of_skill_is_told_by_how_far_explanations_go():
    skill = {"quantity": "skill", "d": 0.62, "skill_a": 0.652, "skill_b": 0.58}
    largest = _Largest(SimpleNamespace(), ("m", "lime", "comp"), {**ROW, **skill})
    assert _in_plain_numbers(largest) == (
        "From words at random to the best words that a search finds, explanations of Islam go 65 % "
        "of the way, and those of Women 58 % (d = +0.62)."
    )
