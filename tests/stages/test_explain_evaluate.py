"""The stages explain and evaluate: what they select, what they write, what they refuse."""

import shutil
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import roc_auc_score
from stages.cells import (
    compare,
    evaluate,
    examples_of,
    explain,
    facts_of,
    prepare_pairs,
    rows_of,
    with_column,
)

import exparity
from exparity import InputError
from exparity.data.table import read_prepared


def explained(cell, output, use="gradient", **changes):
    return rows_of(explain(cell, output, use, **changes), "explanations")


def evaluated(cell, explanations, output, use="gini", **changes):
    return rows_of(evaluate(cell, explanations, output, use, **changes), "scores")


def predictions_of(cell):
    rows = rows_of(cell / "predictions.parquet", "predictions")
    return {row["example_id"]: row for row in rows}


@pytest.mark.parametrize("target", ["label", "predicted"])
@pytest.mark.parametrize("examples", ["all", "correct"])
def test_examples_and_classes_are_those_that_are_asked_for(cell, tmp_path, target, examples):
    predicted = predictions_of(cell)
    right = {key for key, row in predicted.items() if row["label"] == row["predicted"]}
    rows = explained(cell, tmp_path / "x.parquet", target=target, examples=examples)
    assert {row["example_id"] for row in rows} == (right if examples == "correct" else {*predicted})
    assert all(row["target"] == predicted[row["example_id"]][target] for row in rows)


def test_artefacts_equal_the_python_functions(cell, tmp_path):
    rows = explained(cell, tmp_path / "x.parquet", use="gradient_x_input")
    examples = examples_of(cell)
    classifier = exparity.load_classifier(str(cell / "mine" / "3"), "cpu")
    found = exparity.explain(
        classifier,
        [examples[row["example_id"]].words for row in rows],
        [row["target"] for row in rows],
        method="gradient_x_input",
        seed=3,
    )
    for row, one in zip(rows, found, strict=True):
        np.testing.assert_allclose(row["scores"], one.scores, rtol=1e-5, atol=1e-7)
        assert row["tokens"] == list(one.tokens)
        assert row["word_ids"] == one.word_ids.tolist()
    for use in ("gini", "comprehensiveness"):
        scores = evaluated(cell, tmp_path / "x.parquet", tmp_path / f"{use}.parquet", use)
        expected = exparity.evaluate(classifier, found, use)
        np.testing.assert_allclose([row["score"] for row in scores], expected, atol=1e-6)


def test_samples_are_whole_pairs_and_scored_as_such(cell, tmp_path):
    rows = explained(cell, tmp_path / "x.parquet", max_examples=9)
    assert len(rows) == 8
    scores = evaluated(cell, tmp_path / "x.parquet", tmp_path / "s.parquet", max_examples=4)
    assert len({row["match_id"] for row in scores}) == 2
    assert sorted(row["group"] for row in scores) == ["female"] * 2 + ["male"] * 2
    assert {row["example_id"] for row in scores} <= {row["example_id"] for row in rows}


