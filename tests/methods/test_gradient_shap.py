"""Gradient SHAP: a naive mean over the same draws, and what it estimates."""

import numpy as np
import pytest
from engine.exact import ExactModel

import exparity
from exparity.core.seeding import generator

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [1, 0]


@pytest.mark.reference
def test_equals_a_naive_mean_over_the_same_draws(classifier):
    n_samples = 4
    found = exparity.explain(classifier, TEXTS, TARGETS, "gradient_shap", 5, n_samples=n_samples)
    exact = ExactModel(classifier)
    for one in found:
        rng = generator(5, "explain", "gradient_shap", one.text)
        places = rng.random(n_samples)
        base = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        start = exact.rows(base)
        x = exact.rows(one.token_ids)
        expected = np.zeros(len(x))
        for place in places:
            gradient = exact.logit_gradient(start + place * (x - start), one.target)
            expected += ((x - start) * gradient).sum(-1).numpy() / n_samples
        np.testing.assert_allclose(one.scores, expected, rtol=1e-3, atol=1e-5)
        assert (one.scores[one.special_mask] == 0).all()
