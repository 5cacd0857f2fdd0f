"""In float16, passes are close to fp32's, and what is not runs in fp32."""

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from methods.training import scores_of
from stages.cells import evaluate, explain, prepare_pairs, train
from tiny_models import ids_of

import exparity
from exparity.core.device import Inference
from exparity.engine import classifier as engine

# SHAP with few evaluations may split other branches in fp16.
QUICK = {"lime": {"num_samples": 40}, "shap": {"max_evals": 1000}, "occlusion": {}}


@pytest.fixture(scope="module")
def pair(trained):
    """The trained classifier in fp32 and in fp16, and some texts and targets."""
    exact, texts, targets = trained
    half = exact.in_fp16()
    assert half.model.dtype == torch.float16
    assert exact.model.dtype == torch.float32
    assert not half.needs_fp32(ids_of(half, texts[:6])).any()
    return exact, half, texts[:6], targets[:6]


@pytest.fixture
def bound(pair, monkeypatch):
    """Refuses fp16 for about half of the texts; returns which."""
    exact, _, texts, _ = pair
    half = exact.in_fp16()
    ids = ids_of(half, texts)
    rows = [half.embed(i) for i in ids]
    gaps = []
    for row in rows:
        ours = half.logits(row[None], [len(row)]), exact.logits(row[None].float(), [len(row)])
        gaps.append(float((ours[0] - ours[1]).abs().max().detach()))
    monkeypatch.setattr(engine, "HALF_BOUND", float(np.median(gaps)))
    refused = half.needs_fp32(ids)
    assert 0 < refused.sum() < len(refused)
    return half, refused


@pytest.mark.parametrize("method", QUICK)
def test_perturbations_in_fp16_are_close_to_fp32(pair, method):
    exact, half, *texts_and_targets = pair
    texts, targets = (each[:2] for each in texts_and_targets)
    found = [exparity.explain(c, texts, targets, method, **QUICK[method]) for c in (exact, half)]
    for one, other in zip(*found, strict=True):
        assert not np.array_equal(one.scores, other.scores)
        np.testing.assert_allclose(other.scores, one.scores, atol=0.01)
    for metric in ("comprehensiveness", "soft_sufficiency"):
        values = [exparity.evaluate(c, found[0], metric) for c in (exact, half)]
        np.testing.assert_allclose(values[1], values[0], atol=0.01)


@pytest.mark.bits
@pytest.mark.parametrize("method", ["gradient_x_input", "guided_backprop", "deeplift"])
def test_gradients_are_those_of_fp32(pair, method):
    exact, half, *texts_and_targets = pair
    texts, targets = (each[:3] for each in texts_and_targets)
    found = [exparity.explain(c, texts, targets, method) for c in (exact, half)]
    np.testing.assert_array_equal(*map(scores_of, found))
    values = [exparity.evaluate(c, found[0], "sensitivity", steps=2) for c in (exact, half)]
    np.testing.assert_allclose(values[1], values[0], rtol=0.02)  # copies are rounded to fp16


def test_an_ascent_climbs_a_certain_prediction(pair):
    """In float16 the gradient of its loss would be zero."""
    exact, half, texts, targets = pair
    found = exparity.explain(half, texts, targets, "lime", num_samples=40)
    assert (exparity.evaluate(half, found, "sensitivity", steps=2) > 0).all()
    flips = [exparity.evaluate(c, found, "flip_sensitivity", max_tokens=2) for c in (exact, half)]
    np.testing.assert_allclose(flips[1], flips[0], rtol=0.05)


@pytest.mark.bits
@pytest.mark.parametrize(("method", "few"), [("lime", QUICK["lime"]), ("shap", {"max_evals": 60})])
def test_texts_that_leave_the_bound_run_in_fp32(pair, bound, method, few):
    exact, _, texts, targets = pair
    half, refused = bound
    mixed = exparity.explain(half, texts, targets, method, **few)
    whole = exparity.explain(exact, texts, targets, method, **few)
    for one, other, alone in zip(mixed, whole, refused, strict=True):
        assert np.array_equal(one.scores, other.scores) == alone
    scores = [exparity.evaluate(c, whole, "comprehensiveness") for c in (half, exact)]
    np.testing.assert_array_equal((scores[0] == scores[1])[refused], True)
    # An adaptive method is asked about copies with their text, wherever that runs.
    moved = [exparity.evaluate(c, whole, "sensitivity", steps=2) for c in (half, exact)]
    np.testing.assert_array_equal((moved[0] == moved[1])[refused], True)
    assert half.refusals["texts_in_fp32"] == refused.sum()


@pytest.mark.bits
def test_a_model_beyond_the_range_runs_in_fp32(pair):
    exact, _, texts, targets = pair
    large = exact._like(exact.in_fp16().model.float())
    with torch.no_grad():
        large.model.bert.encoder.layer[0].intermediate.dense.weight.mul_(1e5)
    half = large.in_fp16()
    found = [exparity.explain(c, texts, targets, "occlusion") for c in (large, half)]
    np.testing.assert_array_equal(*map(scores_of, found))
    assert half.refusals["texts_in_fp32"] == len(set(texts))


def test_a_pass_that_is_not_finite_is_made_again_in_fp32(pair, monkeypatch):
    exact, _, texts, targets = pair
    half = exact.in_fp16()
    absent, whole, asked = half.embed([half.mask_id])[0], half.logits, []

    def overflowing(embeddings, lengths):
        masked = (embeddings == absent).all(-1).any(-1)
        asked.append(int(masked.sum()))
        return whole(embeddings, lengths).masked_fill(masked[:, None], float("inf"))

    monkeypatch.setattr(half, "logits", overflowing)
    found = [exparity.explain(c, texts, targets, "lime", num_samples=40) for c in (exact, half)]
    np.testing.assert_allclose(*map(scores_of, found), atol=0.01)
    assert half.refusals["passes_in_fp32"] == sum(asked) > 100


def test_random_weights_are_in_fp16_as_well(pair):
    exact, half, texts, _ = pair
    ids = ids_of(half, texts)
    ours, theirs = half.with_random_weights(3), exact.with_random_weights(3)
    assert ours.fp32_twin is not None
    assert ours.model.dtype == torch.float16
    np.testing.assert_allclose(ours.probabilities(ids), theirs.probabilities(ids), atol=0.01)


@pytest.mark.bits
def test_jobs_count_what_ran_in_fp32(tmp_path, monkeypatch):
    """With a bound of zero every text does, and scores are those of fp32."""
    monkeypatch.setattr(engine, "HALF_BOUND", 0.0)
    prepare_pairs(tmp_path, 30)
    train(tmp_path, epochs=1, learning_rate=0.003)
    tables, notes = [], []
    for precision in ("fp32", "fp16"):
        machine = Inference(device="cpu", precision=precision)
        lime = explain(tmp_path, tmp_path / "e", "lime", params={"num_samples": 9}, machine=machine)
        scored = evaluate(tmp_path, lime, tmp_path / "s", "comprehensiveness", machine=machine)
        tables += [pq.read_table(path) for path in (lime, scored)]
        notes += [table.schema.metadata.get(b"exparity.notes") for table in tables[-2:]]
    n = len(tables[0])
    assert notes[:2] == [None, None]
    assert notes[2:] == [b'{"texts_in_fp32": %d}' % n] * 2
    assert tables[2].equals(tables[0])
    assert tables[3].equals(tables[1])
