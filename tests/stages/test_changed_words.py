"""A metric of the words that counterfactuals change: from the artefact to scores."""

import numpy as np
import pytest
from stages.cells import control, evaluate, explain, facts_of, rows_of, write_counterfactuals

from exparity import InputError


@pytest.fixture
def explanations(cell, tmp_path):
    return explain(cell, tmp_path / "x.parquet", "gradient_x_input")


def first_word(i, words):
    return None if i % 5 == 0 else words if i % 5 == 1 else ["X", *words[1:]]


@pytest.fixture
def artefact(cell, tmp_path):
    return write_counterfactuals(cell, tmp_path / "c.parquet", first_word)


@pytest.fixture
def changed(artefact):
    """The examples with a word that changes."""
    rows = rows_of(artefact, "counterfactuals")
    return {row["example_id"] for row in rows if row["n_changed"] and row["split"] == "test"}


def test_the_share_on_the_words_that_change(cell, explanations, artefact, changed, tmp_path):
    options = {"checkpoint": None, "counterfactuals": [artefact]}
    output = evaluate(cell, explanations, tmp_path / "s.parquet", "term_attribution", **options)
    scores = {row["example_id"]: row["score"] for row in rows_of(output, "scores")}
    explained = rows_of(explanations, "explanations")
    for row in explained:
        words = np.array(row["word_ids"])
        sizes = np.abs(np.array(row["scores"], dtype=float))
        expected = sizes[words == 0].sum() / sizes[words >= 0].sum()
        expected = expected if row["example_id"] in changed else np.nan
        assert scores[row["example_id"]] == pytest.approx(expected, nan_ok=True)
    assert facts_of(output, "scores")["notes"] == {"unchanged": len(explained) - len(changed)}
    assert 0 < len(changed) < len(explained)


def test_random_explanations_are_scored_on_the_same_words(cell, artefact, changed, tmp_path):
    options = {"counterfactuals": [artefact], "draws": 2}
    output = control(cell, tmp_path / "r.parquet", "term_attribution", **options)
    rows = rows_of(output, "random_scores")
    assert {r["example_id"] for r in rows if r["score"] == r["score"]} == changed


def test_a_metric_of_changed_words_needs_counterfactuals(cell, explanations, tmp_path):
    with pytest.raises(InputError, match="name the artefact with --counterfactuals"):
        evaluate(cell, explanations, tmp_path / "s.parquet", "term_attribution", checkpoint=None)
