"""Limits of removal: one text at a time gives the same, and metrics are scored from them."""

import numpy as np
import pytest
from stages.cells import control, evaluate, examples_of, explain, inputs_of, rows_of
from stages.one_by_one import OneByOne
from support import CPU

from exparity import load_classifier
from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.methods import explain_encodings
from exparity.metrics.limits import passes_of
from exparity.quantities.limits import limits_by_example
from exparity.stages.controls import removal_limits_cell
from exparity.stages.explain import Choice
from exparity.types import Origin

DRAWS, STAGES, SEED = 3, 4, 3


def search(cell, output, **changes):
    options = {"draws": DRAWS, "stages": STAGES, "machine": CPU}
    removal_limits_cell(output=output, **inputs_of(cell), **{**options, **changes})
    return output


@pytest.fixture(scope="module")
def made(cell, tmp_path_factory):
    takes = {"kept": ["token", "word"], "removed": ["token", "word"]}
    return search(cell, tmp_path_factory.mktemp("limits") / "limits.parquet", takes=takes)


@pytest.fixture(scope="module")
def texts(cell):
    """The classifier, and by example its encoding and label."""
    classifier = load_classifier(cell / "mine" / "3", "cpu")
    examples = examples_of(cell)
    encodings = classifier.encode([example.words for example in examples.values()])
    return classifier, {
        id: (encoding, examples[id].label) for id, encoding in zip(examples, encodings, strict=True)
    }


@pytest.mark.bits
@pytest.mark.reference
@pytest.mark.sweep
@pytest.mark.parametrize("direction", ["removed", "kept"])
@pytest.mark.parametrize("unit", ["token", "word"])
def test_equals_one_text_after_the_other(cell, made, texts, direction, unit):
    classifier, known = texts
    read = limits_by_example(made, direction, unit)
    for example_id, (encoding, target) in list(known.items())[::18]:
        one = OneByOne(classifier, encoding, target, unit)
        n = len(one.content)
        random, reference = read(example_id)
        assert random.sizes.tolist() == list(range(direction == "removed", n + 1))
        for draw in range(DRAWS):
            seed = derive_seed(SEED, "negative_control", draw)
            origin = Origin("uniform_random", {"unit": unit}, seed, example_id)
            (drawn,) = explain_encodings(classifier, [encoding], np.array([target]), [origin])
            sums = [drawn.scores[sorted(places)].sum() for places in one.content]
            order = np.argsort(-np.array(sums)).tolist()
            expected = [one.fall(order[:size], direction) for size in random.sizes]
            found = list(zip(random.probability[draw], random.log_odds[draw], strict=True))
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        order = one.searched(STAGES, direction == "kept")
        expected = [one.fall(order[:size], direction) for size in reference.sizes]
        found = list(zip(reference.probability, reference.log_odds, strict=True))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.bits
def test_parts_of_a_sample_change_no_digit(cell, made, tmp_path, monkeypatch):
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 5)
    every = [row for row in rows_of(made, "removal_limits") if row["unit"] == "token"]
    few = rows_of(
        search(cell, tmp_path / "f.parquet", choice=Choice(max_examples=12)), "removal_limits"
    )
    ids = {row["example_id"] for row in few}
    assert len(ids) == 12
    assert few == [row for row in every if row["example_id"] in ids]


def test_one_direction(cell, tmp_path):
    output = tmp_path / "l.parquet"
    choice = Choice(max_examples=4)
    rows = rows_of(search(cell, output, takes={"kept": ["token"]}, choice=choice), "removal_limits")
    assert {row["direction"] for row in rows} == {"kept"}
    read = limits_by_example(output, "removed")
    with pytest.raises(InputError, match=r"has no limits for tokens removed of example"):
        read(rows[0]["example_id"])
    with pytest.raises(InputError, match=r"has no limits for words kept of example"):
        limits_by_example(output, "kept", "word")(rows[0]["example_id"])


VARIANTS = {
    "comprehensiveness": [
        {},
        {"average_over": "all", "thresholds": [0.1, 0.2, 1.0]},
        {"normalised": True, "only_positive": False},
        {"unit": "word"},
    ],
    "sufficiency": [{}, {"average_over": "all"}, {"normalised": True}, {"unit": "word"}],
}


