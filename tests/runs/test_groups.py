"""Which jobs are one submission of a cluster."""

from dataclasses import replace

import pytest
from support import tiny

from exparity.artefacts.analyses import ANALYSES
from exparity.costs.effort import Effort
from exparity.runs.groups import REPORT, STATISTICS, TRAINING, Groups

V100 = 9400
IDS = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0}
SHARED = "training.pairs_all.bert_tiny.0"
LONG = {"num_samples": 50_000}
"""An explanation of a model of unknown size, of a thousand texts, takes hours then."""


@pytest.fixture
def groups_of():
    """Return a function that makes the groups of the small experiment with changes."""

    def make(**blocks):
        experiment = tiny(**blocks)
        return Groups(experiment, Effort(experiment, V100))

    return make


def test_short_jobs_of_a_training_share_a_submission(groups_of):
    groups = groups_of()
    explained = {**IDS, "method": "gradient"}
    scored = {**explained, "metric": "comprehensiveness"}
    assert {
        groups.group_of("finetune", IDS),
        groups.group_of("explain", explained),
        groups.group_of("evaluate", scored),
        groups.group_of("removal_limits", IDS),
        groups.group_of("negative_control", {**IDS, "metric": "gini"}),
    } == {SHARED}
    assert groups.group_of("prepare", {"dataset": "pairs_all"}) is None


def test_a_long_job_has_its_own_and_those_that_read_it_another(groups_of):
    groups = groups_of(methods={"lime": LONG, "gradient": {}})
    for method, group in (("gradient", SHARED), ("lime", f"{SHARED}.lime")):
        scored = {**IDS, "method": method, "metric": "gini"}
        assert groups.group_of("evaluate", scored) == group
    assert groups.group_of("explain", {**IDS, "method": "lime"}) is None
    assert groups.group_of("explain", {**IDS, "method": "gradient"}) == SHARED


def test_long_sensitivity_is_alone_and_other_scores_of_its_method_are_not(groups_of):
    groups = groups_of(
        methods={"lime": {"num_samples": 1000}}, metrics={"sensitivity": {}, "gini": {}}
    )
    explained = {**IDS, "method": "lime"}
    assert groups.group_of("evaluate", {**explained, "metric": "sensitivity"}) is None
    assert groups.group_of("evaluate", {**explained, "metric": "gini"}) == SHARED
    assert groups.group_of("explain", explained) == SHARED


def test_a_long_search_of_limits_is_alone_and_its_controls_come_after(groups_of):
    groups = groups_of(controls={"reference": {"stages": 1000}, "random": {"draws": 1000}})
    assert groups.group_of("removal_limits", IDS) is None
    controls = {
        metric: groups.group_of("negative_control", {**IDS, "metric": metric})
        for metric in ("comprehensiveness", "gini")
    }
    assert controls == {"comprehensiveness": None, "gini": SHARED}


def test_a_training_of_several_processes_is_alone(groups_of):
    training = {"epochs": 3, "learning_rate": 0.003, "processes": 2}
    groups = groups_of(training=training)
    assert groups.group_of("finetune", IDS) is None
    assert groups.group_of("explain", {**IDS, "method": "gradient"}) == SHARED


def test_every_analysis_that_is_always_made_has_its_submission(groups_of):
    """None is listed by hand: those that run the model, statistics of a model, and verdicts."""
    groups = groups_of()
    made_always = [id for id in ANALYSES.ids() if ANALYSES.get(id).facts.always]
    kinds = {id: groups.kind_of(id) for id in made_always}
    expected = {
        id: TRAINING if ANALYSES.get(id).facts.runs_model else STATISTICS for id in made_always
    }
    of_data = {"counterfactuals": None, "raters": None}  # with prepare
    assert kinds == {**expected, "judge": REPORT, **of_data}
    assert groups.kind_of("report") == groups.kind_of("cost") == REPORT


def test_statistics_behind_other_submissions_that_read_statistics_are_alone(groups_of, monkeypatch):
    """Else the shared submission would wait for itself."""
    groups = groups_of()
    entries = {entry.id: entry for entry in groups._experiment.analyses}
    facts = {
        "compare": {"reads": ("scores",)},
        "bias": {"reads": ("tests",), "level": "dataset"},
        "ranking": {"reads": ("bias",)},
    }
    order = [
        replace(entries[id], facts=replace(entries[id].facts, **changes))
        for id, changes in facts.items()
    ]
    monkeypatch.setattr(groups._experiment, "analyses", order)
    assert groups._kinds_of_analyses() == {"compare": STATISTICS}
