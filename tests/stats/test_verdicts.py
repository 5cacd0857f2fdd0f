"""Verdicts of cells, by hand and by properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from exparity import InputError
from exparity.stats import benjamini_hochberg, holm, judge, verdict_of

NAN = math.nan


def cell(p, equivalence_p=0.9, **more):
    spread = {"standard_error": 0.1, "dof": 4.0, "pooled_sd": 0.5}
    return {"dataset": "d", "p": p, "equivalence_p": equivalence_p, **spread, **more}


def column(rows, name):
    return [row[name] for row in rows]


@pytest.mark.parametrize(
    ("p", "equivalence_p", "verdict"),
    [
        (0.05, 0.9, "different"),
        (0.051, 0.9, "undecided"),
        (0.9, 0.05, "equivalent"),
        (0.0001, 0.0001, "equivalent"),  # it differs, by less than counts
        (NAN, NAN, "undecided"),
        (0.01, NAN, "different"),
        (NAN, 0.01, "equivalent"),
    ],
)
def test_verdict_of_one(p, equivalence_p, verdict):
    assert verdict_of(p, equivalence_p, 0.05) == verdict


def test_of_a_family_by_hand():
    rows = judge([cell(0.01), cell(0.03), cell(0.04, 0.012), cell(0.6, 0.04), cell(NAN, NAN)])
    # Holm over four: 4 × 0.01, 3 × 0.03, then no less; BH: 4/3 × 0.04 bounds 4/2 × 0.03 and is no
    # more than α, and 0.01 is 0.04
    assert column(rows, "p_holm") == pytest.approx([0.04, 0.09, 0.09, 0.6, NAN], nan_ok=True)
    assert column(rows, "p_bh") == pytest.approx([0.04, 4 / 75, 4 / 75, 0.6, NAN], nan_ok=True)
    assert column(rows, "equivalence_p_holm") == pytest.approx(
        [1, 1, 0.048, 0.12, NAN], nan_ok=True
    )
    assert column(rows, "verdict") == [
        "different",
        "undecided",
        "equivalent",
        "undecided",
        "undecided",
    ]
    assert column(rows, "verdict_uncorrected") == [
        "different",
        "different",
        "equivalent",
        "equivalent",
        "undecided",
    ]
    critical = scipy.stats.t.ppf(1 - 0.05 / 4 / 2, 4)
    for effect in column(rows, "minimal_detectable_effect_corrected"):
        assert scipy.stats.nct.sf(critical, 4, effect / 0.2) == pytest.approx(0.8, abs=1e-5)


def test_families_are_corrected_apart_and_seeds_are_none():
    rows = [cell(0.02, dataset=dataset, model=m) for dataset in "ab" for m in "xyz"]
    for family, tests in ((["dataset"], 3), ([], 6), (["dataset", "model", "seed"], 1)):
        assert column(judge(rows, family), "p_holm") == pytest.approx([0.02 * tests] * 6)
    with pytest.raises(InputError, match=r"statistics.family: 'text' is no id"):
        judge(rows, ["text"])


def test_prefix_and_what_is_there_stay():
    row = cell(0.5) | {f"excess_{name}": value for name, value in cell(0.001).items()}
    (judged,) = judge([row], prefix="excess_")
    assert judged.items() >= row.items()
    new = judged.keys() - row.keys()
    assert all(name.startswith("excess_") for name in new)
    assert judged["excess_verdict"] == "different"
    assert "verdict" not in judge([row], prefix="excess_")[0]


def test_nothing():
    assert judge([]) == []
    (row,) = judge([cell(NAN, NAN, standard_error=NAN, dof=NAN, pooled_sd=0.0)])
    assert row["verdict"] == "undecided"
    assert math.isnan(row["minimal_detectable_effect_corrected"])


P = st.one_of(st.floats(0, 1), st.just(NAN), st.floats(0, 0.01))


@pytest.mark.property
@given(st.lists(st.tuples(P, P), max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
def test_by_rows(pairs, alpha):
    rows = judge([cell(p, q) for p, q in pairs], alpha=alpha)
    for by, correct in (("", holm), ("_bh", benjamini_hochberg), ("_uncorrected", np.array)):
        p, equivalence_p = (correct([pair[i] for pair in pairs]) for i in (0, 1))
        for row, one, other in zip(rows, p, equivalence_p, strict=True):
            verdict = row[f"verdict{by}"]
            assert (verdict == "equivalent") == (other <= alpha)
            assert (verdict == "different") == (one <= alpha and not other <= alpha)
            # a correction never makes a test decide that did not before
            if verdict != "undecided":
                assert row["verdict_uncorrected"] != "undecided"
