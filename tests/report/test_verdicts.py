"""Verdicts on page and terminal: a new one is a row of data, and no drawing judges."""

import json
import re

import numpy as np
import pytest
from made_up import config, make_study, options_of

from exparity.artefacts.files import read_artefact
from exparity.report.verdicts import (
    certainty,
    counts_of,
    missed_line,
    moved,
    only_certainty,
    sentence_of,
    skill_line,
)
from exparity.stages.report import report
from exparity.stats import verdicts
from exparity.stats.verdicts import VERDICTS, Verdict
from exparity.tools.cost import cost
from exparity.tools.show import show

SETTINGS = {
    **config(datasets=1, models=1, seeds=2, methods=2, metrics=2),
    "report": {"figures": False},
}
ODD = Verdict(
    "odd",
    "Odd one out",
    "Odd in general, above {threshold:g}.",
    "The mean gap is {d:+.2f}, an odd one for {favoured}.",
    "This one is odd.",
    "bad",
    is_gap=True,
    favours=True,
    settles=True,
    holds=lambda claim: np.ones_like(claim["p_mean"]),
)


def row(verdict, **more):
    """A row of the verdicts artefact."""
    return {
        "quantity": "score", "group_a": "Afro-Caribbean", "group_b": "white", "n_seeds": 3,
        "better_group": "white",
        "seeds_above": 1, "seeds_below": 2, "d": -0.5, "rms_gap": 0.75, "rms_low": 0.25,
        "rms_high": float("inf"), "minimal_detectable_effect_corrected": 1.25, "verdict": verdict,
        "verdict_strict": "undecided", "stands": True, **more,
    }  # fmt: skip


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A small study that was judged with one verdict more than there are."""
    monkeypatch.setattr(verdicts, "VERDICTS", (ODD, *VERDICTS))
    folder = tmp_path / "results"
    make_study(folder, SETTINGS, pairs=8)
    cost(folder)
    return folder


def test_a_verdict_is_added_by_its_data_alone(results, capsys, monkeypatch):
    """What it is called, says and looks like is nowhere else."""

    def judge(*_, **__):
        raise AssertionError("judged while the page is drawn")

    monkeypatch.setattr(verdicts, "judge", judge)
    page = results / "report" / "index.html"
    report(results, page, options_of(SETTINGS))
    text = page.read_text()
    judged = read_artefact(results / "verdicts.parquet", "verdicts")[0].to_pylist()
    assert {r["verdict"] for r in judged} == {"odd"}
    assert re.search(
        "Decided: <strong>4</strong> of 4 cells.*\n<strong>4</strong> odd one out", text
    )
    assert '<th scope="col" class="r">Odd one out</th>' in text
    assert "<dt>Odd one out</dt> <dd>Odd in general, above 0.2.</dd>" in text
    assert len(re.findall(r'<td class="n s\d [ab][^>]*data-cell="\d"[^>]*>.*<small>odd', text)) == 4
    data = json.loads(re.search(r'id="data-disparity"[^>]*>(.*?)</script>', text)[1])
    assert all("an odd one for" in told for told in data["cells"]["excess.sentence"])
    assert "The largest gap is that of" in text  # it is a gap, and so among the findings

    capsys.readouterr()
    show(results)
    shown = capsys.readouterr().out
    assert "decided 4 of 4 cells (strict: 4): 4 odd one out, 0 equivalent" in shown
    assert len(re.findall(r"(?m) odd±?$", shown)) == 4
    assert "Odd one out: Odd in general, above 0.2." in shown


@pytest.mark.parametrize("one", VERDICTS, ids=[one.id for one in VERDICTS])
def test_every_sentence_can_be_said(one):
    several = sentence_of(row(one.id), threshold=0.2)
    assert several
    assert not re.search(r"[{}]|nan|inf|-\d", several)
    single = row(one.id, n_seeds=1)
    said = sentence_of(single, threshold=0.2)
    assert bool(said) == bool(one.sentence_of_one)


def test_who_is_favoured_follows_the_direction_of_the_metric():
    of = {"threshold": 0.2}
    higher = sentence_of(row("unstable"), **of)
    assert higher.endswith("changes: 2 of 3 favour white, 1 Afro-Caribbean.")
    lower = sentence_of(row("unstable", better_group="Afro-Caribbean"), **of)
    assert lower.endswith("changes: 2 of 3 favour Afro-Caribbean, 1 white.")
    assert "(R = 0.25 to ∞)" in higher
    assert sentence_of(row("different"), **of) == (
        "Averaged over trainings, white texts are explained better (d = −0.50)."
    )


@pytest.mark.parametrize(
    ("verdict", "share", "wanted"),
    [
        ("considerable", 0.51, True),
        ("undecided", 0.5, False),
        ("undecided", float("nan"), False),
        ("different", 0.9, False),
    ],
)
def test_cells_that_need_texts_rather_than_trainings_say_so(verdict, share, wanted):
    one = row(verdict, text_share=share)
    said = sentence_of(one, threshold=0.2)
    assert said.endswith("More texts would settle it, and more trainings would not.") == wanted


def test_counts():
    rows = [
        row("different", verdict_strict="different"),
        row("undecided"),
        row("equivalent"),
        row(None),
        row("unstable", quantity="random_excess"),
        row("different", quantity="skill", stands=False),
    ]
    counted, of_random, of_skill, of_scores = counts_of(rows)
    assert (of_random.quantity, of_random.decided, of_random.total) == ("random_stands", 1, 1)
    assert (of_skill.quantity, of_skill.total) == ("skill", 1)
    assert (counted.decided, counted.strict, counted.total, counted.n_seeds) == (2, 1, 3, 3)
    assert counted.by_verdict == of_scores.by_verdict
    assert list(counted.by_verdict) == [one.id for one in VERDICTS]


def test_what_trainings_may_miss():
    said = {n: missed_line(n) for n in (1, 3, 5, 20)}
    assert said[1] == ""
    assert all(
        f"fewer than {share} % of cases" in said[n] for n, share in ((3, 63), (5, 45), (20, 14))
    )


CELL = {
    "score": row("different", d=1.12, stands=False),
    "excess": row("different", quantity="excess", d=0.59, stands=False),
    "skill": row("undecided", quantity="skill", d=0.19, certainty_d=0.9),
}


def test_scores_that_differ_where_skill_does_not_are_no_finding():
    assert moved(CELL) == "Score 1.12, excess 0.59, skill 0.19: undecided"
    tail = "; this shows no difference of the explanations."
    said = only_certainty(CELL, 0.2)
    assert said == f"The classifier is less sure of white{tail}"
    alike = {**CELL, "skill": {**CELL["skill"], "certainty_d": 0.1}}
    why = "Whichever words are taken away, the classifier’s answers change more for one group"
    assert only_certainty(alike, 0.2) == f"{why}{tail}"
    found = {**CELL, "skill": {**CELL["skill"], "verdict": "different"}}
    assert only_certainty(found, 0.2) == ""
    same = {**CELL, "score": row("equivalent"), "excess": row("undecided", quantity="excess")}
    assert only_certainty(same, 0.2) == ""


def test_gaps_of_scores_alone_are_none_of_explanations():
    """Where something else stands of the cell, and of random explanations."""
    of = {"threshold": 0.2}
    scores = row("different", stands=False)
    assert sentence_of(scores, **of) == (
        "Averaged over trainings, white texts have the better scores (d = −0.50)."
    )
    excess = row("unstable", quantity="excess", stands=False)
    assert "2 of 3 have better excess for white" in sentence_of(excess, **of)


def test_gaps_without_a_control_say_what_may_lie_behind_them():
    of = {"threshold": 0.2}
    bare = {"flags": ["not_relative"]}
    tail = " No random explanations are scored by this metric: the gap may be one of the classifier"
    assert f"{tail} or the texts." in sentence_of(row("different", **bare), **of)
    assert tail not in sentence_of(row("equivalent", **bare), **of)
    assert tail not in sentence_of(row("different"), **of)


def test_skill_stands_with_what_it_is_made_of():
    measured = {
        "skill_a": 0.652, "skill_b": 0.58, "room_a": 0.4, "room_b": 0.27, "little_room_a": 0.0,
        "little_room_b": 0.125, "d_ranks": 0.62, "d_log_odds": 0.39, "d_probability": -0.48,
        "p_ranks": 1e-4, "p_log_odds": 0.083, "p_probability": 0.5,
    }  # fmt: skip
    cell = {**CELL, "skill": {**CELL["skill"], **measured}}
    told = (
        "From words at random to the best ones that a search finds, explanations of Afro-Caribbean "
        "go 65 % of the way, those of white 58 %. The way is 0.40 and 0.27 long, and shorter than "
        "0.1 in 0 and 12 % of texts."
    )
    assert skill_line(cell) == (
        f"{told} d by ranks +0.62 (p = 0.0001), by log odds +0.39 (p = 0.083), by probability "
        "−0.48 (p = 0.5): a gap has to show in all of them."
    )
    one_scale = {**measured, "d_log_odds": float("nan"), "d_probability": float("nan")}
    assert skill_line({"skill": {**CELL["skill"], **one_scale}}) == told
    assert skill_line({"score": CELL["score"]}) == ""


def test_how_sure_classifiers_are_is_told_by_model():
    one = row("equivalent", model="bert", certainty_d=-0.914)
    assert certainty([one, one], 0.2) == "bert is surer of white (d = −0.91)"
    other = row("equivalent", model="gpt", certainty_d=0.1)
    both = "bert is surer of white (d = −0.91); gpt is as sure of both (d = +0.10)"
    assert certainty([one, other], 0.2) == both
    assert certainty([row("equivalent", model="m", certainty_d=float("nan"))], 0.2) == ""
