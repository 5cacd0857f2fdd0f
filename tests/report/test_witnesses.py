"""Witnesses: a word each of what they say of a method, and a sentence on what they agree on."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from made_up import config, grid_of, make_study, verdict_row
from report.reading import Page

from exparity.report.conclusions import conclusions_of
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.render import render_page
from exparity.report.witnesses import witness_tables
from exparity.stats.verdicts import WITNESSES, standing

FORESIGHT, REMOVAL, READER, MARKS = WITNESSES.values()


def study_of(*rows):
    """A study with rows of method, witness, verdict, better group, and other values."""
    standing_rows = [
        verdict_row(verdict, method=method, witness=witness, better_group=better, **more)
        for method, witness, verdict, better, *[more] in (
            (*row, {}) if len(row) == 4 else row for row in rows
        )
    ]
    return SimpleNamespace(
        standing=standing_rows,
        display=lambda kind, id: id,
        place=lambda dataset, model: dataset,
        metric_names=lambda rows: [*dict.fromkeys(row.metric for row in rows)],
    )


def only_table(*rows):
    (only,) = witness_tables(study_of(*rows))
    return only


def test_witnesses_that_agree_share_a_sentence():
    said = only_table(
        ("lime", FORESIGHT, "different", "a"),
        ("lime", REMOVAL, "considerable", "a"),
        ("gradient", FORESIGHT, "equivalent", None),
        ("gradient", REMOVAL, "equivalent", None),
        ("shap", FORESIGHT, "different", "a"),
        ("shap", REMOVAL, "different", "a"),
        ("random", FORESIGHT, "unstable", None),
        ("random", REMOVAL, "unstable", None),
    )
    assert said.witnesses == [FORESIGHT, REMOVAL]
    assert said.words == {
        "lime": ["a", "a"],
        "gradient": ["alike", "alike"],
        "shap": ["a", "a"],
        "random": ["differ", "differ"],
    }
    assert said.sentence() == (
        "On d, forward simulation and removal agree that a texts fare better with lime and shap; "
        "they agree that groups are alike with gradient; they agree that groups differ with random."
    )


@pytest.mark.parametrize(
    ("of_reader", "word", "expected"),
    [
        (("different", "a"), "a", "agree that a texts fare better with lime."),
        (("different", "b"), "b", "disagree about lime (forward simulation: a, "
                                  "communication: b)."),
        (("equivalent", None), "alike", "disagree about lime (forward simulation: a, "
                                        "communication: alike)."),
        (("undecided", None), "undecided", "leave lime open, since not all of them decide."),
    ],
)  # fmt: skip
def test_what_two_witnesses_say_of_a_method(of_reader, word, expected):
    said = only_table(("lime", FORESIGHT, "different", "a"), ("lime", READER, *of_reader))
    assert said.words == {"lime": ["a", word]}
    assert said.sentence() == f"On d, forward simulation and communication {expected}"


def test_a_witness_of_several_metrics_counts_a_gap_of_any_and_names_no_side_of_two():
    said = only_table(
        ("lime", FORESIGHT, "different", "a"),
        ("lime", REMOVAL, "different", "a", {"metric": "comprehensiveness"}),
        ("lime", REMOVAL, "undecided", None, {"metric": "sufficiency"}),
        ("shap", FORESIGHT, "equivalent", None),
        ("shap", REMOVAL, "different", "a", {"metric": "comprehensiveness"}),
        ("shap", REMOVAL, "different", "b", {"metric": "sufficiency"}),
    )
    assert said.words == {"lime": ["a", "a"], "shap": ["alike", "its metrics disagree"]}
    assert said.metrics["removal"] == "comprehensiveness and sufficiency"


def test_groups_are_alike_only_where_every_metric_and_pair_says_so():
    said = only_table(
        ("lime", FORESIGHT, "equivalent", None),
        ("lime", FORESIGHT, "undecided", None, {"group_b": "c"}),
        ("lime", REMOVAL, "equivalent", None),
        ("lime", REMOVAL, None, None, {"group_b": "c"}),
    )
    assert said.words == {"lime": ["undecided", "undecided"]}


def test_of_more_than_two_groups_they_differ():
    said = only_table(
        ("lime", FORESIGHT, "different", "a"),
        ("lime", FORESIGHT, "undecided", None, {"group_b": "c"}),
        ("lime", REMOVAL, None, None),
        ("shap", REMOVAL, "equivalent", None),
    )
    assert said.words == {"lime": ["differ", "not tested"], "shap": ["–", "alike"]}
    assert "groups differ" not in said.sentence()
    assert "agree that groups are alike with shap" in said.sentence()


def test_one_witness_agrees_with_nobody():
    rows = [("lime", FORESIGHT, "different", "a"), ("shap", FORESIGHT, "equivalent", None)]
    assert witness_tables(study_of(*rows)) == []
    untested = [*rows, ("lime", REMOVAL, None, None)]
    assert witness_tables(study_of(*untested)) == []


@pytest.mark.parametrize(
    ("kind", "witness"),
    [("simulatability", FORESIGHT), ("faithfulness", REMOVAL), ("communication", READER),
     ("correctness", MARKS), ("complexity", None), (None, None)],
)  # fmt: skip
def test_the_kind_of_a_metric_is_its_witness(kind, witness):
    (row,) = standing([vars(verdict_row(metric_kind=kind))])
    assert row["witness"] == witness


def test_the_table_is_on_the_page_and_its_sentence_in_the_second_answer(tmp_path):
    settings = config(datasets=1, models=1, seeds=2, methods=2, metrics=2)
    study = gather(make_study(tmp_path, settings, pairs=8), grid_of(settings))
    assert witness_tables(study) == []  # removal alone
    other = {"sufficiency": "communication"}
    judged = [replace(row, witness=other.get(row.metric, REMOVAL)) for row in study.judged]
    context = Context(replace(study, judged=judged), study.results)
    (table,) = witness_tables(context.study)
    assert table.witnesses == [REMOVAL, READER]
    assert table.words.keys() == {"Gradient", "Gradient × input"}
    page = Page(render_page(context))
    assert table.sentence() in " ".join(page.text.split())
    answer = conclusions_of(context)["Are the explanations of one group worse?"]
    assert table.sentence() in answer.more
