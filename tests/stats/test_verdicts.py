"""Verdicts of cells, by hand and by properties."""

import math
from string import Formatter

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from exparity.stats.mean_gap import Estimate
from exparity.stats.multiplicity import benjamini_hochberg, holm
from exparity.stats.power import detectable_effect
from exparity.stats.skill import SCALES
from exparity.stats.verdicts import CLAIMS, SHARE_OF_CLAIM, VERDICTS, judge, standing

NAN = math.nan
SPREAD = {"v_seeds": 0.02, "v_texts": 0.01, "v_cells": 0.002, "dof_texts": 40.0, "pooled_sd": 0.5}


def cell(p_mean=0.9, p_large=0.9, p_small=0.9, p_cross=0.9, *, others=0.0, **more):
    claims = dict(zip(CLAIMS, (p_mean, p_large, p_small, p_cross), strict=True))
    known = {"dataset": "d", "n_seeds": 3, "equivalence_p": 0.9, "p_large_others": others}
    return {**known, **claims, **SPREAD, **more}


def column(rows, name):
    return [row[name] for row in rows]


@pytest.mark.parametrize(
    ("claims", "verdict"),
    [
        ((0.9, 0.9, 0.025, 0.9, False), "equivalent"),
        ((0.0001, 0.9, 0.0001, 0.9, False), "equivalent"),  # it differs, by less than counts
        ((0.025, 0.0001, 0.9, 0.0001, True), "different"),
        ((0.026, 0.0001, 0.9, 0.025, True), "unstable"),
        ((0.026, 0.025, 0.9, 0.026, True), "considerable"),
        ((0.026, 0.0001, 0.9, 0.0001, False), "undecided"),  # one training carries it
        ((0.026, 0.026, 0.026, 0.026, True), "undecided"),
        ((NAN, NAN, 0.9, NAN, False), "undecided"),
        ((NAN, NAN, NAN, NAN, False), None),
    ],
)
def test_the_first_that_holds(claims, verdict):
    *p_values, is_guarded = claims
    (row,) = judge([cell(*p_values, others=0.0 if is_guarded else 0.9)])
    assert row["verdict"] == row["verdict_strict"] == verdict


def by_removal(metric, d, p_mean=1e-4, **more):
    """A standing cell of a method; sufficiency is better where it is lower."""
    ids = {"model": "m", "method": "lime", "group_a": "a", "group_b": "b", "metric": metric}
    facts = {"metric_kind": "faithfulness", "stands": True, "headline": False, "flags": []}
    facts |= {"metric_direction": "lower" if metric == "sufficiency" else "higher"}
    return cell(p_mean, **{**ids, **facts, "quantity": "excess", "d": d, **more})


@pytest.mark.parametrize(
    ("second", "verdicts", "is_flagged"),
    [
        # Of group a, more falls without the words, and more with them alone.
        (by_removal("sufficiency", 0.6), ["undecided", "undecided"], True),
        (by_removal("sufficiency", -0.6), ["different", "different"], False),
        (by_removal("soft_comprehensiveness", -0.6), ["undecided", "undecided"], True),
        (by_removal("sufficiency", 0.6, 0.5), ["different", "undecided"], False),
        (by_removal("sufficiency", 0.6, method="shap"), ["different", "different"], False),
        (by_removal("sufficiency", 0.6, stands=False), ["different", "different"], False),
        (by_removal("gini", -0.6, metric_kind="complexity"), ["different", "different"], False),
        (
            by_removal("sufficiency", -0.6, quantity="skill", metric_direction="higher"),
            ["different", "different"],  # of another quantity
            False,
        ),
    ],
)
def test_removals_that_disagree_name_no_group(second, verdicts, is_flagged):
    first = by_removal("comprehensiveness", 0.6)
    for family in (("dataset",), ("dataset", "metric")):
        rows = judge([first, second], family)
        assert column(rows, "verdict") == column(rows, "verdict_strict") == verdicts
        flags = [["removals_disagree"] if is_flagged else []] * 2
        assert column(rows, "flags") == flags


def test_a_large_gap_by_removals_that_disagree_is_considerable():
    gaps = [
        by_removal("comprehensiveness", 0.6, p_large=1e-4),
        by_removal("sufficiency", 0.6, p_large=0.9),
    ]
    assert column(judge(gaps), "verdict") == ["considerable", "undecided"]


def test_the_verdicts_are_five():
    ids = [one.id for one in VERDICTS]
    assert ids == ["equivalent", "different", "unstable", "considerable", "undecided"]
    known = {"threshold": 0.2, "d": -0.7, "rms_gap": 0.5, "rms_low": 0.3, "rms_high": 2.07}
    known |= {"favoured": "male", "other": "female", "detectable": 1.25}
    known |= {"better": "are explained better", "favour": "favour", "levels": ""}
    known |= {"n_seeds": 5, "n_favoured": 3, "n_other": 2, "run": "training"}
    for one in VERDICTS:
        for template in (one.sentence, one.sentence_of_one):
            assert {name for _, name, *_ in Formatter().parse(template) if name} <= known.keys()


