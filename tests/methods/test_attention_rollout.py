"""Attention rollout against transformers' own attention weights."""

import copy

import numpy as np
import pytest
import torch
from methods.toy import WIDTH, toy

import exparity
from exparity import InputError
from exparity.engine.classifier import load_classifier

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour .", "He runs ."]


def rolled_out(classifier, ids):
    """(t,) rollout by loops over the weights that transformers returns."""
    model = copy.deepcopy(classifier.model)
    model.set_attn_implementation("eager")
    rows = classifier.embed(ids)[None]
    with torch.no_grad():
        layers = model.base_model(inputs_embeds=rows, output_attentions=True).attentions
    product = np.eye(len(ids))
    for weights in layers:
        heads = weights[0].double().numpy()  # (heads, t, t)
        mean = sum(heads) / len(heads)
        layer = 0.5 * mean + 0.5 * np.eye(len(ids))
        product = (layer / layer.sum(1, keepdims=True)) @ product
    return product[-1 if classifier.model.config.model_type == "gpt2" else 0]


@pytest.mark.reference
def test_equals_the_weights_of_transformers(classifier):
    for one in exparity.explain(classifier, TEXTS, 1, "attention_rollout"):
        np.testing.assert_allclose(one.scores, rolled_out(classifier, one.token_ids), atol=1e-6)
        assert one.scores.sum() == pytest.approx(1, abs=1e-6)


@pytest.mark.property
def test_both_routes_of_attention_agree(classifier):
    model = copy.deepcopy(classifier.model)
    other = "sdpa" if model.config._attn_implementation == "eager" else "eager"
    model.set_attn_implementation(other)
    routes = (classifier, load_classifier((model, classifier.tokenizer), "cpu"))
    found = [exparity.explain(one, TEXTS, 1, "attention_rollout") for one in routes]
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one.scores, two.scores, atol=1e-6)


@pytest.mark.property
def test_every_class_has_the_same(classifier):
    found = [exparity.explain(classifier, TEXTS, y, "attention_rollout") for y in (0, 1)]
    for one, two in zip(*found, strict=True):
        np.testing.assert_array_equal(one.scores, two.scores)


def test_a_model_without_attention_is_refused(classifiers):
    classifier = toy(torch.nn.Linear(WIDTH, 2), classifiers["bert"].tokenizer)
    classifier.model.base_model = classifier.model
    with pytest.raises(InputError, match="no attention between its tokens"):
        exparity.explain(classifier, TEXTS, 1, "attention_rollout")
