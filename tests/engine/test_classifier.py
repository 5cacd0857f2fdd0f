"""The engine: equal to the plain model, and the same alone and in any batch."""

import numpy as np
import pytest
import torch
from engine.exact import plain_probabilities
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import ids_of

from exparity import ExparityError, InputError, load_classifier
from exparity.engine.batching import in_batches, padded, plan_batches

TOLERANCE = 1e-5


@pytest.mark.reference
def test_probabilities_equal_the_plain_model(classifier, sentences):
    ids = ids_of(classifier, sentences)
    found = classifier.probabilities(ids)
    expected = np.array([plain_probabilities(classifier.model, i) for i in ids])
    np.testing.assert_allclose(found, expected, atol=TOLERANCE)
    assert np.ptp(found[:, 0]) > 0.01  # the texts do differ


def test_equal_sequences_run_once(classifier, sentences, monkeypatch):
    ids = ids_of(classifier, sentences[:2])
    seen = []
    inner = classifier.logits
    monkeypatch.setattr(classifier, "exact", False)  # where exact, tiny batches are filled up
    monkeypatch.setattr(
        classifier, "logits", lambda e, sizes: (seen.extend(sizes), inner(e, sizes))[1]
    )
    found = classifier.probabilities([ids[0], ids[1], ids[0]])
    assert len(seen) == 2
    assert (found[0] == found[2]).all()


def test_padding_token_in_the_text_is_content(classifier):
    """A text may hold the padding token; it counts as a token like any other."""
    ids = classifier.encode(["The girl sings ."])[0].token_ids
    longer = np.insert(ids, 2, classifier.pad_id)
    found = classifier.probabilities([longer, ids])
    assert abs(found[0] - found[1]).max() > 1e-4
    alone = classifier.probabilities([longer])
    np.testing.assert_allclose(found[0], alone[0], atol=TOLERANCE)


def gradients_of(classifier, ids, targets):
    inputs = [classifier.embed(i) for i in ids]
    lengths = [len(i) for i in ids]
    found = classifier.input_gradients(lengths, padded(inputs), np.array(targets))
    by_row = {row: gradient for row, gradient, _ in found}
    return [by_row[i] for i in range(len(ids))]


def test_mode_and_weights_are_restored_even_after_an_error(classifier, sentences, monkeypatch):
    ids = ids_of(classifier, sentences[:3])
    frozen = next(classifier.model.parameters()).requires_grad_(False)
    flags = [p.requires_grad for p in classifier.model.parameters()]
    classifier.model.train()
    try:
        classifier.probabilities(ids)
        gradients_of(classifier, ids, [0, 1, 0])
        assert classifier.model.training

        def broken(*_):
            raise RuntimeError("boom")

        monkeypatch.setattr(classifier, "logits", broken)
        with pytest.raises(RuntimeError, match="boom"):
            gradients_of(classifier, ids, [0, 1, 0])
        with pytest.raises(RuntimeError, match="boom"):
            classifier.probabilities(ids)
        assert classifier.model.training
        assert [p.requires_grad for p in classifier.model.parameters()] == flags
        assert all(p.grad is None for p in classifier.model.parameters())
    finally:
        frozen.requires_grad_(True)
        classifier.model.eval()


def test_a_call_after_one_that_ran_out_of_memory_need_not_fail_first(
    classifier, sentences, monkeypatch
):
    inner = classifier.logits

    def small_memory(embeddings, sizes):
        if embeddings.shape[0] * embeddings.shape[1] > 70:
            raise torch.OutOfMemoryError("no memory left")
        return inner(embeddings, sizes)

    monkeypatch.setattr(classifier, "token_budget", classifier.token_budget)
    monkeypatch.setattr(classifier, "exact", False)  # where exact, tiny batches are filled up
    monkeypatch.setattr(classifier, "logits", small_memory)
    classifier.probabilities(ids_of(classifier, sentences))
    assert classifier.token_budget <= 70


def test_out_of_memory_with_one_text_is_an_error():
    def run(_):
        raise torch.OutOfMemoryError("no memory left")

    with pytest.raises(torch.OutOfMemoryError):
        list(in_batches([5, 4], 10, run))


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 200))
def test_plan_covers_everything_once_within_budget(lengths, budget):
    batches = list(plan_batches(lengths, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"precision": "fp8"}, "precision: .*'fp8'"),
        ({"device": "gpu"}, "use auto, cpu, cuda"),
        ({"device": "cuda:77"}, "GPUs"),
        ({"max_length": 10_000}, "the model takes 1 to"),
    ],
)
def test_bad_arguments_are_named(checkpoints, arguments, message):
    with pytest.raises(InputError, match=message):
        load_classifier(checkpoints["bert"], **arguments)


def test_probabilities_that_are_no_numbers_are_an_error(checkpoints):
    classifier = load_classifier(checkpoints["bert"], "cpu")
    classifier.model.get_input_embeddings().weight.data[7] = float("inf")
    assert np.isfinite(classifier.probabilities([[2, 8, 3]])).all()
    with pytest.raises(ExparityError, match="probabilities that are not finite"):
        classifier.probabilities([[2, 8, 3], [2, 7, 3]])
