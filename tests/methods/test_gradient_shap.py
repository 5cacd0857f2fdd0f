"""Gradient SHAP: a naive mean over the same draws, and what it estimates."""

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from methods.toy import WIDTH, Layers, toy

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


@pytest.mark.reference
@pytest.mark.parametrize("baselines", ["padding", "vocabulary"])
def test_every_draw_is_complete_on_a_linear_model(classifiers, baselines):
    """There Σ s = f(x) − mean f(x′) over the drawn baselines: exactly so with padding."""
    classifier = toy(torch.nn.Linear(WIDTH, 2), classifiers["bert"].tokenizer)
    exact = ExactModel(classifier)
    found = exparity.explain(classifier, TEXTS, TARGETS, "gradient_shap", baselines=baselines)
    for one in found:
        base = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        change = exact.logit(exact.rows(one.token_ids), one.target) - exact.logit(
            exact.rows(base), one.target
        )
        gap = abs(one.scores.sum() - change)
        assert gap < 1e-4 if baselines == "padding" else gap > 1e-2


@pytest.mark.reference
def test_comes_close_to_integrated_gradients(classifiers):
    """With padding it is the same integral by chance: within 5 standard errors of 20 runs."""
    classifier = toy(Layers(torch.tanh), classifiers["bert"].tokenizer, scale=1.0)
    expected = exparity.explain(
        classifier, TEXTS[1:], [0], "integrated_gradients_x_input", n_steps=200
    )[0].scores
    runs = np.stack(
        [
            exparity.explain(classifier, TEXTS[1:], [0], "gradient_shap", seed, n_samples=50)[
                0
            ].scores
            for seed in range(20)
        ]
    )
    error = runs.std(0, ddof=1) / np.sqrt(len(runs))
    assert (np.abs(runs.mean(0) - expected) <= 5 * error + 1e-6).all()
    assert error.max() > 0


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