def test_of_a_family_by_hand():
    cells = [cell(0.01), cell(0.03), cell(0.04, p_small=0.012), cell(0.6, p_small=0.04)]
    rows = judge(cells, alpha=0.1)  # a claim holds at one half
    # Holm over four: 4 × 0.01, 3 × 0.03, then no less; BH: 4/3 × 0.04 bounds 4/2 × 0.03 and is no
    # more than α/2, and 0.01 is 0.04
    assert column(rows, "p_mean_holm") == pytest.approx([0.04, 0.09, 0.09, 0.6])
    assert column(rows, "p_mean_bh") == pytest.approx([0.04, 4 / 75, 4 / 75, 0.6])
    assert column(rows, "p_small_holm") == pytest.approx([1, 1, 0.048, 0.12])
    assert column(rows, "p_small_bh") == pytest.approx([0.9, 0.9, 0.048, 0.08])
    assert column(rows, "verdict") == ["different", "undecided", "equivalent", "undecided"]
    parts = (np.asarray(x) for x in (0.02, 0.01, 0.002, 3.0, 40.0))
    effect = detectable_effect(Estimate(0.0, *parts).errors, alpha=0.05 / 4) / 0.5
    assert column(rows, "minimal_detectable_effect_corrected") == pytest.approx([float(effect)] * 4)


def test_of_one_training_the_mean_gap_alone_is_judged():
    one = {"n_seeds": 1, "p_large": NAN, "p_small": NAN, "p_cross": NAN, "others": NAN}
    rows = judge([cell(0.001, **one), cell(**one, equivalence_p=0.008), cell(**one)])
    assert column(rows, "verdict") == ["different", "equivalent", "undecided"]
    assert column(rows, "p_small_bh") == pytest.approx([0.9, 0.024, 0.9])
    for row in rows:
        assert math.isfinite(row["minimal_detectable_effect_corrected"])


def test_families_are_corrected_apart_and_seeds_are_none():
    rows = [cell(0.02, dataset=dataset, model=m) for dataset in "ab" for m in "xyz"]
    for family, tests in ((["dataset"], 3), ([], 6), (["dataset", "model", "seed"], 1)):
        assert column(judge(rows, family), "p_mean_holm") == pytest.approx([0.02 * tests] * 6)


def test_columns_of_a_row_stay():
    row = cell(0.5, method="lime")
    (judged,) = judge([row])
    assert judged.items() >= row.items()
    assert "verdict" not in row


def test_what_is_not_tested_has_no_verdict():
    assert judge([]) == []
    (row,) = judge([cell(NAN, 0.9, 0.9, NAN)])  # of one way to count falls, no mean gap is tested
    assert math.isnan(row["minimal_detectable_effect_corrected"])
    assert math.isnan(row["text_share"])
    (row,) = judge([cell(flags=["constant"])])
    assert row["verdict"] is row["verdict_strict"] is None


P = st.one_of(st.floats(0, 1), st.just(NAN), st.floats(0, 0.01))


@pytest.mark.property
@given(st.lists(st.tuples(P, P, P, P, P), max_size=12), st.sampled_from([0.01, 0.05, 0.2]))
# 11 / 6 of one half, rounded once.
@example([(1.0,) * 5] * 5 + [(0.5,) * 5] + [(0.0,) * 5] * 5, 0.2)
def test_verdicts_equal_a_naive_loop_over_rows(cells, alpha):
    rows = judge([cell(*ps, others=others) for *ps, others in cells], alpha=alpha)
    by_claim = dict(zip(CLAIMS, np.array(cells).reshape(-1, 5).T[:4], strict=True))
    by_claim["p_cross"] = np.maximum(by_claim["p_large"], by_claim["p_cross"])
    for by, verdict, correct in (
        ("bh", "verdict", benjamini_hochberg),
        ("holm", "verdict_strict", holm),
    ):
        for claim, p in by_claim.items():
            np.testing.assert_array_equal(column(rows, f"{claim}_{by}"), correct(p))
        for row in rows:
            small, mean, cross, large = (
                row[f"{claim}_{by}"] <= SHARE_OF_CLAIM * alpha
                for claim in ("p_small", "p_mean", "p_cross", "p_large")
            )
            guarded = row["p_large_others"] <= alpha
            expected = "equivalent" if small else "different" if mean else "undecided"
            if all(math.isnan(row[f"{claim}_{by}"]) for claim in by_claim):
                expected = None
            if expected == "undecided" and guarded and (cross or large):
                expected = "unstable" if cross else "considerable"
            assert row[verdict] == expected
            # both signs of a considerable gap are never claimed without the gap
            assert not cross or large or any(p != p for ps in cells for p in ps)
    for row in rows:  # what holds strictly holds
        assert row["verdict_strict"] in ("undecided", None) or row["verdict"] != "undecided"


