"""Presets: what they fill in, and what wins over them."""

import copy
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.config.experiment import Experiment
from exparity.config.models import Config
from exparity.config.presets import preset
from exparity.core.validation import complete, read_settings
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.catalogue import known_models
from exparity.models.spec import merge_training
from exparity.resources import resource

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ["text", "code"]  # of one published study
PRESETS = [*STUDIES, "gecobench", "ferret"]
PUBLISHED = {"geco_all", "geco_subj", "compas", "stereotypes"}
PUBLISHED_EPOCHS = {"first": 50, "geco_subj": 50, "records": 5, "said": 10}

# Every instance but `gini` has a name of its own, so that only its implementation tells what it is.
GRID = {
    "datasets": {
        "first": {"use": "geco_all"},
        "geco_subj": None,
        "records": {"use": "compas"},
        "said": {"use": "stereotypes"},
        "pairs_all": {},
    },
    "models": {
        "large": {"use": "roberta_large"},
        "gpt2": {},
        "mine": {"init": "scratch", "architecture": "bert"},
    },
    "methods": {"gradient": {}},
    "metrics": {
        "compr": {"use": "comprehensiveness"},
        "sparse": {"use": "sparsity"},
        "gini": {},
        "sensitivity": {},
    },
}


def experiment(**changes) -> Experiment:
    return Experiment.from_mapping({**copy.deepcopy(GRID), **changes})


def training_of(found, dataset, model):
    return found.finetune_options(dataset, model, 0)["training"]


def metric_of(found, metric, dataset="first"):
    cell = {"dataset": dataset, "model": "gpt2", "seed": 0, "method": "gradient"}
    return found.evaluate_options(**cell, metric=metric)


@pytest.mark.contract
class TestFiles:
    def test_the_schema_names_every_preset(self):
        files = {path.stem for path in resource("presets").iterdir()}
        assert {*get_args(Config.model_fields["study"].annotation)} == {*PRESETS, "default"}
        assert files == {*PRESETS}

    @pytest.mark.parametrize("study", PRESETS)
    def test_what_they_name_exists(self, study):
        chosen = preset(study)
        for block, registry in (("methods", METHODS), ("metrics", METRICS)):
            for id, options in chosen.get(block, {}).items():
                entry = registry.get(options.get("use", registry.get(id).id))
                own = {key: value for key, value in options.items() if key != "use"}
                complete(registry.options(entry), own, f"{block}.{id}")
        blocks = {name: chosen.get(name, {}) for name in ("explains", "training", "statistics")}
        read_settings(Config, {**experiment().config.set_values, **blocks}, study)
        for override in chosen.get("overrides", []):
            assert set(override["match"]["dataset"]) <= set(DATASETS.ids())
            assert set(override["match"].get("model", [])) <= set(known_models())


METHODS_OF_GECOBENCH = {
    "integrated_gradients": {},
    "igxi": {"use": "integrated_gradients_x_input"},
    "lime": {},
}
RATIONALES = {
    "auprc": {"use": "rationale_auprc"},
    "rationale_token_f1": {},
    "iou": {"use": "rationale_iou", "top_k": 7},
    "precision": {"use": "rationale_top_k_precision"},
}
# Of instances under names of their own: what jobs are told where a preset sets it.
TRAINED = [
    ("text", "gpt2", {"learning_rate": 1e-3, "warmup_steps": 500, "batch_size": 32}),
    ("code", "gpt2", {"learning_rate": 5e-5, "warmup_steps": 500, "batch_size": 16,
                      "weight_decay": 0.01, "max_length": 512}),
]  # fmt: skip
EPOCHS = [
    ("text", "gpt2", {**PUBLISHED_EPOCHS, "pairs_all": 5}),
    ("text", "large", {"first": 1, "geco_subj": 1, "records": 5, "said": 10, "pairs_all": 5}),
    ("code", "large", {"first": 1, "geco_subj": 1}),
]
SCORED = [
    ("text", "compr", {"based_on": "threshold", "average_over": "all"}),
    ("code", "compr", {"based_on": "fraction", "average_over": "distinct"}),
    ("code", "gini", {"epsilon": 1e-12}),
    ("code", "sensitivity", {"bisections": 10, "max_radius": 1.0, "max_tokens": 4,
                             "never_flipped": "zero", "normalise_over": "sequence", "steps": 5}),
    ("ferret", "auprc", {"attribution": "positive", "interpolation": "linear"}),
    ("ferret", "rationale_token_f1", {"attribution": "positive", "top_k": "mean"}),
    ("ferret", "iou", {"attribution": "positive", "top_k": 7}),
    ("ferret", "precision", {"attribution": "absolute", "top_k": None}),
    ("default", "sparse", {"normalise_over": "content"}),
    ("text", "sparse", {"normalise_over": "sequence", "tau": 0.1}),
]  # fmt: skip
EXPLAINED = [
    *((study, "integrated_gradients", {"pooling": "sum"}) for study in (*STUDIES, "ferret")),
    ("default", "integrated_gradients", {"pooling": "l2"}),
    ("gecobench", "integrated_gradients", {"n_steps": 200}),
    ("gecobench", "igxi", {"n_steps": 200}),
    ("gecobench", "lime", {"num_samples": None}),  # another method
]


