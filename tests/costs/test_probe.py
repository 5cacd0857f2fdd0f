"""The probe: the same experiment, as small as its costs can be measured on."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support import TINY

from exparity.config.experiment import Experiment
from exparity.costs.planned import ExampleCounts
from exparity.costs.probe import probe_config

BIG = {"datasets": {"pairs_all": {"n_pairs": 600}}}  # 240 test examples


@pytest.fixture
def probe(experiment, repository):
    """Return a function that makes an experiment and its probe."""

    def make(least=20, **changes):
        made = experiment(**changes)
        config = probe_config(made, ExampleCounts(made), least)
        return made, Experiment.from_mapping(config)

    return make


@pytest.fixture
def sizes(jobs_of):
    """Return a function that says how many examples each method or metric of a stage has."""

    def by_use(experiment, stage):
        return {job.kind.work[-1]: job.examples for job in jobs_of(experiment, stage)}

    return by_use


def test_it_is_a_config_with_results_of_its_own(probe):
    _, small = probe(seeds=[4, 5], results="results/mine")
    assert small.results == "results/mine/plan"
    assert small.seeds == [4]


def test_its_jobs_are_of_all_kinds_that_the_experiment_has(probe, jobs_of):
    made, small = probe(
        **BIG,
        seeds=[0, 1],
        methods={"gradient": {"shards": 2}, "lime": {"num_samples": 50}},
        metrics={"comprehensiveness": {"shards": 3}, "sensitivity": {}, "gini": {}},
        precision="bf16",
    )
    planned, measured = ({job.kind for job in jobs_of(e)} for e in (made, small))
    assert {kind.stage for kind in planned - measured} == {"gather"}
    assert measured < planned


def test_metrics_too_and_by_method_where_they_explain_again(probe):
    _, small = probe(
        **BIG,
        methods={"gradient": {}, "integrated_gradients": {}},
        metrics={"comprehensiveness": {}, "sensitivity": {}},
    )
    options = {
        (method, metric): json.loads(
            small.evaluate_options("pairs_all", "bert_tiny", 0, method, metric)
        )["max_examples"]
        for method in small.methods
        for metric in small.metrics
    }
    assert options == {
        ("gradient", "comprehensiveness"): 200,
        ("gradient", "sensitivity"): 20 * 200 // 12,
        ("integrated_gradients", "comprehensiveness"): 200,
        ("integrated_gradients", "sensitivity"): 20,
    }


FEW = {"match": {"dataset": "pairs_all", "method": "gradient"}, "method": {"max_examples": 6}}


@pytest.mark.parametrize(
    ("least", "changes", "expected"),
    [
        *((n, {"methods": {"lime": {}}}, {"lime": n}) for n in (2, 8, 30)),
        # Methods of few passes get more examples,
        (20, {"methods": {"gradient": {}, "integrated_gradients": {}, "lime": {}}},
         {"gradient": 240, "integrated_gradients": 80, "lime": 20}),
        # and never more than the experiment has.
        (20, {"methods": {"gradient": {}, "lime": {"max_examples": 4}}, "overrides": [FEW]},
         {"gradient": 6, "lime": 4}),
    ],
)  # fmt: skip
def test_numbers_of_examples(probe, sizes, least, changes, expected):
    _, small = probe(least=least, **BIG, metrics={"gini": {}}, **changes)
    assert sizes(small, "explain") == expected


def test_matched_sets_stay_whole(probe, monkeypatch, sizes):
    monkeypatch.setattr(ExampleCounts, "largest_set", lambda self: 30)
    _, small = probe(**BIG, methods={"lime": {}})
    assert sizes(small, "explain") == {"lime": 30}


def test_one_epoch_but_none_where_nothing_is_trained(probe):
    local = {**TINY["models"]["bert_tiny"], "training": {"epochs": 0}}
    once = {"match": {"model": "bert_tiny", "dataset": "pairs_subj"}, "training": {"epochs": 9}}
    _, small = probe(
        datasets={"pairs_all": {"n_pairs": 40}, "pairs_subj": {"n_pairs": 40}},
        models={**TINY["models"], "as_it_is": local},
        overrides=[once],
    )
    epochs = Counter(
        (model, json.loads(small.finetune_options(dataset, model, 0))["training"]["epochs"])
        for dataset, model in small.pairs
    )
    assert epochs == {("bert_tiny", 1): 2, ("as_it_is", 0): 2}


def test_overrides_of_other_seeds_go(probe):
    overrides = [
        {"match": {"seed": 7}, "method": {"max_examples": 2}},
        {"match": {"seed": [3, 7], "method": "gradient"}, "statistics": {"alpha": 0.01}},
    ]
    _, small = probe(seeds=[3, 7], overrides=overrides)
    assert [o["match"] for o in small.overrides if "seed" in o["match"]] == [
        {"seed": 3, "method": "gradient"}
    ]
    statistics = small.test_options("pairs_all", "bert_tiny", 3, "gradient", "gini")
    assert json.loads(statistics)["statistics"]["alpha"] == 0.01


def test_analyses_that_run_models_get_a_sample(probe, sizes):
    models = {"hub": {"checkpoint": "somebody/bert", "revision": "a"}}
    asked = {"mlm_score": None, "dataset_bias": {}}
    made, small = probe(**BIG, models=models, analyses=asked)
    assert sizes(made, "mlm_score") == {"mlm_score": 240}
    assert sizes(small, "mlm_score") == {"mlm_score": 132}  # 133, in whole pairs
    _, small = probe(**BIG, models=models, analyses={"mlm_score": {"max_examples": 10}})
    assert sizes(small, "mlm_score") == {"mlm_score": 10}


def test_all_examples_count_after_so_little_training(probe):
    made, small = probe(examples="correct")
    assert made.config["examples"] == "correct"
    assert small.config["examples"] == "all"