@pytest.mark.parametrize(
    ("n_seeds", "less"), [(3, "detectable_with_twice_the_trainings"),
                          (30, "detectable_with_twice_the_texts")]
)  # fmt: skip
def test_trainings_lack_where_they_are_few_though_texts_have_most_of_the_variance(n_seeds, less):
    variances = {"v_seeds": 0.002, "v_texts": 0.009, "v_cells": 0.001, "dof_texts": 60.0}
    rows = judge([cell(n_seeds=n_seeds, **variances)] * 40)
    names = {f"detectable_with_twice_the_{what}" for what in ("texts", "trainings")}
    (more,) = names - {less}
    assert rows[0]["text_share"] > 0.5
    assert rows[0][less] < rows[0][more] <= rows[0]["minimal_detectable_effect_corrected"]


def test_twice_as_much_equals_a_study_of_that_size():
    """With the variances of a study of twice the trainings, or texts, as simulated ones have."""
    of_seeds, of_texts, of_cells = 0.02, 0.03, 0.05
    effects = {}
    for seeds, texts in ((4, 20), (8, 20), (4, 40)):
        single = of_cells / seeds / texts
        variances = {"v_seeds": of_seeds / seeds + single, "v_texts": of_texts / texts + single}
        more = {"v_cells": single, "n_seeds": seeds, "dof_texts": texts - 1.0}
        (effects[seeds, texts],) = judge([cell(**variances, **more)])
    planned = effects[4, 20]
    for size, name in (((8, 20), "trainings"), ((4, 40), "texts")):
        found = effects[size]["minimal_detectable_effect_corrected"]
        assert planned[f"detectable_with_twice_the_{name}"] == pytest.approx(found)


def test_a_scale_that_differs_by_itself_rules_equivalence_out():
    scales = {f"p_small_{scale}": 0.9 for scale in SCALES} | {f"d_{scale}": 0.5 for scale in SCALES}
    scales |= {f"p_{scale}": 0.9 for scale in SCALES}

    def verdict(**changes):
        (row,) = judge([cell(p_small=0.001, **{**scales, **changes})])
        return row["verdict"], row["verdict_strict"]

    assert verdict() == ("equivalent", "equivalent")
    assert verdict(p_probability=0.001) == ("undecided", "undecided")
    assert verdict(p_probability=0.026) == ("equivalent", "equivalent")
    little = {"p_probability": 0.001, "p_small_probability": 0.02}  # *equivalent* on that scale
    assert verdict(**little) == ("equivalent", "equivalent")


def test_the_share_of_texts():
    (row,) = judge([cell()])
    assert row["text_share"] == pytest.approx(0.008 / 0.028)  # B = V_I − V_E
    (row,) = judge([cell(v_texts=0.001)])
    assert row["text_share"] == 0
    (row,) = judge([cell(v_seeds=NAN, v_cells=NAN, n_seeds=1)])
    assert math.isnan(row["text_share"])


IDS = {"dataset": "d", "model": "m", "group_a": "a", "group_b": "b"}


def standing_cell(method, metric, kind, quantity="score", **more):
    """A row of a cell, before it is judged."""
    names = {"method": method, "metric": metric, "metric_kind": kind, "quantity": quantity}
    return {**cell(), **IDS, **names, "flags": [], **more}


def test_forward_simulation_comes_first_where_a_method_has_it():
    rows = standing([
        standing_cell("lime", "forward_simulation", "simulatability"),
        standing_cell("lime", "comprehensiveness", "faithfulness", "skill"),
        standing_cell("lime", "comprehensiveness", "faithfulness"),
        standing_cell("lime", "gini", "complexity"),
        standing_cell("imported", "comprehensiveness", "faithfulness", "skill"),
        standing_cell("imported", "gini", "complexity"),
    ])  # fmt: skip
    assert [row["stands"] for row in rows] == [True, True, False, True, True, True]
    assert [row["headline"] for row in rows] == [True, False, False, False, True, False]


def test_a_family_holds_what_readers_see_together():
    """Scores beside a skill, of which no verdict stands, do not lower the bar for others."""
    metrics = [f"m{i}" for i in range(8)]
    surer = [standing_cell("lime", m, "faithfulness", p_mean=1e-6) for m in metrics]
    skills = [standing_cell("lime", m, "faithfulness", "skill", p_mean=0.5) for m in metrics]
    alone = standing_cell("lime", "sensitivity", "robustness", p_mean=0.03)
    judged = judge(standing([*surer, *skills, alone]))
    assert {row["verdict"] for row in judged[:8]} == {"different"}
    assert judged[-1]["p_mean_bh"] == pytest.approx(0.03 * 9)
    assert judged[-1]["verdict"] == "undecided"
