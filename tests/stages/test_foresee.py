"""Foresight: asked once a training, and equal in jobs, in parts and in Python."""

import errno

import numpy as np
import pytest
import torch
from stages.cells import control, evaluate, examples_of, explain, inputs_of, rows_of
from support import CPU
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import exparity
from exparity import InputError
from exparity.artefacts.seal import write_sealed
from exparity.core.errors import system_reason
from exparity.metrics.foresight import Design
from exparity.quantities.foresights import read_foresights
from exparity.stages import foresee as foresee_module
from exparity.stages.explain import Choice
from exparity.stages.foresee import foresee_cell

HALVES, FEW, ONE_BY_ONE = Design("word"), Design("token", 0.3, 20), Design("token", left_out=0)


def foresee(cell, output, design=HALVES, **changes):
    options = {"machine": CPU, **design._asdict(), **changes}
    foresee_cell(output=output, **inputs_of(cell), **options)
    return output


@pytest.fixture(scope="module")
def foresights(cell, tmp_path_factory):
    folder = tmp_path_factory.mktemp("foresight")
    return {
        design: foresee(cell, folder / f"{number}.parquet", design)
        for number, design in enumerate((HALVES, FEW, ONE_BY_ONE))
    }


@pytest.fixture(scope="module")
def foresight(foresights):
    return foresights[HALVES]


@pytest.fixture(scope="module")
def explanations(cell, tmp_path_factory):
    output = tmp_path_factory.mktemp("explained") / "gradient_x_input.parquet"
    return explain(cell, output, "gradient_x_input")


def scored(cell, explanations, output, foresight, metric="forward_simulation", **params):
    path = evaluate(
        cell, explanations, output, metric,
        params=params, checkpoint=None, foresight=[foresight],
    )  # fmt: skip
    return np.array([row["score"] for row in rows_of(path, "scores")])


@pytest.mark.bits
def test_parts_of_a_sample_change_no_digit(cell, foresight, tmp_path, monkeypatch):
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 5)
    whole = rows_of(foresight, "foresight")
    path = foresee(cell, tmp_path / "f.parquet", choice=Choice(max_examples=12))
    few = rows_of(path, "foresight")
    ids = {row["example_id"] for row in few}
    assert len(ids) == 12
    assert few == [row for row in whole if row["example_id"] in ids]


def test_a_full_disk_costs_the_part_that_it_does_not_take(cell, foresight, tmp_path, monkeypatch):
    monkeypatch.setattr("exparity.jobs.parts.chunk_size", lambda passes: 5)
    output = tmp_path / "full.parquet"
    asked: list[int] = []
    ask = foresee_module.foresights

    def counted(batch, design):
        asked.append(len(batch.keys))
        return ask(batch, design)

    def write_two(table, temporary, lineage):
        if len([*temporary.parent.glob("*.part")]) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(temporary))
        write_sealed(table, temporary, lineage)

    monkeypatch.setattr(foresee_module, "foresights", counted)
    with monkeypatch.context() as patch:
        patch.setattr("exparity.artefacts.files.write_sealed", write_two)
        with pytest.raises(OSError, match="No space left") as refused:
            foresee(cell, output)
    line = system_reason(refused.value)
    assert line.startswith(f"{output}.parts/")
    assert "make room and run again, what is finished is kept" in line
    before = sum(asked)
    rows = rows_of(foresee(cell, output), "foresight")
    assert rows == rows_of(foresight, "foresight")
    assert sum(asked) - before == len(rows) - 2 * 5


@pytest.mark.parametrize(
    ("design", "metric", "params"),
    [
        (HALVES, "forward_simulation", {}),
        (FEW, "forward_simulation", {**FEW._asdict(), "correlate": "spearman"}),
        (ONE_BY_ONE, "loo_correlation", {}),
    ],
    ids=["by default", "tokens", "one by one"],
)
def test_a_job_without_a_model_scores_as_python_does(
    cell, explanations, foresights, tmp_path, design, metric, params
):
    output = tmp_path / "scores.parquet"
    values = scored(cell, explanations, output, foresights[design], metric, **params)
    classifier = exparity.load_classifier(cell / "mine" / "3", "cpu")
    examples = examples_of(cell)
    rows = rows_of(explanations, "explanations")
    texts = [examples[row["example_id"]].words for row in rows]
    again = exparity.explain(
        classifier, texts, [row["target"] for row in rows], method="gradient_x_input"
    )
    expected = exparity.evaluate(classifier, again, metric, **params)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6)
    assert np.isfinite(values).any()


