"""Black boxes whose weights are known, from a table to verdicts: exact explanations are equal."""

import csv
import json
import sys

import numpy as np
import pytest
from stages.cells import explain, inputs_of, rows_of
from support import CPU

from exparity.stages.compare import compare_model
from exparity.stages.controls import negative_control_cell, removal_limits_cell
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.finetune import finetune_cell
from exparity.stages.foresee import foresee_cell
from exparity.stages.judge import judge_cells
from exparity.stages.prepare import prepare

N_TEXTS = 40
LENGTHS = {"short": 12, "long": 36}
METRICS = {
    "comprehensiveness": {},
    "by_threshold": {"based_on": "threshold", "thresholds": [0.02, 0.05, 0.1, 0.3]},
}
SOURCE = """
import numpy as np

def large(values):
    return [value for value in values if abs(value) >= 1400]

def total(words):
    values = [float(word[1:]) for word in words]
    return FORM

def predict(texts):
    odds = np.array([total(text.split()) for text in texts])
    p = 1 / (1 + np.exp(-odds))
    return np.stack([1 - p, p], axis=1)
"""
FORMS = {
    "linear": "sum(values) / 1000",
    # The sign is that of the other words, so that both classes are predicted.
    "xor": "(-1) ** len(large(values)) * (-2.0 if any(w[0] == 'v' for w in words) else 2.0)",
    "prior": "2 + sum(values) / 1000",
    "either": "(sum(values) - sum(large(values)) + max(large(values), key=abs, default=0)) / 1000",
}


def write_texts(folder, form, lengths, coupled=False):
    """Write a function and a table of texts of two groups; return the options of the table."""
    (folder / f"truth_{form}.py").write_text(SOURCE.replace("FORM", FORMS[form]))
    rng = np.random.default_rng(0)
    with (folder / "texts.csv").open("w") as file:
        table = csv.writer(file)
        table.writerow(["text", "label", "group"])
        for place, (group, n_words) in enumerate(lengths.items()):
            for number in range(N_TEXTS):
                is_yes = (place + (number % 8 == 0)) % 2 if coupled else number % 2
                label, sign, family = (("no", -1, "v"), ("yes", 1, "w"))[is_yes]
                strong = [1500, 1400] if form in ("xor", "either") else []
                others = rng.choice(np.arange(600, 1400, 60), 3 - len(strong), replace=False)
                weak = rng.choice(np.arange(-40, 41), n_words - 3, replace=False)
                words = [f"s{sign * value}" for value in (*strong, *others)]
                words += [f"{family}{value}" for value in weak]
                table.writerow([" ".join(rng.permutation(words)), label, group])
    return {
        "path": str(folder / "texts.csv"),
        "text": "text",
        "label": "label",
        "group": "group",
        "test_share": 1.0,
    }


def write_weights(data, path, keep=None, noise=0.0):
    """Write the weights of the words of all texts, or of the largest ones, as explanations."""
    rng = np.random.default_rng(1)
    with path.open("w") as file:
        for row in rows_of(data, "data"):
            sign = 1.0 if row["label"] == 1 else -1.0
            weights = sign * np.array([float(word[1:]) for word in row["words"]]) / 1000
            weights += rng.normal(0, noise, len(weights)) if noise else 0.0
            if keep is not None:
                least = np.sort(weights)[-keep]
                weights = np.where(weights >= least, weights, 0.0)
            line = {"example_id": row["example_id"], "target": row["label"]}
            line |= {"words": row["words"], "scores": weights.tolist()}
            print(json.dumps(line), file=file)


