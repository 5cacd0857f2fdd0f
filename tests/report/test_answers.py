"""The questions of an auditor, which a page of one training ends with."""

from types import SimpleNamespace

import pytest
from made_up import config, make_study, options_of
from report.pages import page_of

from exparity.report.gather import gather
from exparity.report.provenance import ArtefactOrigin
from exparity.report.sections.answers import _in_plain_numbers, _uncounted, _words

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
    origins = [ArtefactOrigin("data", {"dataset": "posts"}, {"dropped": {"without group": 2}})]
    origins += [ArtefactOrigin("explanations", {"dataset": "posts"}, {"rows": n}) for n in (9, 300)]
    context = SimpleNamespace(origins=origins, study=SimpleNamespace(accuracies=[accuracy]))
    assert [said for _, said in _uncounted(context)] == [
        "2 rows are left out: 2 without group",
        "of 300 predicted texts 9–300 are explained",
    ]


@pytest.mark.parametrize(
    ("gap", "said"),
    [
        ({"d": 0.2}, "that of Islam is the better explained in 56 of 100 draws"),
        ({"d": -0.8}, "that of Islam is the better explained in 71 of 100 draws"),
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