@pytest.mark.reference
def test_the_loop_that_writes_out_what_is_left_finds_the_same(
    cell, explanations, foresight, tmp_path
):
    """Words are left out of texts, which transformers' own tokenizer and model read."""
    folder = cell / "mine" / "3"
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval().double()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    examples = examples_of(cell)
    drawn = read_foresights(foresight, Design("word"))
    values = scored(cell, explanations, tmp_path / "scores.parquet", foresight)
    for row, value in zip(rows_of(explanations, "explanations"), values, strict=True):
        words = np.array(examples[row["example_id"]].words)
        target, foreseen = drawn[row["example_id"]]
        texts = [" ".join(words), *(" ".join(words[~part]) for part in foreseen.left_out)]
        with torch.no_grad():
            logits = model(**tokenizer(texts, padding=True, return_tensors="pt")).logits.numpy()
        contrasts = logits[:, target] - np.delete(logits, target, axis=1).mean(axis=1)
        falls = contrasts[0] - contrasts[1:]
        is_of_word = np.equal.outer(np.arange(len(words)), row["word_ids"])
        predicted = foreseen.left_out @ (is_of_word @ np.array(row["scores"]))
        np.testing.assert_allclose(foreseen.falls, falls, rtol=0, atol=1e-5)
        stored = np.corrcoef(predicted, foreseen.falls)[0, 1]
        assert value == pytest.approx(stored, rel=0, abs=1e-9)
        # What float32 adds to falls, beside what they differ by, is the processor's.
        error = np.linalg.norm(foreseen.falls - falls) / np.linalg.norm(falls - falls.mean())
        assert error < 2e-3
        correlation = np.corrcoef(predicted, falls)[0, 1]
        assert value == pytest.approx(correlation, rel=0, abs=1.01 * error)


def test_a_classifier_whose_units_go_one_by_one_is_asked_for_each_once(cell, foresights):
    """Falls are those in the target's probability, by transformers' own model."""
    model = AutoModelForSequenceClassification.from_pretrained(cell / "mine" / "3").eval().double()
    tokenizer = AutoTokenizer.from_pretrained(cell / "mine" / "3")
    drawn = read_foresights(foresights[ONE_BY_ONE], ONE_BY_ONE)
    for example in examples_of(cell).values():
        target, foreseen = drawn[example.example_id]
        ids = np.array(tokenizer(example.text)["input_ids"])
        places = range(1, len(ids) - 1)
        with torch.no_grad():
            sequences = [ids, *(np.delete(ids, place) for place in places)]
            logits = [model(torch.tensor(one[np.newaxis])).logits[0] for one in sequences]
        probabilities = torch.stack(logits).softmax(dim=1)[:, target].numpy()
        assert np.array_equal(foreseen.left_out, np.eye(len(places), dtype=bool))
        expected = probabilities[0] - probabilities[1:]
        np.testing.assert_allclose(foreseen.falls, expected, rtol=0, atol=1e-6)


def test_random_explanations_are_scored_by_the_same_draws_and_foresee_nothing(
    cell, foresight, tmp_path
):
    path = control(
        cell, tmp_path / "random.parquet", "forward_simulation", foresight=[foresight], draws=30
    )
    scores = np.array([row["score"] for row in rows_of(path, "random_scores")])
    assert abs(np.nanmean(scores)) < 3 * np.nanstd(scores) / np.sqrt(np.isfinite(scores).sum())


def test_draws_that_were_not_made_are_named(cell, explanations, foresight, tmp_path):
    with pytest.raises(InputError, match=r"has no draws of unit: word, left_out: 0.3"):
        scored(cell, explanations, tmp_path / "s.parquet", foresight, left_out=0.3)


def test_a_metric_without_the_artefact_asks_for_it(cell, explanations, tmp_path):
    with pytest.raises(InputError, match=r"name the classifier's --foresight"):
        evaluate(cell, explanations, tmp_path / "s.parquet", "forward_simulation", params={})


def test_explanations_of_another_class_are_refused(cell, explanations, tmp_path):
    other = foresee(cell, tmp_path / "o.parquet", choice=Choice(target="predicted"))
    by_id = {row["example_id"]: row["target"] for row in rows_of(explanations, "explanations")}
    foreseen = read_foresights(other, Design("word"))
    differing = [id for id, target in by_id.items() if foreseen[id][0] != target]
    assert differing  # the classifier is wrong for some
    with pytest.raises(InputError, match=r"is of class .* and the explanation of class"):
        scored(cell, explanations, tmp_path / "s.parquet", other)
