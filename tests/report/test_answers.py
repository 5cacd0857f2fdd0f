"""The questions of an auditor, which a page of one training ends with."""

from dataclasses import replace

import pytest
from made_up import config, grid_of, make_study, options_of, verdict_row
from report.pages import page_of

from exparity.report.gather import gather
from exparity.report.sections.answers import (
    _in_plain_numbers,
    _words,
)

ROW = {"quantity": "excess", "group_a": "Islam", "group_b": "Women", "better_group": "Islam"}
GAPS = ("d_ranks", "d_log_odds", "d_probability")
QUESTIONS = (
    "Which words cause it?",
    "How large is that?",
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
    assert "Yes: every row" in end
    study = gather(tmp_path, grid_of(settings))
    words = _words(study, replace(study.judged[0], method="gradient"))
    assert "relies most in texts of male on “" in words
    assert "in texts of female on “she”, " in words


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
            "explanations of Islam reach 65 %, and those of Women reach 58 % (d = +0.62).",
        ),
    ],
)
def test_a_gap_is_worded_as_draws_of_two_texts_and_skill_by_how_far_explanations_go(gap, said):
    assert said in _in_plain_numbers(verdict_row(**{**ROW, **gap}))
