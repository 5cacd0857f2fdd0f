"""Recipes: which interventions they stand for, what a config may say, and what reruns."""

import pytest
from support import NARROW, tiny

from exparity.config.experiment import Experiment
from exparity.debiasing import INTERVENTIONS
from exparity.debiasing.recipes import RECIPES, calls_of

PLAIN = {"init": "scratch", "architecture": "bert", "size": NARROW}
UNDER, OVER = ({"use": "resampling", "mode": mode} for mode in ("under", "over"))
WEIGH = {"use": "group_class_weights"}
SAME, OWN, ONE = (
    {"use": "counterfactual_data", "mode": "add", "weights": weights}
    for weights in ("same", "own", "one")
)
BY_NAME = {
    "os": [OVER],
    "us": [UNDER],
    "rw": [WEIGH],
    "cda": [SAME],
    "os_cda": [OVER, SAME],
    "us_cda": [UNDER, SAME],
    "rw_cda": [WEIGH, SAME],
    "rw_cda_own": [WEIGH, OWN],
    "os_jigsaw": [OVER],
    "us_jigsaw": [UNDER],
    "rw_jigsaw": [WEIGH],
    "cda_jigsaw": [ONE],
    "os_cda_jigsaw": [ONE, OVER],
    "us_cda_jigsaw": [ONE, UNDER],
    "rw_cda_jigsaw": [WEIGH, ONE],
}


def test_each_recipe_names_its_interventions():
    assert {name: calls_of(name, "") for name in RECIPES} == BY_NAME


@pytest.mark.parametrize(
    ("written", "calls"),
    [
        (
            ["us_cda", {"use": "sampled", "share": 0.2}],
            [UNDER, SAME, {"use": "sampled", "share": 0.2}],
        ),
        ({"use": "resampling", "mode": "over"}, [OVER]),
        (["equal_steps", "rw", "cda"], [{"use": "equal_steps"}, WEIGH, SAME]),
    ],
)
def test_lists_mappings_and_ids_become_calls(written, calls):
    assert calls_of(written, "") == calls


def experiment(repository, debias=None, **changes) -> Experiment:
    models = {"plain": PLAIN, "second": {**PLAIN, "vocab_size": 900}}
    if debias is not None:
        models["mended"] = {**PLAIN, "debias": debias}
    config = {
        "plugins": [str(repository / "tests" / "debiasing" / "pronouns_plugin.py")],
        "datasets": {"bios": {}},
        "models": models,
        "counterfactuals": {"bios": "pronouns"},
    }
    return tiny(**{**config, **changes})


def finetune(found: Experiment, model="mended"):
    return found.finetune_options("bios", model, 0)


def test_without_debias_a_training_depends_on_what_it_did(repository):
    without = experiment(repository, counterfactuals={})
    assert finetune(without, "plain").keys() == {"model", "training", "digest"}
    # A generator for others changes nothing, nor does debiasing another model.
    for debias in (None, "us_cda"):
        beside = experiment(repository, debias)
        for model in ("plain", "second"):
            assert beside.finetune_options("bios", model, 0) == without.finetune_options(
                "bios", model, 0
            )


def test_the_page_tells_of_every_name(repository):
    page = (repository / "docs" / "debiasing.md").read_text()
    for name in {*RECIPES, *INTERVENTIONS.ids()} - {"mirrored", "sampled"}:
        assert f"`{name}`" in page