def test_texts_that_are_cut_are_counted_and_flagged(cell, tmp_path, monkeypatch):
    """What is cut off has a score of 0 beside the rationale, and the table of tests says so."""
    limit = 10
    loader = partial(exparity.load_classifier, max_length=limit)
    monkeypatch.setattr("exparity.engine.loading.load_classifier", loader)
    rows = {row["example_id"]: row for row in explained(cell, tmp_path / "x.parquet")}
    tokenizer = exparity.load_classifier(str(cell / "mine" / "3"), "cpu").tokenizer
    examples = examples_of(cell)
    seen = {}
    for id, example in examples.items():
        spans = tokenizer(example.text, return_offsets_mapping=True)["offset_mapping"][1:-1]
        *_, end = [stop for _, stop in spans[: limit - 2]]
        seen[id] = len(example.text[:end].split())
    cut = {id for id, example in examples.items() if seen[id] < len(example.words)}
    assert 0 < len(cut) < len(examples)
    assert facts_of(tmp_path / "x.parquet", "explanations")["n_truncated"] >= len(cut)

    scores = evaluated(cell, tmp_path / "x.parquet", tmp_path / "s.parquet", "rationale_roc_auc")
    facts = facts_of(tmp_path / "s.parquet", "scores")
    assert (facts["notes"], facts["flags"]) == ({"cut_texts": len(cut)}, ["cut_texts"])
    compare(cell, tmp_path / "s.parquet", tmp_path / "t.parquet")
    (test,) = rows_of(tmp_path / "t.parquet", "tests")
    assert "cut_texts" in test["flags"]
    for score in scores:
        row, example = rows[score["example_id"]], examples[score["example_id"]]
        words = np.zeros(len(example.words))
        for word, value in zip(row["word_ids"], row["scores"], strict=True):
            if word >= 0:
                words[word] += abs(value)
        assert score["score"] == pytest.approx(roc_auc_score(example.rationale, words))

    some = evaluated(cell, tmp_path / "x.parquet", tmp_path / "s.parquet", max_examples=6)
    facts = facts_of(tmp_path / "s.parquet", "scores")
    assert facts["notes"]["cut_texts"] == len(cut & {row["example_id"] for row in some})


def test_flags_travel_from_method_to_test(cell, tmp_path):
    params = {"n_steps": 3, "pooling": "sum"}
    explain(cell, tmp_path / "x.parquet", use="integrated_gradients", params=params)
    evaluate(cell, tmp_path / "x.parquet", tmp_path / "s.parquet")
    compare(cell, tmp_path / "s.parquet", tmp_path / "t.parquet")
    row = rows_of(tmp_path / "t.parquet", "tests")[0]
    assert row["flags"] == ["rounding_noise", "collapsed"]
    ids = {"dataset": "pairs", "model": "mine", "seed": 3, "metric": "gini"}
    assert ids.items() <= row.items()


def test_the_training_split_is_handed_to_methods_that_need_it(cell, tmp_path, monkeypatch):
    """A method that asks no model does not run it."""
    with monkeypatch.context() as patch:
        patch.setattr("exparity.engine.classifier.Classifier.logits", None)
        rows = explained(cell, tmp_path / "x.parquet", use="pattern_variant")
    learnt, examples = read_prepared(cell / "data.parquet").split("train"), examples_of(cell)
    found = exparity.explain(
        exparity.load_classifier(str(cell / "mine" / "3"), "cpu"),
        [examples[row["example_id"]].words for row in rows],
        [row["target"] for row in rows],
        "pattern_variant",
        training=([e.words for e in learnt], [e.label for e in learnt]),
    )
    for row, one in zip(rows, found, strict=True):
        np.testing.assert_allclose(row["scores"], one.scores, rtol=1e-6)
        assert any(row["scores"])


def test_what_does_not_fit_is_refused(cell, tmp_path):
    path, output = explain(cell, tmp_path / "x.parquet"), tmp_path / "y.parquet"
    other = tmp_path / "other"
    shutil.copytree(cell, other)
    data, predictions = other / "data.parquet", other / "predictions.parquet"
    with pytest.raises(InputError, match="runs the model; name its --checkpoint"):
        evaluate(cell, path, output, "sufficiency", checkpoint=None)
    labels = pq.read_table(predictions)["label"].to_pylist()
    with_column(predictions, predictions, "predicted", lambda i, _: 1 - labels[i])
    with pytest.raises(InputError, match="no test example is classified correctly"):
        explain(other, output, examples="correct")
    table = pq.read_table(data)
    pq.write_table(table.filter(pa.compute.equal(table["split"], "test")), data)
    with pytest.raises(InputError, match=r"data\.parquet: .*pattern_variant.*training split"):
        explain(other, output, use="pattern_variant")
    prepare_pairs(other, 30)
    with pytest.raises(InputError, match=r"data.parquet: has no example"):
        evaluate(other, path, output)
    assert not output.exists()
