"""Similarity to explanations of random weights: scipy, draws that texts share, and the control."""

import copy

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr

import exparity
from exparity.core.seeding import derive_seed

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour .", "He runs ."]
TARGETS = [0, 1, 1]


def drawn(classifier, draw, seed=0):
    return classifier.with_random_weights(derive_seed(seed, "evaluate", "random_weights", draw))


@pytest.mark.reference
@pytest.mark.parametrize("method", ["gradient", "lime"])
def test_equals_scipy_on_two_explanations(classifier, method):
    params = {"num_samples": 20} if method == "lime" else {}
    made = exparity.explain(classifier, TEXTS, TARGETS, method, **params)
    found = exparity.evaluate(classifier, made, "random_weights", draws=2)
    others = [
        exparity.explain(drawn(classifier, draw), TEXTS, TARGETS, method, **params)
        for draw in (0, 1)
    ]
    for index, one in enumerate(made):
        expected = []
        for of_draw in others:
            pair = [np.abs(e.scores[e.content_mask]) for e in (one, of_draw[index])]
            expected.append(spearmanr(*pair).statistic)
        assert found[index] == pytest.approx(np.mean(expected), abs=1e-12)


@pytest.mark.reference
def test_weights_are_those_of_the_architecture(classifier):
    original = {name: p.clone() for name, p in classifier.model.named_parameters()}
    state = torch.random.get_rng_state()
    made = classifier.with_random_weights(5)
    assert torch.equal(torch.random.get_rng_state(), state)
    torch.manual_seed(5)
    plain = type(classifier.model)(copy.deepcopy(classifier.model.config))
    torch.random.set_rng_state(state)
    for name, parameter in plain.named_parameters():
        assert torch.equal(dict(made.model.named_parameters())[name], parameter), name
    moved = [n for n, p in made.model.named_parameters() if not torch.equal(p, original[n])]
    assert any("embed" in n or "wte" in n for n in moved)
    for name, parameter in classifier.model.named_parameters():
        assert torch.equal(parameter, original[name])
    assert made.class_names == classifier.class_names
    assert made.max_length == classifier.max_length


@pytest.mark.property
def test_what_asks_no_model_is_wholly_alike(classifiers):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS, TARGETS, "uniform_random", unit="token")
    np.testing.assert_array_equal(exparity.evaluate(classifier, made, "random_weights"), 1.0)
