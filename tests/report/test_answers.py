"""The questions of an auditor, which a page of one training ends with."""

import io
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_up import config, make_study, options_of
from report.pages import page_of
from report.reading import Page
from rich.console import Console

from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.provenance import ArtefactOrigin
from exparity.report.render import render_page
from exparity.report.sections.answers import (
    _in_plain_numbers,
    _partly_explained,
    _words,
    build,
)
from exparity.report.sections.findings import in_plain_words
from exparity.report.tables import disparity_tables
from exparity.report.terminal import verdicts_of
from exparity.report.verdicts import is_random

ROW = {"quantity": "excess", "group_a": "Islam", "group_b": "Women", "better_group": "Islam"}
GAPS = ("d_ranks", "d_log_odds", "d_probability")
QUESTIONS = (
    "Do the explanations differ, or is the classifier only surer of one group?",
    "Which words cause it?",
    "How large is that?",
    "What should I do next?",
    "Did every row of my table count?",
)


def test_the_page_of_one_training_ends_with_every_question_answered(tmp_path):
    settings = config(datasets=1, models=1, seeds=1, methods=2, metrics=2)
    make_study(tmp_path, settings, pairs=12)
    page = page_of(tmp_path, {**options_of(settings), "report": {"figures": False}})
    text = " ".join(page.read_text(encoding="utf-8").split())
    end = text[text.index('<section id="answers"') :]
    assert "<section" not in end[1:]
    for question in QUESTIONS:
        answer = end.split(f"<dt>{question}</dt><dd>")[1].split("</dd>")[0]
        assert answer.rstrip().endswith(".")
    assert "model_0 is about as sure of both (d = " in end
    assert "Yes: every row" in end
    study = gather(tmp_path, options_of(settings))
    words = _words(study, {**study.judged[0], "method": "gradient"})
    assert "relies most in texts of male on “" in words
    assert "in texts of female on “she”, " in words


def test_rows_that_do_not_count_are_counted():
    accuracy = SimpleNamespace(whole={"dataset": "posts", "n": 300})
    origins = [ArtefactOrigin("explanations", {"dataset": "posts"}, {"rows": n}) for n in (9, 300)]
    context = SimpleNamespace(origins=origins, study=SimpleNamespace(accuracies=[accuracy]))
    (partly,) = _partly_explained(context)
    assert partly.words == "of 300 predicted texts 9–300 are explained"


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ({"d": 0.2}, "that of Islam has the better score in 56 of 100 draws"),
        ({"d": -0.8}, "that of Islam has the better score in 71 of 100 draws"),
        (
            {
                "quantity": "skill",
                "d": 0.62,
                "skill_a": 0.652,
                "skill_b": 0.58,
                **dict.fromkeys(GAPS, 0.6),
            },
            "explanations of Islam go 65 % of the way, and those of Women go 58 % (d = +0.62).",
        ),
    ],
)
def test_a_gap_is_told_in_draws_of_two_texts_and_skill_by_how_far_explanations_go(gap, said):
    assert said in _in_plain_numbers({**ROW, **gap})


UNTESTED = {
    "label_mass_low": "the model hardly answers the prompt with a class: write a prompt that ends",
    "collapsed": "the classifier predicts one class for every text: train it with a lower",
    "constant": "all scores are equal: take another metric",
    "too_few": "a group has fewer than two texts with a score: take more texts",
    "missing_cells": "some texts have no score in some of the trainings: run the experiment",
    "of_a_plugin": "of a plugin: look at the scores",
}


@pytest.fixture(scope="module")
def tested(tmp_path_factory):
    settings = config(datasets=1, models=1, seeds=1, methods=2, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("tested"), settings, pairs=12)
    return gather(folder, options_of(settings))


def untested(study, flag, n=None):
    """The study with the first n of its standing cells not tested."""
    rows, left = [], len(study.judged) if n is None else n
    for row in study.judged:
        if row["stands"] and not is_random(row) and left:
            left -= 1
            row = {**row, "verdict": None, "verdict_strict": None, "flags": [flag]}
        rows.append(row)
    return replace(study, judged=rows)


def printed(study):
    console = Console(width=10_000, file=io.StringIO())
    for part in verdicts_of(study.judged, 0.2, 0.95):
        console.print(part)
    return console.file.getvalue()


@pytest.mark.parametrize("flag", UNTESTED)
def test_where_nothing_was_tested_everything_says_what_was_not_measured_and_why(tested, flag):
    study = untested(tested, flag)
    answers = build(Context(study, study.results)).values["answers"]
    said = f"4 of 4 cells were not tested, because {UNTESTED[flag]}"
    for question in QUESTIONS[:4]:
        assert "Nothing, for" not in answers[question]
        assert "No gap" not in answers[question]
        assert "of 0 cells" not in answers[question]
    assert answers[QUESTIONS[0]].startswith("Unknown: nothing could be tested. 4 of 4")
    assert said in answers[QUESTIONS[3]]
    on_terminal = "\n".join(in_plain_words(study, disparity_tables(study)))
    for text in (on_terminal, printed(study), render_page(Context(study, study.results))):
        assert said in text
        assert "Nothing could be tested" in text
    assert "Decided: 0 of 4 cells" in on_terminal
    assert "explanations: decided 0 of 4 cells" in printed(study)
    assert flag == "of_a_plugin" or f"not tested: {flag}" not in printed(study)


def test_page_terminal_and_audit_count_the_same_cells_with_those_not_tested(tested):
    study = untested(tested, "too_few", 1)
    page = render_page(Context(study, study.results))
    text = " ".join(Page(page).text.split())
    assert re.search(r"Decided: \d of 4 cells: .*, 1 not tested", text)
    assert re.search(r"explanations: decided \d of 4 cells .*, 1 not tested", printed(study))
    on_terminal = "\n".join(in_plain_words(study, disparity_tables(study)))
    assert re.search(r"Decided: \d of 4 cells.*1 not tested", on_terminal)
    assert page.count('class="tile untested" title="model_0: not tested: a group has fewer') == 1
    assert "1 of 4 cells was not tested, because a group has" in on_terminal
    answers = build(Context(study, study.results)).values["answers"]
    assert "Nothing, for" not in answers[QUESTIONS[3]]


def test_texts_that_were_left_out_come_before_other_texts(tested):
    undecided = [
        row if is_random(row) else {**row, "verdict": "undecided"} for row in tested.judged
    ]
    context = Context(replace(tested, judged=undecided), tested.results)
    origins = [ArtefactOrigin("explanations", {"dataset": "data_0"}, {"rows": 10})]
    context.__dict__["origins"] = origins
    advice = build(context).values["answers"][QUESTIONS[3]]
    left, more = (
        advice.index("that were left out: of 24 predicted"),
        advice.index("still more texts"),
    )
    assert left < more
    assert "leave out --quick" in advice