class Study:
    """Texts of two groups, 12 and 36 words long, and explanations of a function of them."""

    def __init__(self, folder, form, lengths, coupled=False):
        self.folder = folder
        params = write_texts(folder, form, lengths, coupled)
        prepare(
            folder / "data.parquet", use="table", params=params, data_dir=folder, dataset_id="texts"
        )
        paths = inputs_of(folder)
        model = {"predict": f"truth_{form}:predict", "classes": ["no", "yes"]}
        finetune_cell(
            *paths.values(),
            model=model,
            training={"epochs": 0},
            model_id="mine",
            seed=3,
            machine=CPU,
        )
        self.inputs = list(paths.values())
        self.limits = folder / "limits.parquet"
        takes = {"removed": ["token"]}
        removal_limits_cell(*self.inputs, self.limits, takes=takes, machine=CPU)
        self.foresight = folder / "foresight.parquet"
        foresee_cell(*self.inputs, self.foresight, machine=CPU)

    def imported(self, name, keep=None, noise=0.0):
        """Explanations with the weights of the words, of those of the largest ones alone."""
        path = self.folder / f"{name}.jsonl"
        write_weights(self.folder / "data.parquet", path, keep, noise)
        output = self.folder / f"{name}.parquet"
        params = {"path": str(path)}
        return explain(self.folder, output, "imported", params=params, method_id=name)

    def verdicts(self, *explanations):
        """Rows of the standing verdicts, by method and metric."""
        scores, random = [], []
        for metric, params in METRICS.items():
            options = {"use": "comprehensiveness", "params": params, "machine": CPU}
            drawn = self.folder / f"random-{metric}.parquet"
            negative_control_cell(
                *self.inputs, drawn, None, [self.limits], metric_id=metric, **options
            )
            random.append(drawn)
            for path in explanations:
                scores.append(path.with_name(f"{path.stem}-{metric}.parquet"))
                data, checkpoint, _ = self.inputs
                evaluate_cell(data, path, checkpoint, scores[-1], metric_id=metric, **options)
        for path in explanations:
            scores.append(path.with_name(f"{path.stem}-foreseen.parquet"))
            evaluate_cell(
                self.inputs[0], path, None, scores[-1], foresight=[self.foresight],
                use="forward_simulation", params={}, metric_id="forward_simulation", machine=CPU,
            )  # fmt: skip
        outputs = [self.folder / f"{name}.parquet" for name in ("tests", "across", "levels")]
        compare_model(
            self.inputs[0], [self.inputs[2]], scores, random, *outputs,
            removal_limits=[self.limits], statistics={"resamples": 0},
        )  # fmt: skip
        judged = self.folder / "verdicts.parquet"
        judge_cells([outputs[1]], [outputs[0]], None, judged, self.folder / "disparity.parquet")
        rows = rows_of(judged, "verdicts")
        names = {path.stem for path in explanations}  # without the control
        kept = [row for row in rows if row["stands"] and row["method"] in names]
        return {(row["method"], row["metric"]): row for row in kept}


@pytest.fixture
def study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def of(form, lengths=LENGTHS, **options):
        return Study(tmp_path, form, lengths, **options)

    yield of
    for form in FORMS:
        sys.modules.pop(f"truth_{form}", None)


def test_exact_explanations_of_a_linear_function_are_equivalent(study):
    linear = study("linear")
    explained = [
        linear.imported("exact"),
        linear.imported("top_1", keep=1),
        linear.imported("top_3", keep=3),
        explain(linear.folder, linear.folder / "occlusion.parquet", "occlusion"),
    ]
    rows = linear.verdicts(*explained)
    assert len(rows) == 12
    for (method, metric), row in rows.items():
        assert row["verdict"] != "different", (method, metric)
        if metric in METRICS:
            assert (row["skill_a"], row["skill_b"]) == pytest.approx((1, 1), abs=1e-5), method
            assert row["verdict"] == "equivalent", (method, metric)
    exact = rows["exact", "forward_simulation"]
    assert (exact["mean_a"], exact["mean_b"]) == pytest.approx((1, 1), abs=1e-5)
    assert exact["verdict"] == "equivalent"


def test_no_additive_explanation_of_an_xor_is_called_different(study):
    xor = study("xor")
    row = xor.verdicts(xor.imported("exact"))["exact", "forward_simulation"]
    assert row["verdict"] != "different"
    assert "no_room" in row["flags"]


def test_redundant_words_and_equal_noise_are_no_gap(study):
    either = study("either", {"first": 16, "second": 16})
    rows = either.verdicts(either.imported("noisy", noise=0.7))
    assert len(rows) == 3
    for (method, metric), row in rows.items():
        assert row["verdict"] != "different", (method, metric)
        if metric in METRICS:  # the search of words that replace each other is not beaten
            assert "reference_beaten" not in row["flags"]


CANNOT_TELL = {"probability_cannot_tell", "log_odds_cannot_tell", "counting_units_differ"}


@pytest.mark.parametrize("noise", [0.7, 0.0])
def test_priors_and_equal_noise_are_no_gap_or_skill_says_that_it_cannot_tell(study, noise):
    """The empty text is of the class of most texts of one group, and of few of the other."""
    prior = study("prior", {"first": 16, "second": 16}, coupled=True)
    rows = prior.verdicts(prior.imported("noisy", noise=noise))
    assert len(rows) == 3
    assert rows["noisy", "forward_simulation"]["verdict"] != "different"
    for (method, metric), row in rows.items():
        if metric in METRICS:
            assert abs(row["certainty_d"]) > 0.2  # it would show in scores
            is_flagged = CANNOT_TELL.intersection(row["flags"])
            assert row["verdict"] != "different" or is_flagged, (method, metric)
