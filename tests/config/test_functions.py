"""A config whose model is a function: what it has, and what it is refused for."""

import sys

import pytest
from support import tiny

from exparity import InputError

pytestmark = pytest.mark.contract
METHODS = {"lime": {}, "shap": {}}
METRICS = {"comprehensiveness": {}, "gini": {}}
CLASSES = ["female", "male"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    """A working folder with a module that nothing may import before a job does."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "asked_black_box.py").write_text("raise SystemExit")


def asked(model=None, **changes):
    own = {"predict": "asked_black_box:predict", "classes": CLASSES, **(model or {})}
    blocks = {"methods": METHODS, "metrics": METRICS, "overrides": [], **changes}
    return tiny(models={"asked": own}, datasets={"pairs_all": {}}, **blocks)


def test_a_function_is_a_model_that_is_not_trained():
    made = asked(engine={"max_calls": 100})
    ids = {"dataset": "pairs_all", "model": "asked", "seed": 0}
    options = made.finetune_options(**ids)
    assert options["training"]["epochs"] == 0
    assert "max_calls" not in options["model"]  # to raise it makes nothing again
    assert made.environment["EXPARITY_MAX_CALLS"] == "100"
    (file,) = made.own_inputs("finetune", ids)
    assert file.endswith("asked_black_box.py")
    assert "asked_black_box" not in sys.modules


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ({}, {"methods": {"gradient": {}}}, "methods.gradient: .*take .*lime.* or uniform_random"),
        ({"training": {"epochs": 3}}, {}, "models.asked: a function is not trained"),
        ({"classes": CLASSES[::-1]}, {}, "models.asked.classes: are male, female, and those of"),
        ({"predict": "gone:predict"}, {}, "models.asked.predict: there is no module 'gone'"),
        ({"checkpoint": "./x"}, {}, "checkpoint: is not for models with 'predict'"),
    ],
)
def test_what_a_function_cannot_do_is_refused_before_any_job(model, changes, message):
    with pytest.raises(InputError, match=message):
        asked(model, **changes)


@pytest.mark.parametrize("block", ["methods", "metrics"])
def test_what_needs_a_model_is_refused_only_where_it_meets_a_function(block):
    """A function and a model of one's own in one config, each with a dataset."""
    whole = {"methods": {"lime": {}}, "metrics": {"gini": {}}}
    needs = {"methods": {"gradient": {}}, "metrics": {"sensitivity": {}}}[block]
    models = {
        "asked": {"predict": "asked_black_box:predict", "classes": CLASSES, "datasets": ["one"]},
        "own": {"init": "scratch", "architecture": "bert", "datasets": ["other"]},
    }

    def made(datasets):
        (id, own), *_ = needs.items()
        blocks = {**whole, block: {**whole[block], id: {**own, "datasets": datasets}}}
        return tiny(
            models=models,
            datasets={"one": {"use": "pairs_all"}, "other": {"use": "pairs_all"}},
            overrides=[],
            **blocks,
        )

    assert made(["other"])
    (id,) = needs
    with pytest.raises(InputError, match=rf"{block}\.{id}: .*keep it from dataset 'one' by"):
        made(["one", "other"])
