"""LIME: its samples, the lime package's regression, and models in float64 on masked texts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lime.lime_base import LimeBase
from methods.games import Masked
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances

import exparity
from exparity.core.seeding import generator
from exparity.methods._words import words_of
from exparity.methods.lime import draw_masks, fit_lime

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]


@pytest.mark.reference
@given(st.integers(1, 9), st.integers(2, 40), st.sampled_from([0.1, 1.0]), st.integers(0, 99))
def test_the_regression_equals_the_lime_package(t, m, ridge, seed):
    rng = np.random.default_rng(seed)
    masks, values = draw_masks(t, m, rng), rng.random((m, 1))
    data = masks.astype(float)
    distances = 100 * pairwise_distances(data, data[:1], metric="cosine").ravel()
    peer = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / 25.0**2)), random_state=0)
    _, weights, _, _ = peer.explain_instance_with_data(
        data, values, distances, 0, t, "none", Ridge(alpha=ridge)
    )
    expected = [dict(weights)[token] for token in range(t)]
    np.testing.assert_allclose(fit_lime(masks, values[:, 0], 25.0, ridge), expected, atol=1e-12)


@pytest.mark.reference
def test_masked_texts_are_run_by_token_ids(classifier):
    for one in exparity.explain(classifier, [TEXTS[0], "he"], [1, 0], "lime", 4):
        rng = generator(4, "explain", "lime", one.text)
        masks = draw_masks(len(one), max(2, len(one) ** 2), rng)
        game = Masked(classifier, one, classifier.mask_id, range(len(one)))
        values = [game(np.flatnonzero(mask)) for mask in masks]
        expected = np.where(one.special_mask, 0, fit_lime(masks, np.array(values)))
        np.testing.assert_allclose(one.scores, expected, atol=1e-6)
        assert np.abs(expected).max() > 2e-5


@pytest.mark.reference
def test_words_are_removed_from_the_text_wherever_they_are(classifiers):
    """Texts of words that are left, tokenized anew; a word that is there twice counts once."""
    classifier, text = classifiers["bert"], "the girl sings near the harbour ."
    words = text.split()
    features = list(dict.fromkeys(words))
    (one,) = exparity.explain(classifier, text, 1, "lime_words", 7, num_samples=60)
    masks = draw_masks(len(features), 60, generator(7, "explain", "lime_words", text))
    texts = [" ".join(w for w in words if mask[features.index(w)]) for mask in masks]
    values = classifier.probabilities(classifier.tokenizer(texts)["input_ids"])[:, 1]
    expected = fit_lime(masks, values)[[features.index(word) for word in words]]
    sums = [one.scores[one.word_ids == word].sum() for word in range(len(words))]
    np.testing.assert_allclose(sums, expected, atol=1e-6)


def test_a_word_that_is_cut_off_comes_back_whole(classifiers):
    (encoding,) = classifiers["roberta"].encode(["harbour " * 80])
    assert encoding.truncated
    assert set(words_of(encoding).values()) == {"harbour"}


@pytest.mark.reference
def test_number_of_masked_tokens_is_uniform():
    """Sizes are uniform on 1…t, and tokens alike."""
    t, m = 5, 6001
    masks = draw_masks(t, m, np.random.default_rng(0))[1:]
    sizes = (~masks).sum(1)
    expected = (m - 1) / t
    error = np.sqrt(expected * (1 - 1 / t))
    for size in range(1, t + 1):
        assert abs((sizes == size).sum() - expected) < 4 * error
        chosen = masks[sizes == size]
        share = 1 - size / t
        spread = np.sqrt(share * (1 - share) / len(chosen))
        assert (np.abs(chosen.mean(0) - share) <= 4 * spread + 1e-12).all()
    assert (sizes > 0).all()


@pytest.mark.property
@given(st.integers(1, 12), st.integers(2, 60), st.integers(0, 99))
def test_masks_have_the_form_of_a_neighbourhood(t, m, seed):
    masks = draw_masks(t, m, np.random.default_rng(seed))
    assert masks.shape == (m, t)
    assert masks[0].all()
    assert not masks[1:].all(1).any()


def test_size_of_the_neighbourhood(classifiers, monkeypatch):
    """t² masks of a text of t tokens, at most 5000, unless a number is given."""
    import exparity.methods.lime as module

    seen = []
    inner = module.draw_masks
    monkeypatch.setattr(
        module, "draw_masks", lambda t, m, *rest: (seen.append((t, m)), inner(t, m, *rest))[1]
    )
    a, b = (len(e) for e in classifiers["bert"].encode(TEXTS))
    exparity.explain(classifiers["bert"], TEXTS, [0, 1], "lime")
    exparity.explain(classifiers["bert"], TEXTS, [0, 1], "lime", num_samples=7)
    monkeypatch.setattr(module, "_MOST_SAMPLES", 30)
    exparity.explain(classifiers["bert"], TEXTS, [0, 1], "lime")
    assert seen == [(a, a * a), (b, b * b), (a, 7), (b, 7), (a, min(a * a, 30)), (b, 30)]
