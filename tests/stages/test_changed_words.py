"""A metric of the words that counterfactuals change: from the artefact to scores."""

import numpy as np
import pytest
from stages.cells import explain
from support import CPU

from exparity import InputError
from exparity.artefacts.files import read_artefact, write_artefact
from exparity.data.table import read_prepared
from exparity.stages.controls import negative_control_cell
from exparity.stages.evaluate import evaluate_cell

METRIC = {"use": "term_attribution", "params": {}, "metric_id": "terms"}


@pytest.fixture
def explanations(cell, tmp_path):
    return explain(cell, tmp_path / "x.parquet", "gradient_x_input")


def counterfactuals(data, path, change):
    """Write other words for the other group; ``change(i, words)`` gives them, None for none."""
    rows = []
    for i, example in enumerate(read_prepared(data, "test").examples):
        words = change(i, list(example.words))
        if words is not None:
            rows.append({
                "example_id": example.example_id, "split": "test", "group": example.group,
                "group_to": "female" if example.group == "male" else "male", "words": words,
                "n_changed": sum(a != b for a, b in zip(words, example.words, strict=True)),
            })  # fmt: skip
    write_artefact(path, "counterfactuals", rows, {"dataset": "pairs"}, parameters={})
    return path


def first_word(i, words):
    return None if i % 5 == 0 else words if i % 5 == 1 else ["X", *words[1:]]


def test_the_share_on_the_words_that_change(cell, explanations, tmp_path):
    data, output = cell / "data.parquet", tmp_path / "s.parquet"
    artefact = counterfactuals(data, tmp_path / "c.parquet", first_word)
    evaluate_cell(data, explanations, None, output, counterfactuals=[artefact], **METRIC)
    table, metadata = read_artefact(output, "scores")
    scores = dict(zip(*(table.column(n).to_pylist() for n in ("example_id", "score")), strict=True))
    made = read_artefact(artefact, "counterfactuals")[0].to_pylist()
    changed = {row["example_id"] for row in made if row["n_changed"]}
    explained = read_artefact(explanations, "explanations")[0].to_pylist()
    for row in explained:
        words = np.array(row["word_ids"])
        sizes = np.abs(np.array(row["scores"], dtype=float))
        expected = sizes[words == 0].sum() / sizes[words >= 0].sum()
        expected = expected if row["example_id"] in changed else np.nan
        assert scores[row["example_id"]] == pytest.approx(expected, nan_ok=True)
    assert metadata["notes"] == {"unchanged": len(explained) - len(changed)}
    assert 0 < len(changed) < len(explained)


def test_random_explanations_are_scored_on_the_same_words(cell, tmp_path):
    data, output = cell / "data.parquet", tmp_path / "r.parquet"
    artefact = counterfactuals(data, tmp_path / "c.parquet", first_word)
    negative_control_cell(
        data, cell / "mine" / "3", cell / "predictions.parquet", output, [artefact],
        **METRIC, draws=2, machine=CPU,
    )  # fmt: skip
    rows = read_artefact(output, "random_scores")[0].to_pylist()
    changed = {
        row["example_id"]
        for row in read_artefact(artefact, "counterfactuals")[0].to_pylist()
        if row["n_changed"]
    }
    assert {r["example_id"] for r in rows if r["score"] == r["score"]} == changed


def test_a_metric_of_changed_words_needs_counterfactuals(cell, explanations, tmp_path):
    with pytest.raises(InputError, match="name the artefact with --counterfactuals"):
        evaluate_cell(cell / "data.parquet", explanations, None, tmp_path / "s.parquet", **METRIC)
