"""The levels of groups on the first screen: which rows are shown, and what they say."""

import math
from dataclasses import replace

import pytest
from made_up import config, grid_of, make_study

from exparity.report.conclusions.sources import sources_plot
from exparity.report.context import Context
from exparity.report.gather import gather
from exparity.report.levels import level_panels
from exparity.report.picture import RANDOM


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    settings = config(datasets=2, models=1, seeds=3, methods=2, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("levels"), settings, pairs=12)
    return gather(folder, grid_of(settings))


def test_a_panel_for_each_dataset_and_metric_that_comes_first(study):
    captions = [panel.caption for panel in level_panels(study)]
    assert captions == [
        f"{dataset}. {metric}: excess over random explanations"
        for dataset in ("data_0", "data_1")
        for metric in ("Comprehensiveness", "Sufficiency")
    ]


def test_rows_are_methods_with_verdicts_and_random_explanations_without(study):
    rows = {
        (row.method, row.group): row
        for row in study.levels
        if row.dataset == "data_0" and row.metric == "comprehensiveness"
        if row.quantity.removeprefix("random_") == "excess"
    }
    plot = level_panels(study)[0].plot
    assert {row.name for row in plot.rows} == {"Gradient", "Gradient × input", RANDOM}
    judged = {
        study.display("method", row.method): row.verdict
        for row in study.judged
        if row.dataset == "data_0" and row.metric == "comprehensiveness"
        if row.stands and row.method in study.methods
    }
    for row in plot.rows:
        assert row.word == ("" if row.name == RANDOM else judged[row.name])
        assert "male " in row.text
    for row in rows.values():
        assert row.ci_low < row.level < row.ci_high


def test_levels_are_a_download(study):
    exports = {export.name: export for export in Context(study, study.results).exports}
    assert len(exports["levels"].rows) == len(study.levels)


def test_gaps_that_are_divided_are_drawn(study):
    assert sources_plot(study) is None  # no gap in scores is shown
    parts = {"gap_chance": 0.3, "gap_room": -0.1, "gap_explanations": 0.2, "estimate": 0.4}
    rows = [
        replace(row, **parts, verdict="different", d=1.0) if row.quantity == "score" else row
        for row in study.judged
    ]
    plot = sources_plot(replace(study, judged=rows))
    assert plot.rows[0].word == "50 % explanations"
    assert "0.4, of it" in plot.rows[0].text
    assert not math.isnan(plot.axis.width)
