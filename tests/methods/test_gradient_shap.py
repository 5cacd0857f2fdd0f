"""Gradient SHAP: a naive mean over the same draws, and what it estimates."""

import numpy as np
import pytest
from engine.exact import ExactModel

import exparity
from exparity.core.seeding import generator

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [1, 0]


@pytest.mark.reference
@pytest.mark.parametrize("baselines", ["padding", "vocabulary"])
def test_equals_a_naive_mean_over_the_same_draws(classifier, baselines):
    n_samples = 4
    found = exparity.explain(
        classifier, TEXTS, TARGETS, "gradient_shap", 5, n_samples=n_samples, baselines=baselines
    )
    exact = ExactModel(classifier)
    special = set(classifier.tokenizer.all_special_ids)
    words = [i for i in range(len(classifier.tokenizer)) if i not in special]
    for one in found:
        rng = generator(5, "explain", "gradient_shap", one.text)
        places = rng.random(n_samples)
        base = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        bases = [base.copy() for _ in range(n_samples)]
        if baselines == "vocabulary":
            drawn = rng.choice(words, (n_samples, int(one.content_mask.sum())))
            for own, tokens in zip(bases, drawn, strict=True):
                own[one.content_mask] = tokens
        x = exact.rows(one.token_ids)
        expected = np.zeros(len(x))
        for place, own in zip(places, bases, strict=True):
            start = exact.rows(own)
            gradient = exact.logit_gradient(start + place * (x - start), one.target)
            expected += ((x - start) * gradient).sum(-1).numpy() / n_samples
        np.testing.assert_allclose(one.scores, expected, rtol=1e-3, atol=1e-5)
        assert (one.scores[one.special_mask] == 0).all()


def test_baselines_hold_no_special_token(classifiers, monkeypatch):
    classifier = classifiers["bert"]
    seen = []
    inner = classifier.embed
    monkeypatch.setattr(
        classifier, "embed", lambda ids: (seen.append(np.array(ids)), inner(ids))[1]
    )
    exparity.explain(classifier, TEXTS[:1], [0], "gradient_shap", baselines="vocabulary")
    drawn = [ids for ids in seen if ids.ndim == 2]
    assert drawn
    special = classifier.tokenizer.all_special_ids
    for ids in drawn:
        assert np.isin(ids[:, [0, -1]], special).all()
        assert not np.isin(ids[:, 1:-1], special).any()
        assert (ids < len(classifier.tokenizer)).all()
