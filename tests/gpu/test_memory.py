"""Batches are as large as a GPU's memory allows, and a full one is met with smaller ones."""

import logging

import numpy as np
import pytest
from fake_cuda import fake_cuda

from exparity import load_classifier
from exparity.engine.batching import padded

pytestmark = pytest.mark.fake_cuda
ROOM = 1 << 40


@pytest.fixture
def ids(classifiers, sentences):
    """Token ids of 150 texts of many lengths."""
    texts = [" ".join(sentences[i : i + 3]) for i in range(len(sentences))]
    encoded = [e.token_ids for e in classifiers["bert"].encode(texts)]
    assert len({len(one) for one in encoded}) > 5
    return [encoded[i % len(encoded)] for i in range(150)]


def passes(classifier, ids):
    """Run forward passes and gradients of texts, each apart; return both."""
    rows = [classifier.embed(one) for one in ids]
    lengths = [len(row) for row in rows]
    outputs = classifier.forward(lengths, padded(rows))
    targets = np.zeros(len(rows), dtype=np.int64)
    found = {
        i: gradient.cpu().numpy()
        for i, gradient, _ in classifier.input_gradients(lengths, padded(rows), targets)
    }
    return outputs, [found[i] for i in range(len(rows))]


@pytest.fixture
def loaded(checkpoints):
    """A function that loads the BERT on a GPU of so many bytes beside its weights and texts."""

    def load(gpus, room):
        classifier = load_classifier(checkpoints["bert"], "cuda")
        gpus.memory = gpus.allocated[0] + room
        return classifier

    return load


def batch_sizes(classifier, monkeypatch):
    """Have a classifier note the padded tokens of each batch."""
    sizes, inner = [], classifier.logits

    def logits(rows, lengths):
        sizes.append(rows.shape[0] * rows.shape[1])
        return inner(rows, lengths)

    monkeypatch.setattr(classifier, "logits", logits)
    return sizes


def test_batches_fit_into_memory_from_the_first(classifiers, ids, loaded, monkeypatch, caplog):
    expected = passes(classifiers["bert"], ids)
    with fake_cuda() as gpus, caplog.at_level(logging.WARNING):
        classifier = loaded(gpus, ROOM)
        whole = batch_sizes(classifier, monkeypatch)
        passes(classifier, ids)
        gpus.peak[0] = before = gpus.allocated[0]
        passes(classifier, ids)
        needed = gpus.peak[0] - before

        tight = loaded(gpus, needed // 3)
        sizes = batch_sizes(tight, monkeypatch)
        found = passes(tight, ids)
    assert "out of memory" not in caplog.text
    assert max(sizes) < max(whole)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5)


def test_memory_that_others_took_meanwhile_halves_batches(ids, loaded, monkeypatch, caplog):
    with fake_cuda() as gpus:
        classifier = loaded(gpus, ROOM)
        expected = passes(classifier, ids)
        gpus.peak[0] = before = gpus.allocated[0]
        passes(classifier, ids)
        gpus.memory = before + (gpus.peak[0] - before) // 2
        found = passes(classifier, ids)
    assert "out of memory; continuing with" in caplog.text
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


def test_with_room_batches_are_the_same_whatever_is_free(ids, loaded, monkeypatch):
    sizes = []
    for room in (ROOM, 1 << 34):
        with fake_cuda() as gpus:
            classifier = loaded(gpus, room)
            sizes.append(batch_sizes(classifier, monkeypatch))
            passes(classifier, ids)
    assert sizes[0] == sizes[1]


def test_a_budget_that_a_user_gives_is_taken_from_the_first_batch(checkpoints, ids, monkeypatch):
    with fake_cuda():
        classifier = load_classifier(checkpoints["bert"], "cuda", token_budget=600)
        sizes = batch_sizes(classifier, monkeypatch)
        passes(classifier, ids)
    assert 500 < sizes[0] <= 600
