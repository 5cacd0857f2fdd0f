"""The analysis remedies: a method that is poor for one group alone, and what the page says."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from analyses.page import page_of
from made_up import Results

from exparity.analyses.remedies import find_remedies
from exparity.analyses.remedies.section import findings
from exparity.artefacts.files import read_artefact
from exparity.config.experiment import Experiment
from exparity.core.validation import complete
from exparity.metrics import METRICS, metric_options
from exparity.metrics.foresight import Design, draw_parts
from exparity.report.conclusions.advice import next_steps
from exparity.report.remedies import remedy_sentences, tried_in

GROUPS = ("female", "male")
TEXTS = 80
WORDS = 8
SEEDS = range(4)
POOR = {"gradient": (0.2, 0.5), "lime": (0.5, 0.5), "shap": (0.48, 0.5)}
"""Mean score of each method for each group."""
ALIKE = dict.fromkeys(POOR, (0.5, 0.5))


USES = {"gradient": "gradient_x_input", "lime": "lime", "shap": "shap"}


def foreseen(keys, labels, effects):
    """Rows of foresight of an additive classifier, whose words have effects."""
    rows = []
    for key, label, of_words in zip(keys, labels, effects, strict=True):
        masks = draw_parts(np.array([int(key["example_id"])]), WORDS, Design("word"))
        rows.append({
            **key, "unit": "word", "left_out": 0.5, "num_masks": 0, "target": label,
            "n_units": WORDS, "masks": np.packbits(masks).tolist(),
            "falls": (masks @ of_words).tolist(), "ceiling": 1.0,
        })  # fmt: skip
    return rows


def explained(keys, labels, attributions):
    """Rows of explanations with a token a word."""
    numbers = list(range(WORDS))
    tokens = {"token_ids": numbers, "word_ids": numbers, "tokens": [*map(str, numbers)]}
    return [
        {"example_id": key["example_id"], "target": label, "scores": scores.tolist(), **tokens}
        for key, label, scores in zip(keys, labels, attributions, strict=True)
    ]


class Study(Results):
    """Scores of three methods, of matched texts, and of random explanations."""

    def __init__(self, root, levels=POOR, metric="forward_simulation", collapsed=(), models=("m",)):
        super().__init__(root, GROUPS)
        rng = np.random.default_rng(0)
        keys = [
            {"example_id": f"{i:02}", "group": GROUPS[i % 2], "match_id": f"s{i // 2}"}
            for i in range(TEXTS)
        ]
        labels = [i // 2 % 2 for i in range(TEXTS)]
        self.predictions, self.scores, self.random = [], [], []
        self.explanations, self.foresight = [], []
        words = [*map(str, range(WORDS))]
        text = {"split": "test", "text": " ".join(words), "words": words, "rationale": None}
        texts = zip(keys, labels, strict=True)
        rows = [{**key, **text, "attributes": [], "label": label} for key, label in texts]
        self.data = self.write("data", rows, "d")
        facts = METRICS.get(metric).facts.compared_by
        params = complete(metric_options(METRICS.get(metric)), {}, metric)
        used = {"parameters": {"use": metric, "params": params}, "skill": facts}
        for model, seed in product(models, SEEDS):
            predicted = [0] * TEXTS if seed in collapsed else labels
            if model != "m":  # a debiased one gets a text of each group wrong
                predicted = [1 - labels[0], 1 - labels[1], *predicted[2:]]
            place = ("d", model, seed)
            self.predictions.append(self.write_predictions(keys, labels, predicted, *place))
            effects = rng.normal(size=(TEXTS, WORDS))
            asked = foreseen(keys, labels, effects)
            self.foresight.append(self.write("foresight", asked, *place, metric))
            for method, means in levels.items():
                mean = np.array([means[i % 2] for i in range(TEXTS)])
                if model != "m":
                    mean = mean + 0.2
                values = mean + 0.15 * rng.normal(size=TEXTS)
                self.scores.append(self.write_scores(keys, values, *place, method, metric, **used))
                attributions = effects + rng.normal(size=(TEXTS, WORDS))
                rows = explained(keys, labels, attributions)
                call = {"use": USES[method], "params": {}}
                path = self.write("explanations", rows, *place, method, parameters=call)
                self.explanations.append(path)
            drawn = 0.1 * rng.normal(size=(3, TEXTS))
            self.random.append(self.write_scores(keys, drawn, *place, metric, **used))

    def run(self, **options):
        output = self.root / "remedies.parquet"
        files = self.scores, self.random, [], self.explanations, self.foresight
        find_remedies(self.data, self.predictions, *files, output, **options)
        return read_artefact(output, "remedies")[0].to_pylist()


def study_of(metric="forward_simulation"):
    return SimpleNamespace(
        display=lambda kind, id: id,
        name=lambda kind, id: f"{id} ↑",
        place=lambda dataset, model: dataset,
        metrics=[metric],
        methods=USES,
        models={"d": ["m", "debiased"]},
        statistics=SimpleNamespace(alpha=0.05),
        pairs=[("d", "m")],
    )


def test_the_method_that_is_poor_for_one_group_is_replaced_for_it(tmp_path):
    rows = Study(tmp_path).run()
    (helps,) = [row for row in rows if row["helps"] and row["kind"] == "method"]
    assert (helps["method"], helps["group"], helps["other_group"]) == ("gradient", "female", "male")
    assert helps["replacement"] in ("lime", "shap")
    assert (helps["accuracy"], helps["accuracy_after"]) == (1, 1)
    assert (helps["quantity"], helps["metric_kind"]) == ("score", "simulatability")
    assert helps["n_texts"] == TEXTS // 4
    assert helps["level"] == pytest.approx(0.2, abs=0.1)
    assert helps["level_after"] == pytest.approx(0.5, abs=0.1)
    assert helps["ci_low"] < helps["gain"] < helps["ci_high"]
    assert abs(helps["gap_after"]) < helps["gap"] / 2


def test_the_mean_of_two_methods_is_scored_by_what_is_stored(tmp_path):
    """Errors of two explanations are independent here, so that their mean foresees more."""
    study = Study(tmp_path)
    means = [row for row in study.run() if row["kind"] == "mean"]
    first = means[0]["replacement"].split("+")
    assert means[0]["method"] in first
    assert len(first) == 2
    assert means[0]["level_after"] == pytest.approx(np.sqrt(1 / 1.5), abs=0.05)


def test_a_debiased_classifier_is_compared_with_the_one_that_is_not(tmp_path):
    study = Study(tmp_path, models=("m", "debiased"))
    rows = study.run(recipes={"m": ["debiased"]})
    assert {row["model"] for row in rows} == {"m"}
    (row,) = [row for row in rows if (row["kind"], row["method"]) == ("debiasing", "gradient")]
    assert (row["replacement"], row["helps"]) == ("debiased", True)
    assert row["level_after"] == pytest.approx(0.4, abs=0.1)
    assert row["other_level_after"] == pytest.approx(row["other_level"] + 0.2, abs=0.1)
    assert row["accuracy"] == 1
    assert row["accuracy_after"] <= 1
    page = study_of()
    (line,) = [line for line in findings([row], page).values["lines"]]
    assert line.instead == "debiased, trained with debiasing"
    (sentence,) = remedy_sentences(tried_in([row]), page)
    assert sentence.startswith("On d, take debiased, trained with debiasing: female texts 0.")
    assert sentence.endswith("; neither group loses.") == (row["accuracy_after"] == 1)


def test_a_loss_of_anybody_is_not_kept_silent(tmp_path):
    row = next(row for row in Study(tmp_path).run() if row["kind"] == "method")
    lost = {**row, "kind": "debiasing", "replacement": "debiased", "helps": True}
    for changes in ({"gap_after": row["gap"] - row["gain"] - 0.1}, {"other_accuracy_after": 0.9}):
        (sentence,) = remedy_sentences(tried_in([{**lost, **changes}]), study_of())
        assert "loses" not in sentence
    kept = {**lost, "gap_after": row["gap"] - row["gain"] + 0.1}
    (sentence,) = remedy_sentences(tried_in([kept]), study_of())
    assert sentence.endswith("; neither group loses.")


def test_debiased_models_are_those_that_differ_in_debiasing_alone(tmp_path):
    tiny = {"init": "scratch", "architecture": "bert"}
    models = {"tiny": tiny, "us": {**tiny, "debias": "us"}, "wide": {**tiny, "debias": "us"}}
    models["wide"]["size"] = {"hidden_size": 16, "num_attention_heads": 2}
    config = {
        "datasets": {"pairs_all": {}}, "models": models, "methods": {"gradient": {}},
        "metrics": {"gini": {}}, "analyses": {"remedies": {}},
    }  # fmt: skip
    experiment = Experiment.from_mapping(config)
    options = experiment.options("remedies", {"dataset": "pairs_all"})
    assert options["recipes"] == {"tiny": ["us"]}


def test_alike_groups_have_no_remedy(tmp_path):
    assert not any(row["helps"] for row in Study(tmp_path, ALIKE).run())


@pytest.mark.parametrize(
    ("metric", "quantity"), [("comprehensiveness", "excess"), ("sufficiency", "excess")]
)
def test_other_metrics_are_compared_as_they_stand(tmp_path, metric, quantity):
    sign = 1 if metric == "comprehensiveness" else -1
    levels = {name: tuple(sign * np.array(own)) for name, own in POOR.items()}
    rows = Study(tmp_path, levels, metric).run()
    (helps,) = [row for row in rows if row["helps"]]
    assert {row["kind"] for row in rows} == {"method"}  # scores alone, without falls
    assert (helps["method"], helps["group"], helps["quantity"]) == ("gradient", "female", quantity)
    assert helps["gain"] > 0


def test_descriptions_and_classifiers_of_one_class_are_left_out(tmp_path):
    assert Study(tmp_path / "gini", metric="gini").run() == []
    assert Study(tmp_path / "all", collapsed=SEEDS).run() == []
    assert {row["n_seeds"] for row in Study(tmp_path / "some", collapsed=(1,)).run()} == {3}


def test_the_page_says_what_to_do_and_for_whom(tmp_path):
    rows = Study(tmp_path).run()
    study = study_of()
    page = page_of("remedies", findings(rows, study), study)
    (sentence,) = remedy_sentences(tried_in(rows), study)
    assert sentence in " ".join(page.split())
    assert sentence.startswith("On d, explain female texts with ")
    assert " instead of gradient: 0.1" in sentence or " instead of gradient: 0.2" in sentence
    assert sentence.endswith("on the half of the texts that did not choose it; nobody loses.")


def test_the_page_says_that_nothing_helps(tmp_path):
    rows = Study(tmp_path, ALIKE).run()
    study = study_of()
    assert "Nothing is shown to help" in page_of("remedies", findings(rows, study), study)
    assert remedy_sentences(tried_in(rows), study) == []


def test_a_part_of_the_grid_shows_its_own_methods(tmp_path):
    rows = Study(tmp_path).run()
    study = study_of()
    study.methods = {"gradient": "gradient_x_input"}
    assert findings(rows, study) is None


def test_the_remedy_is_among_the_next_steps():
    study = SimpleNamespace(
        standing=[], accuracies=[], bias=[], judged=[], verdicts={}, models={}, dependence={},
        pairs=[], run="training", statistics=SimpleNamespace(threshold=0.2),
    )  # fmt: skip
    found = {"sentences": ["On d, explain female texts with lime instead of gradient."]}
    context = SimpleNamespace(study=study, origins=[], found_by=lambda analysis: found)
    assert next_steps(context).text.startswith("On d, explain female texts with lime instead")
