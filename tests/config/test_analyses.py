"""The analyses of a config: off unless named, where they apply, what their jobs depend on."""

import json
import re

import pytest
from support import TINY, tiny

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.core.errors import InputError
from exparity.metrics import METRICS
from exparity.tools.catalogue import print_catalogue

pytestmark = pytest.mark.contract


def experiment(analyses=None, **changes):
    asked = {} if analyses is None else {"analyses": analyses}
    return tiny(**{"metrics": {"mass_accuracy": {}, "gini": {}}, **asked, **changes})


@pytest.fixture
def checkpoints(tmp_path):
    """Folders that look like a masked language model and like a bare encoder."""
    found = {}
    for name in ("BertForMaskedLM", "BertModel"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps({"architectures": [name]}))
        found[name] = {"checkpoint": str(folder)}
    return found


def settings(analyses, name, **ids):
    own = analyses.options(name, ids)
    del own["digest"]
    return own


def test_jobs_have_the_statistics_that_they_declare():
    statistics = {"alpha": 0.01, "threshold": 0.3, "ddof": 0, "confidence": 0.9, "resamples": 7}
    changes = {"statistics": {**statistics, "family": []}, "analyses": {"agreement": {}}}
    study, pair = tiny(seeds=[0, 1], **changes), {"dataset": "pairs_all", "model": "bert_tiny"}
    of_agreement = {name: statistics[name] for name in ("alpha", "threshold", "confidence")}
    own = {"top_share": 0.25, "unit": "token", "statistics": of_agreement}
    assert settings(study, "agreement", **pair) == own
    assert settings(study, "compare", **pair) == {"statistics": statistics}
    assert settings(study, "bias", **pair) == {"confidence": 0.9, "resamples": 7}
    assert settings(study, "judge") == {"family": [], "alpha": 0.01}


def test_one_file_a_metric_that_does_not_explain_again():
    metrics = {"gini": {}, "sensitivity": {}, "mine": {"use": "gini"}}
    found = experiment(metrics=metrics, seeds=[0, 1], controls={"random": {"draws": 2}})
    assert found.grid.analyses["negative_control"] == [
        ("pairs_all", "bert_tiny", "gini"),
        ("pairs_all", "bert_tiny", "mine"),
    ]
    place = "pairs_all/bert_tiny"
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 1}
    compared = found.inputs("compare", {"dataset": "pairs_all", "model": "bert_tiny"})
    assert sorted(compared["random_scores"]) == [
        f"results/random_scores/{place}/{seed}/{m}.parquet"
        for seed in (0, 1)
        for m in ("gini", "mine")
    ]
    assert found.inputs("negative_control", {**cell, "metric": "mine"}) == {
        "data": "results/data/pairs_all.parquet",
        "checkpoint": f"results/models/{place}/1",
        "predictions": f"results/predictions/{place}/1.parquet",
    }
    assert settings(found, "negative_control", **cell, metric="mine") == {
        "use": "gini",
        "params": {"epsilon": 0.0, "normalise_over": "sequence", "unit": "token"},
        "max_examples": None,
        "draws": 2,
        "target": "label",
        "examples": "all",
    }


@pytest.mark.parametrize(
    ("sizes", "of_metric", "overrides", "expected"),
    [
        ([6, None], None, [], None),
        ([6, 8], None, [], 8),
        ([6, 8], 4, [], 4),
        ([6, 8], 40, [], 8),
        ([6, 8], None, [{"match": {"method": "gradient"}, "method": {"max_examples": 12}}], 12),
        ([6, 8], None, [{"match": {"seed": 1}, "method": {"max_examples": None}}], None),
    ],
)
def test_random_explanations_are_of_texts_that_methods_explain(
    sizes, of_metric, overrides, expected
):
    methods = dict(zip(("gradient", "uniform_random"), sizes, strict=True))
    found = experiment(
        methods={method: {"max_examples": size} for method, size in methods.items()},
        metrics={"gini": {"max_examples": of_metric}},
        overrides=overrides,
        seeds=[0, 1],
    )
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 1, "metric": "gini"}
    assert settings(found, "negative_control", **cell)["max_examples"] == expected


@pytest.mark.parametrize(
    ("size", "overrides", "expected"),
    [
        (4, [], 4),
        (40, [], 8),
        (None, [], 8),
        (
            4,
            [
                {
                    "match": {"method": "gradient", "metric": "loo_correlation"},
                    "metric": {"max_examples": 6},
                }
            ],
            6,
        ),
    ],
)
def test_a_classifier_is_asked_about_texts_that_are_scored(size, overrides, expected):
    found = experiment(
        methods={"gradient": {"max_examples": 6}, "uniform_random": {"max_examples": 8}},
        metrics={"loo_correlation": {"max_examples": size}, "gini": {}},
        overrides=overrides,
        seeds=[0],
    )
    assert found.grid.analyses["foresee"] == [("pairs_all", "bert_tiny", "loo_correlation")]
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0, "metric": "loo_correlation"}
    foreseen = settings(found, "foresee", **cell)
    assert foreseen["max_examples"] == expected
    assert (foreseen["unit"], foreseen["left_out"], foreseen["num_masks"]) == ("token", 0, 0)


def test_a_metric_that_is_added_leaves_what_others_ask_as_it_was():
    halves, singles = "forward_simulation", "loo_correlation"
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0}
    alone = experiment(metrics={halves: {}})
    both = experiment(metrics={halves: {}, singles: {}})
    asked = [found.options("foresee", {**cell, "metric": halves}) for found in (alone, both)]
    assert asked[0] == asked[1]
    path = "results/foresight/pairs_all/bert_tiny/0"
    for metric in (halves, singles):
        assert both.of_metric("foresight", {**cell, "metric": metric}) == [
            f"{path}/{metric}.parquet"
        ]
    read = both.inputs("positive_control", {"dataset": "pairs_all", "model": "bert_tiny"})
    assert {path.rpartition("/")[2] for path in read["foresight"]} == {f"{halves}.parquet"}


