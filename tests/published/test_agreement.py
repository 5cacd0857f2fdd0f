"""Rates of agreement against hand counts, naive loops and independent implementations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from published.made_up import cell_match
from sklearn.metrics import cohen_kappa_score

from exparity.published.cells import agreements


def overall(found, question):
    (answer,) = [a for a in found if a.question == question and a.by == "all"]
    return answer


@pytest.mark.parametrize(
    ("question", "changes", "agree"),
    [
        ("direction", {}, 1),
        ("direction", {"direction_ours": -1}, 0),
        ("direction", {"direction_published": -1}, 0),
        ("direction", {"significant_ours": 2}, None),
        ("direction", {"significant_published": 2}, None),
        ("direction", {"direction_published": 0}, None),
        ("direction", {"direction_published": None}, None),
        ("direction", {"direction_ours": 0}, None),
        ("considerable", {}, 1),
        ("considerable", {"considerable_ours": False}, 0),
        ("considerable", {"considerable_published": None}, None),
    ],
)
def test_cells_count_where_both_studies_decide(question, changes, agree):
    answer = overall(agreements([cell_match(**changes)]), question)
    assert (answer.n, answer.agree) == ((0, 0) if agree is None else (1, agree))


def matches_of(decisions):
    return [
        cell_match(significant_ours=5 * ours, significant_published=5 * theirs, method=f"m{i % 3}")
        for i, (ours, theirs) in enumerate(decisions)
    ]


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_rates_and_kappa_are_those_of_scikit_learn(decisions):
    found = agreements(matches_of(decisions))
    answer = overall(found, "significant")
    assert answer.agree == sum(a == b for a, b in decisions)
    ours, theirs = zip(*decisions, strict=True)
    if answer.kappa is None:
        assert len(set(ours)) == len(set(theirs)) == 1
        assert ours[0] == theirs[0]
    else:
        assert answer.kappa == pytest.approx(cohen_kappa_score(ours, theirs), abs=1e-12)
    # parts make up the whole
    parts = [a for a in found if (a.question, a.by) == ("significant", "method")]
    assert sum(a.n for a in parts) == answer.n
    assert sum(a.agree for a in parts) == answer.agree
    # who is asked first does not matter
    turned = overall(agreements(matches_of([(b, a) for a, b in decisions])), "significant")
    assert turned.kappa == pytest.approx(answer.kappa) or answer.kappa is None
