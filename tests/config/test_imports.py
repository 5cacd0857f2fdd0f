"""Methods that read files: which file is of which classifier, and what does not apply to them."""

import pytest
from support import refused_by

from exparity.artefacts import layout
from exparity.config.cautions import cautions
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError

REFUSED = refused_by(__file__)

MODEL = {"init": "scratch", "architecture": "bert"}
SMALL = {
    "datasets": {"pairs_all": {}, "pairs_subj": {}},
    "models": {"one": MODEL, "two": MODEL},
    "seeds": [0, 1],
    "metrics": {"gini": {}, "sensitivity": {}},
}


@pytest.fixture
def experiment(repository, tmp_path, monkeypatch):
    """An experiment with a method ``mine``, run where a file of each classifier lies."""
    for dataset in SMALL["datasets"]:
        for model in SMALL["models"]:
            for seed in SMALL["seeds"]:
                (tmp_path / f"{dataset}-{model}-{seed}.jsonl").touch()
    monkeypatch.chdir(tmp_path)

    def build(path="{dataset}-{model}-{seed}.jsonl", **changes):
        methods = {"gradient": {}, "mine": {"use": "imported", "path": path}}
        return Experiment.from_mapping({**SMALL, "methods": methods, **changes})

    return build


def test_each_classifier_has_its_file(experiment):
    made = experiment()
    ids = {"dataset": "pairs_subj", "model": "two", "seed": 1}
    assert made.own_inputs("explain", {**ids, "method": "mine"}) == ["pairs_subj-two-1.jsonl"]
    assert made.own_inputs("explain", {**ids, "method": "gradient"}) == []
    options = made.explain_options(**ids, method="mine")
    assert options["params"] == {"path": "pairs_subj-two-1.jsonl"}


def test_an_override_may_name_another(experiment, tmp_path):
    (tmp_path / "new.jsonl").touch()
    match = {"method": "mine", "dataset": "pairs_all", "model": "one", "seed": 1}
    made = experiment(overrides=[{"match": match, "method": {"path": "new.jsonl"}}])
    assert made.own_inputs("explain", match) == ["new.jsonl"]
    assert made.own_inputs("explain", {**match, "seed": 0}) == ["pairs_all-one-0.jsonl"]


def test_metrics_that_explain_again_are_left_out(experiment):
    made = experiment()
    scored = [(c["method"], c["metric"]) for c in layout.cells(made.grid, "scores")]
    assert len(scored) == 3 * 8
    assert ("mine", "sensitivity") not in scored
    assert [line for line in cautions(made) if "mine" in line] == [
        "metrics.sensitivity: not used on methods.mine: it cannot explain again"
    ]
    plain = experiment(methods={"gradient": {}})
    assert not plain.grid.unmeasured
    assert "unmeasured" not in plain.grid.as_json()
    assert not any("sensitivity" in line for line in cautions(plain))


@pytest.mark.parametrize(("changes", "message"), REFUSED["what_cannot_be_meant"])
def test_what_cannot_be_meant(experiment, changes, message):
    with pytest.raises(InputError, match=message):
        experiment(**changes)