def test_a_metric_of_attributions_whose_chance_is_zero_foresees_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(METRICS, "_entries", {name: METRICS.get(name) for name in METRICS.ids()})
    plugin = tmp_path / "first_word.py"
    plugin.write_text(
        "from exparity.metrics import metric\n\n\n"
        '@metric("first_word", direction="higher", bounds=(-1.0, 1.0), unit="share",\n'
        '        kind="place", needs="attributions", stochastic=False, reference="here",\n'
        '        skill="zero")\n'
        "def first_word(scores, content_mask):\n"
        '    """Share of the first."""\n'
        "    return scores[:, 0]\n"
    )
    found = experiment(plugins=[str(plugin)], metrics={"first_word": {}, "comprehensiveness": {}})
    assert found.grid.analyses["removal_limits"]
    without = experiment(plugins=[str(plugin)], metrics={"first_word": {}})
    assert not without.grid.analyses["positive_control"]


def test_limits_are_searched_where_no_metric_has_a_chance_of_zero():
    datasets = {"pairs_all": {}}
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0}
    of_words = {"comprehensiveness": {}, "loo_correlation": {}}
    assert experiment(metrics=of_words, datasets=datasets).options("removal_limits", cell)["takes"]
    foreseen = experiment(metrics={**of_words, "forward_simulation": {}}, datasets=datasets)
    assert not foreseen.grid.analyses["removal_limits"]


def test_bias_reads_counterfactual_predictions_where_there_are_some():
    datasets = {"bios": {"paired": False}, "pairs_all": {}}
    found = experiment(datasets=datasets, counterfactuals={"bios": "gender_words"}, seeds=[0, 1])
    assert [*layout.cells(found.grid, "counterfactual_predictions")] == [
        {"dataset": "bios", "model": "bert_tiny", "seed": seed} for seed in (0, 1)
    ]
    folder = "results/counterfactual_predictions/bios/bert_tiny"
    paths = [f"{folder}/{seed}.parquet" for seed in (0, 1)]
    for dataset, expected in (("bios", paths), ("pairs_all", [])):
        ids = {"dataset": dataset, "model": "bert_tiny"}
        assert found.inputs("bias", ids)["counterfactual_predictions"] == expected


@pytest.mark.parametrize(
    "changes", [{"controls": {"random": {"draws": 0}}}, {"metrics": {"sensitivity": {}}}]
)
def test_without_random_draws_there_is_no_negative_control(changes):
    found = experiment(**changes)
    assert not found.grid.analyses["negative_control"]
    model = {"dataset": "pairs_all", "model": "bert_tiny"}
    assert found.inputs("compare", model)["random_scores"] == []


def test_random_explanations_are_scored_as_those_of_any_method():
    every = {"match": {"metric": "gini"}, "metric": {"normalise_over": "content"}}
    one = {"match": {"method": "gradient", "metric": "gini"}, "metric": {"epsilon": 0.5}}
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0, "metric": "gini"}
    scored = settings(experiment(overrides=[every, one]), "negative_control", **cell)
    assert scored["params"] == {"epsilon": 0.0, "normalise_over": "content", "unit": "token"}


def test_only_metrics_that_compare_are_read():
    found = experiment({"correctness": {}})
    cell = {"dataset": "pairs_all", "model": "bert_tiny", "seed": 0}
    reads = found.inputs("correctness", cell)
    methods, place = TINY["methods"], "pairs_all/bert_tiny/0"
    assert reads == {
        "scores": [f"results/scores/{place}/{method}/mass_accuracy.parquet" for method in methods],
        "predictions": f"results/predictions/{place}.parquet",
    }


def test_terms_are_the_datasets_own():
    own = experiment({"dataset_bias": {}})
    assert settings(own, "dataset_bias", dataset="pairs_all")["terms"] == {
        "male": [["he"], ["him", "his"]],
        "female": [["she"], ["her"]],
    }


def test_a_job_depends_on_its_code():
    names = ("correctness", "attribution_difference", "dataset_bias")
    own, ids = experiment(dict.fromkeys(names)), {"dataset": "pairs_all", "seed": 0}
    assert len({own.options(name, ids)["digest"] for name in names}) == 3


def test_the_masked_language_model_comes_from_the_checkpoint(checkpoints):
    models = {**TINY["models"], "tuned": {**checkpoints["BertForMaskedLM"], "revision": "abc"}}
    found = experiment({"mlm_score": {"max_examples": 8}}, models=models)
    assert found.grid.analyses["mlm_score"] == [("pairs_all", "tuned")]
    assert settings(found, "mlm_score", dataset="pairs_all", model="tuned") == {
        "original": checkpoints["BertForMaskedLM"]["checkpoint"],
        "revision": "abc",
        "max_examples": 8,
    }


def test_the_catalogue_marks_the_analyses_that_a_config_cannot_name(capsys):
    """All others are known, though the data or models may lack what they need."""
    print_catalogue("analyses")
    listed = re.findall(r"^  (\w+)(.*)$", capsys.readouterr().out, re.MULTILINE)
    assert len(listed) == len(ANALYSES.ids())
    for id, mark in listed:
        refusal = ""
        try:
            experiment({id: {}})
        except InputError as error:
            refusal = str(error)
        assert bool(mark) == ("there is no such analysis" in refusal)
