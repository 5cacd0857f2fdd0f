"""Shortcuts leave work out, and change nothing but rounding."""

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

import exparity
from exparity import InputError, load_classifier
from exparity.engine.masking import MaskedTexts
from exparity.engine.shortcuts import check_family


@pytest.fixture
def quick(request, checkpoints, classifier):
    return load_classifier(checkpoints[classifier.model.config.model_type], "cpu", shortcuts=True)


@pytest.mark.parametrize("exact", [True, False], ids=["equal lengths", "padded"])
def test_probabilities_are_those_without(classifier, quick, sentences, exact, monkeypatch):
    monkeypatch.setattr(quick, "exact", exact)
    ids = [e.token_ids for e in classifier.encode(sentences)]
    np.testing.assert_allclose(quick.probabilities(ids), classifier.probabilities(ids), atol=1e-6)


def test_an_unknown_family_is_refused(classifier, monkeypatch):
    monkeypatch.setattr(classifier.model.config, "model_type", "deberta", raising=False)
    with pytest.raises(InputError, match=r"shortcuts: not available for models of type 'deberta'"):
        check_family(classifier.model)


class _OwnHead(BertForSequenceClassification):
    """A classifier whose head may read what it likes."""


def test_an_encoder_with_code_of_its_own_is_refused(checkpoints):
    model = _OwnHead.from_pretrained(checkpoints["bert"])
    with pytest.raises(InputError, match=r"not available for models of class _OwnHead, only for"):
        check_family(model)


@pytest.mark.parametrize("method", ["gradient", "integrated_gradients", "lime", "shap"])
def test_explanations_are_those_without(classifier, quick, sentences, method):
    options = {"lime": {"num_samples": 60}, "shap": {"max_evals": 60}}.get(method, {})
    targets = [0] * len(sentences)
    slow = exparity.explain(classifier, sentences, targets, method, **options)
    fast = exparity.explain(quick, sentences, targets, method, **options)
    for one, other in zip(slow, fast, strict=True):
        np.testing.assert_allclose(other.scores, one.scores, atol=2e-5)


def test_masked_texts_have_the_same_bits_in_any_company(quick, sentences):
    together = exparity.explain(quick, sentences, [0] * len(sentences), "lime", num_samples=40)
    for sentence, among in zip(sentences, together, strict=True):
        (alone,) = exparity.explain(quick, [sentence], [0], "lime", num_samples=40)
        assert np.array_equal(alone.scores, among.scores)


def test_what_is_written_over_is_nobody_elses(quick, sentences):
    """Sums and activations are made in place: neither inputs nor weights may change."""
    rows = [quick.embed(encoding.token_ids) for encoding in quick.encode(sentences[:1])]
    batch = torch.stack(rows)
    before = batch.clone()
    with quick.evaluating(), torch.inference_mode():
        once = quick.logits(batch, [batch.shape[1]])
        again = quick.logits(batch, [batch.shape[1]])
    assert torch.equal(batch, before)
    assert torch.equal(once, again)


def test_what_is_looked_up_is_not_built_as_well(quick, sentences, monkeypatch):
    """Inputs that nobody reads may be anything: with a twin in fp32, they are built."""
    rows = [quick.embed(encoding.token_ids) for encoding in quick.encode(sentences)]
    masked = MaskedTexts(quick, rows)
    owners = np.repeat(np.arange(len(rows)), 5)
    masks = [np.random.default_rng(i).random(len(rows[o])) < 0.5 for i, o in enumerate(owners)]
    found = masked.probabilities(owners, masks)
    monkeypatch.setattr(quick, "fp32_twin", quick)
    assert np.array_equal(found, masked.probabilities(owners, masks))


def test_masked_texts_that_leave_the_range_of_fp16_are_run_in_fp32(quick, sentences, monkeypatch):
    options = {"num_samples": 20}
    targets = [0] * len(sentences)
    expected = exparity.explain(quick, sentences, targets, "lime", **options)
    half = quick.in_fp16()
    probabilities = half.head.probabilities

    def out_of_range(model, logits):
        found = probabilities(model, logits)
        return found * torch.nan if model is half.model else found

    monkeypatch.setattr(half, "is_compared", True)
    monkeypatch.setattr(half.head, "probabilities", out_of_range)
    found = exparity.explain(half, sentences, targets, "lime", **options)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(other.scores, one.scores, atol=1e-3)
