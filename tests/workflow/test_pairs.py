"""A table of premises and hypotheses of the user's own, from the table to the report."""

import json

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import exparity

pytestmark = pytest.mark.workflow
ANIMALS = ("cat", "dog", "horse", "mouse", "bird", "fish")


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


def test_pairs_from_table_to_report(checkout):
    write_table(checkout.root / "nli.jsonl")
    columns = {"text": "premise", "text_b": "hypothesis", "label": "gold", "group": "size"}
    marks = {"rationale": "why", "rationale_b": "why_b"}
    checkout.configure(
        datasets={"nli": {"use": "table", "path": "nli.jsonl", **columns, **marks}},
        methods={"gradient_x_input": {}, "lime": {"num_samples": 30}},
        metrics={"comprehensiveness": {}, "rationale_auprc": {}},
    )
    checkout.snakemake()
    data = exparity.read_results(checkout.results, "data").set_index("example_id")
    assert data["words_b"].map(len).eq(3).all()
    assert (
        data["rationale"]
        .map(list)
        .eq(data["rationale"].map(lambda _: [0, 0, 1, 0, 0, 0, 1, 0]))
        .all()
    )
    folder = checkout.results / "models" / "nli" / "bert_tiny" / "0"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    predictions = exparity.read_results(checkout.results, "predictions")
    assert len(predictions)
    for row in predictions.itertuples():
        words, words_b = data.loc[row.example_id, ["words", "words_b"]]
        batch = tokenizer(" ".join(words), " ".join(words_b), return_tensors="pt")
        assert batch["token_type_ids"].max() == 1
        with torch.no_grad():
            expected = model(**batch).logits.softmax(-1)[0].numpy()
        np.testing.assert_allclose(row.probabilities, expected, atol=1e-5)
    explanations = exparity.read_results(checkout.results, "explanations")
    assert set(explanations["method"]) == {"gradient_x_input", "lime"}
    for row in explanations.itertuples():
        assert sorted(set(row.word_ids)) == [-1, *range(8)]
        second = np.asarray(row.word_ids) >= 5
        assert (np.asarray(row.token_ids)[second] >= len(tokenizer)).all()
        assert (np.asarray(row.scores)[second] != 0).any()
    scores = exparity.read_results(checkout.results, "scores")
    assert set(scores["metric"]) == {"comprehensiveness", "rationale_auprc"}
    assert scores["score"].notna().all()
    page = (checkout.results / "report" / "index.html").read_text()
    assert '"second": 5' in page or '"second":5' in page
    assert checkout.plan() == {}
