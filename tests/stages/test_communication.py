"""Communication in jobs: as in Python, with random words and the whole text as its controls."""

import numpy as np
import pytest
from stages.cells import (
    control,
    evaluate,
    examples_of,
    explain,
    inputs_of,
    rows_of,
    with_column,
)

import exparity
from exparity import InputError
from exparity.artefacts.files import read_artefact
from exparity.metrics import Cohort, evaluate_keyed
from exparity.quantities.limits import RemovalLimits
from exparity.quantities.random_scores import RandomScores
from exparity.quantities.skill import quantities_of
from exparity.stages.explain import Choice

PREDICTED = Choice(target="predicted")


@pytest.fixture(scope="module")
def predictions(cell, tmp_path_factory):
    """Those of a classifier that is right but for every ninth text."""
    source = inputs_of(cell)["predictions"]
    labels = [row["label"] for row in rows_of(source, "predictions")]
    output = tmp_path_factory.mktemp("predicted") / "predictions.parquet"
    return with_column(
        source, output, "predicted", lambda i, _: labels[i] if i % 9 else 1 - labels[i]
    )


@pytest.fixture(scope="module")
def explanations(cell, predictions, tmp_path_factory):
    output = tmp_path_factory.mktemp("explained") / "gradient_x_input.parquet"
    return explain(cell, output, "gradient_x_input", target="predicted", predictions=predictions)


def scored(cell, explanations, output, predictions, **changes):
    options = {"checkpoint": None, "predictions": predictions and [predictions], **changes}
    return evaluate(cell, explanations, output, "communication", **options)


def random_of(cell, output, predictions, **changes):
    options = {"draws": 3, "choice": PREDICTED, **changes}
    return control(cell, output, "communication", predictions=predictions, **options)


def scores_in(path, artefact="scores"):
    return np.array([row["score"] for row in rows_of(path, artefact)])


def cohort_of(cell, rows, predictions):
    examples = examples_of(cell)
    predicted = {row["example_id"]: row["predicted"] for row in rows_of(predictions, "predictions")}
    own = [examples[row["example_id"]] for row in rows]
    decisions = [predicted[example.example_id] for example in own]
    return Cohort(decisions, [example.match_id for example in own], [e.group for e in own])


@pytest.mark.parametrize("params", [{}, {"share": 0.5, "score": "probability"}])
def test_a_job_scores_all_texts_at_once_as_python_does(
    cell, explanations, predictions, tmp_path, params, monkeypatch
):
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 5)
    values = scores_in(
        scored(cell, explanations, tmp_path / "s.parquet", predictions, params=params)
    )
    rows = rows_of(explanations, "explanations")
    examples = examples_of(cell)
    classifier = exparity.load_classifier(cell / "mine" / "3", "cpu")
    again = exparity.explain(
        classifier,
        [examples[row["example_id"]].words for row in rows],
        [row["target"] for row in rows],
        method="gradient_x_input",
    )
    keys = [row["example_id"] for row in rows]
    cohort = cohort_of(cell, rows, predictions)
    expected = evaluate_keyed(None, again, keys, "communication", 3, params, cohort=cohort)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)
    assert np.isfinite(values).all()


def test_another_class_than_the_decision_is_left_out(cell, predictions, tmp_path):
    path = explain(cell, tmp_path / "e.parquet", "gradient_x_input", target="label")
    values = scores_in(scored(cell, path, tmp_path / "s.parquet", predictions))
    rows = rows_of(path, "explanations")
    decisions = cohort_of(cell, rows, predictions).decisions
    other = [row["target"] != decision for row, decision in zip(rows, decisions, strict=True)]
    assert np.isnan(values).tolist() == other


def test_the_whole_text_is_the_reference_of_random_words(cell, predictions, tmp_path):
    path = random_of(cell, tmp_path / "r.parquet", predictions)
    rows = rows_of(path, "random_scores")
    of_draws = [[row for row in rows if row["draw"] == draw] for draw in range(3)]
    references = [[row["reference"] for row in own] for own in of_draws]
    assert references[0] == references[1] == references[2]
    whole = random_of(cell, tmp_path / "w.parquet", predictions, params={"share": 1.0}, draws=1)
    assert scores_in(whole, "random_scores").tolist() == references[0]
    drawn = [[row["score"] for row in own] for own in of_draws]
    assert drawn[0] != drawn[1]


def test_more_draws_change_no_digit_of_the_first(cell, predictions, tmp_path):
    first = []
    for draws in (1, 2):
        path = random_of(cell, tmp_path / f"{draws}.parquet", predictions, draws=draws)
        rows = rows_of(path, "random_scores")
        first.append({row["example_id"]: row["score"] for row in rows if row["draw"] == 0})
    assert first[0] == first[1]
    assert set(first[0].values()) == {0.0, 1.0}


def test_there_is_skill_of_the_texts_of_the_control_alone(
    cell, explanations, predictions, tmp_path
):
    random = RandomScores.read(random_of(cell, tmp_path / "r.parquet", predictions))
    for size, quantities in ((None, ["score", "excess", "skill"]), (6, ["score"])):
        path = scored(
            cell,
            explanations,
            tmp_path / f"{size}.parquet",
            predictions,
            max_examples=size,
        )
        table, metadata = read_artefact(path, "scores")
        compared = quantities_of(table, metadata, random, RemovalLimits([]))
        assert [*compared] == quantities
        ways = {*compared["skill"].steps} if "skill" in compared else set()
        assert ways == ({"score", "ideal"} if "skill" in quantities else set())


def test_a_metric_without_the_predictions_asks_for_them(cell, explanations, tmp_path):
    with pytest.raises(InputError, match=r"communication: name the classifier's --predictions"):
        scored(cell, explanations, tmp_path / "s.parquet", None)