class TestWhatTheySet:
    @pytest.mark.parametrize(("study", "model", "expected"), TRAINED)
    def test_a_preset_sets_the_training_of_each_model(self, study, model, expected):
        assert expected.items() <= training_of(experiment(study=study), "first", model).items()

    @pytest.mark.parametrize(("study", "model", "expected"), EPOCHS)
    def test_a_preset_sets_the_epochs_of_each_dataset(self, study, model, expected):
        found = experiment(study=study)
        assert {id: training_of(found, id, model)["epochs"] for id in expected} == expected

    @pytest.mark.parametrize(("study", "metric", "expected"), SCORED)
    def test_a_preset_sets_options_of_metrics(self, study, metric, expected):
        own = {"datasets": {"first": {"use": "geco_all"}}, "metrics": RATIONALES}
        found = experiment(study=study, **(own if metric in RATIONALES else {}))
        assert expected.items() <= metric_of(found, metric)["params"].items()

    @pytest.mark.parametrize(("study", "method", "expected"), EXPLAINED)
    def test_a_preset_sets_options_of_methods(self, study, method, expected):
        found = experiment(study=study, methods=METHODS_OF_GECOBENCH)
        cell = {"dataset": "first", "model": "gpt2", "seed": 0, "method": method}
        params = found.explain_options(**cell)["params"]
        assert expected.items() <= params.items()

    def test_each_preset_sets_its_degrees_of_freedom(self):
        ddof = [experiment(study=study).config.statistics.ddof for study in STUDIES]
        assert ddof == [1, 0]


# Sensitivity is another metric in the published code.
@pytest.mark.parametrize(
    ("study", "id", "entry", "use", "expected"),
    [
        ("text", "sensitivity", {}, "sensitivity", {}),
        ("code", "sensitivity", {"max_tokens": 2}, "flip_sensitivity", {"max_tokens": 2}),
        # Where the entry tells the implementation, the preset sets no other.
        ("code", "other", {"use": "sensitivity", "radius": 0.5}, "sensitivity", {"radius": 0.5}),
        ("code", "flips", {"use": "flip_sensitivity", "steps": 9}, "flip_sensitivity",
         {"max_tokens": 4, "steps": 9}),
    ],
)  # fmt: skip
def test_each_preset_has_its_own_sensitivity(study, id, entry, use, expected):
    metrics = {id: {**entry, "max_examples": 6}}
    found = experiment(study=study, metrics=metrics)
    options = metric_of(found, id)
    assert (options["use"], options["max_examples"]) == (use, 6)
    assert expected.items() <= options["params"].items()


class TestWhatTheConfigSetsWins:
    @pytest.mark.parametrize("study", STUDIES)
    def test_options_and_statistics_of_the_config_win(self, study):
        found = experiment(
            study=study,
            metrics={"sparse": {"use": "sparsity", "tau": 0.3}, "gini": {"epsilon": 0.5}},
            statistics={"ddof": 1, "alpha": 0.01},
        )
        assert metric_of(found, "sparse")["params"]["tau"] == 0.3
        assert metric_of(found, "gini")["params"]["epsilon"] == 0.5
        assert found.config.statistics.ddof == 1
        assert found.config.statistics.alpha == 0.01
        assert found.config.statistics.threshold == 0.2

    @given(
        study=st.sampled_from(STUDIES),
        chosen=st.sets(st.sampled_from(["epochs", "batch_size", "learning_rate", "warmup_steps"])),
        level=st.sampled_from(["training", "model", "override"]),
        dataset=st.sampled_from(sorted(GRID["datasets"])),
        model=st.sampled_from(sorted(GRID["models"])),
    )
    def test_training_at_any_level(self, study, chosen, level, dataset, model):
        own = {key: {"learning_rate": 0.123}.get(key, 77) for key in chosen}
        config = copy.deepcopy({**GRID, "study": study})
        if level == "training":
            config["training"] = own
        elif level == "model":
            config["models"][model]["training"] = own
        else:
            config["overrides"] = [{"match": {"dataset": dataset, "model": model}, "training": own}]
        found = training_of(Experiment.from_mapping(config), dataset, model)
        assert own.items() <= found.items()
        plain = training_of(experiment(study=study), dataset, model)
        rest = {key: value for key, value in plain.items() if key not in own}
        assert rest.items() <= found.items()


LAYERS = st.lists(
    st.dictionaries(st.sampled_from(["epochs", "warmup_share", "warmup_steps"]), st.integers(1, 9)),
    max_size=4,
)


@pytest.mark.property
@given(layers=LAYERS)
def test_training_is_merged_from_general_to_special(layers):
    merged = merge_training(*layers)
    epochs = [layer["epochs"] for layer in layers if "epochs" in layer]
    assert merged.get("epochs") == (epochs[-1] if epochs else None)
    warm = [
        key
        for layer in layers
        for key in ["warmup_share", "warmup_steps"]  # of one layer, the steps count
        if key in layer
    ]
    assert ("warmup_steps" in merged) == (bool(warm) and warm[-1] == "warmup_steps")
