"""A table of premises and hypotheses, from the table to scores."""

import json

import numpy as np
import pytest
from engine.exact import plain_probabilities
from stages.cells import evaluate, explain, inputs_of, rows_of, train
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from exparity.stages.prepare import prepare

ANIMALS = ("cat", "dog", "horse", "mouse", "bird", "fish")
COLUMNS = {"text": "premise", "text_b": "hypothesis", "label": "gold", "group": "size",
           "rationale": "why", "rationale_b": "why_b"}  # fmt: skip


def write_table(path, count=48):
    """An animal is named again, or another one is; the words that tell are marked."""
    with path.open("w") as file:
        for i in range(count):
            first, second = ANIMALS[i % 6], ANIMALS[(i + i % 2 * (1 + i % 5)) % 6]
            row = {
                "premise": f"the old {first} sleeps here".split(),
                "hypothesis": f"a {second} sleeps",
                "gold": ["contradiction", "entailment"][first == second],
                "size": ["small", "large"][i // 2 % 2],
                "why": [0, 0, 1, 0, 0],
                "why_b": "0 1 0",
            }
            file.write(json.dumps(row) + "\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The cell, its data and its classifier."""
    folder = tmp_path_factory.mktemp("pairs")
    write_table(folder / "nli.jsonl")
    params = {"path": str(folder / "nli.jsonl"), **COLUMNS}
    prepare(folder / "data.parquet", use="table", params=params, dataset_id="nli")
    train(folder, epochs=3, learning_rate=0.003)
    return folder


def test_both_texts_are_predicted(folder):
    data = {row["example_id"]: row for row in rows_of(folder / "data.parquet", "data")}
    for row in data.values():
        assert len(row["words_b"]) == 3
        assert row["rationale"] == [0, 0, 1, 0, 0, 0, 1, 0]
    checkpoint = inputs_of(folder)["checkpoint"]
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    predictions = rows_of(folder / "predictions.parquet", "predictions")
    assert predictions
    for row in predictions:
        texts = (" ".join(data[row["example_id"]][name]) for name in ("words", "words_b"))
        batch = tokenizer(*texts)
        assert max(batch["token_type_ids"]) == 1
        expected = plain_probabilities(model, batch["input_ids"], batch["token_type_ids"])
        np.testing.assert_allclose(row["probabilities"], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("method", "params"), [("gradient_x_input", {}), ("lime", {"num_samples": 30})]
)
def test_both_texts_are_explained_and_scored(folder, tmp_path, method, params):
    path = explain(folder, tmp_path / "x.parquet", method, params=params)
    size = len(AutoTokenizer.from_pretrained(inputs_of(folder)["checkpoint"]))
    for row in rows_of(path, "explanations"):
        assert sorted(set(row["word_ids"])) == [-1, *range(8)]
        second = np.asarray(row["word_ids"]) >= 5
        assert (np.asarray(row["token_ids"])[second] >= size).all()
        assert (np.asarray(row["scores"])[second] != 0).any()
    for metric in ("comprehensiveness", "rationale_auprc"):
        scores = rows_of(evaluate(folder, path, tmp_path / metric, metric), "scores")
        assert np.isfinite([row["score"] for row in scores]).all()