@pytest.mark.reference
@pytest.mark.parametrize(
    ("metric", "params"),
    [(metric, params) for metric, every in VARIANTS.items() for params in every],
)
def test_scores_of_random_explanations_are_those_of_their_own_passes(
    cell, made, tmp_path, metric, params
):
    options = {"params": params, "draws": DRAWS}
    limits = {"read": [made], "run": None}
    outputs = [
        control(cell, tmp_path / name, metric, removal_limits=paths, **options)
        for name, paths in limits.items()
    ]
    read, run = (rows_of(output, "random_scores") for output in outputs)
    keys = ("example_id", "group", "match_id", "draw")
    assert [[row[key] for key in keys] for row in read] == [[row[k] for k in keys] for row in run]
    np.testing.assert_allclose(
        [row["score"] for row in read], [row["score"] for row in run], rtol=1e-12
    )
    assert read_artefact(outputs[0], "random_scores")[1]["device"] == "cpu"
    assert "falls" not in read[0]
    assert len(run[0]["falls"]) == len(run[0]["sizes"])


def test_thresholds_of_scores_run_the_model(cell, made, tmp_path):
    """Which tokens they take is none of an order."""
    options = {"removal_limits": [made], "params": {"based_on": "threshold", "thresholds": [0.05]}}
    output = control(cell, tmp_path / "r.parquet", "comprehensiveness", **options)
    rows = rows_of(output, "random_scores")
    assert {len(row["sizes"]) for row in rows} == {0, 1}


@pytest.fixture(scope="module")
def explanations(cell, tmp_path_factory):
    folder = tmp_path_factory.mktemp("falls")
    return explain(cell, folder / "e.parquet", use="integrated_gradients_x_input")


class TestFalls:
    """What scores are means of stands beside them."""

    @pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
    def test_falls_of_tokens_have_the_score_as_their_mean(
        self, cell, explanations, tmp_path, metric
    ):
        rows = rows_of(evaluate(cell, explanations, tmp_path / "s.parquet", metric), "scores")
        assert len({len(row["sizes"]) for row in rows}) > 1
        for row in rows:
            assert sorted(set(row["sizes"])) == row["sizes"]
            mean = np.mean(row["falls"]) if row["falls"] else float(metric == "sufficiency")
            assert row["score"] == pytest.approx(mean, abs=1e-12)
            # Log odds rise with the probability.
            rising = np.array(row["falls"])[np.argsort(row["falls_log_odds"])]
            assert (np.diff(rising) >= -1e-6).all()

    @pytest.mark.parametrize("metric", ["soft_comprehensiveness", "soft_sufficiency"])
    def test_falls_of_draws_have_the_score_as_their_mean(
        self, cell, explanations, tmp_path, metric
    ):
        rows = rows_of(evaluate(cell, explanations, tmp_path / "s.parquet", metric), "scores")
        assert any(fall < 0 for row in rows for fall in row["falls"])
        for row in rows:
            assert row["sizes"] == [0] * 10
            mean = np.maximum(row["falls"], 0).mean()
            expected = 1 - mean if metric == "soft_sufficiency" else mean
            assert row["score"] == pytest.approx(expected, abs=1e-12)


def test_the_rationale_itself_is_scored_as_a_reference(cell, tmp_path):
    output = control(cell, tmp_path / "r.parquet", "rationale_token_f1", params={"top_k": 3})
    examples = examples_of(cell)
    for row in rows_of(output, "random_scores"):
        relevant = sum(examples[row["example_id"]].rationale)
        taken = min(3, relevant)  # only words with a positive score
        assert row["reference"] == pytest.approx(2 * taken / (taken + relevant))


@pytest.mark.parametrize(
    ("n_weights", "share"), [(None, 1), (1 << 22, 1), (1 << 20, 4), (1000, 16)]
)
def test_a_part_of_a_small_model_has_more_passes(n_weights, share, cell, tmp_path, monkeypatch):
    passes = []

    def chunk_size(passes_of_example):
        passes.append(passes_of_example)
        return 256

    monkeypatch.setattr("exparity.jobs.parts.n_weights", lambda checkpoint: n_weights)
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", chunk_size)
    rows = rows_of(
        search(cell, tmp_path / "l.parquet", choice=Choice(max_examples=2)), "removal_limits"
    )
    examples = examples_of(cell)
    longest = max(len(examples[row["example_id"]].words) for row in rows)
    assert passes == [passes_of(2, longest, DRAWS, STAGES) // share]
