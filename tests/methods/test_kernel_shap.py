"""Kernel SHAP: exact Shapley values from all coalitions, and what few of them still give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods.games import Masked, shapley

import exparity
from exparity.methods.kernel_shap import draw_coalitions, shapley_values


@pytest.mark.reference
def test_all_coalitions_give_exact_shapley_values(classifier):
    for text, target in (("She sings .", 0), ("he", 1)):
        (encoding,) = classifier.encode([text])
        fewest = max(4, 2 ** int((~encoding.special_mask).sum()))
        (one,) = exparity.explain(classifier, text, target, "kernel_shap", n_samples=fewest)
        content = np.flatnonzero(one.content_mask)
        player_of = np.where(one.content_mask, np.cumsum(one.content_mask) - 1, -1)
        game = Masked(classifier, one, classifier.pad_id, player_of)
        expected = np.zeros(len(one))
        expected[content] = shapley(game, len(content))
        np.testing.assert_allclose(one.scores, expected, atol=1e-5)


@pytest.mark.reference
@pytest.mark.parametrize("n_players", [2, 5, 7])
def test_the_regression_equals_shap_on_all_coalitions(n_players):
    from shap import KernelExplainer

    rng = np.random.default_rng(n_players)
    weights, pairs = rng.normal(size=n_players), rng.normal(size=(n_players, n_players))

    def game(z):
        return z @ weights + ((z @ pairs) * z).sum(1)

    peer = KernelExplainer(game, np.zeros((1, n_players)))
    expected = peer.shap_values(np.ones(n_players), nsamples=1000, l1_reg=False, silent=True)
    coalitions, kernel = draw_coalitions(n_players, 1000, rng)
    assert len(coalitions) == 2**n_players - 2
    values = game(coalitions.astype(float))
    found = shapley_values(coalitions, kernel, values, 0.0, float(game(np.ones((1, n_players)))[0]))
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.property
@given(st.integers(2, 40), st.integers(0, 80), st.integers(0, 99))
def test_additive_games_are_recovered_from_enough_coalitions(n_players, more, seed):
    """Each player is worth what it adds, as soon as coalitions span the players."""
    rng = np.random.default_rng(seed)
    coalitions, weights = draw_coalitions(n_players, n_players + more, rng)
    worth = rng.normal(size=n_players)
    found = shapley_values(coalitions, weights, 0.3 + coalitions @ worth, 0.3, 0.3 + worth.sum())
    assert found.sum() == pytest.approx(worth.sum(), abs=1e-9)
    centred = coalitions - coalitions.mean(1, keepdims=True)
    if np.linalg.matrix_rank(centred) == n_players - 1:
        np.testing.assert_allclose(found, worth, atol=1e-8)
    else:  # of all that fit, the one next to even shares
        assert np.linalg.norm(found - found.mean()) <= np.linalg.norm(worth - worth.mean()) + 1e-9


@pytest.mark.property
def test_coalitions_follow_the_shapley_kernel():
    p, m = 12, 4000
    drawn, weights = draw_coalitions(p, m, np.random.default_rng(0))
    assert drawn.shape == (m, p)
    assert (weights == 1).all()
    assert (drawn[0::2] == ~drawn[1::2]).all()
    sizes = drawn.sum(1)
    assert sizes.min() >= 1
    assert sizes.max() <= p - 1
    likelihood = np.array([1 / (s * (p - s)) for s in range(1, p)])
    likelihood /= likelihood.sum()
    for size in range(1, p):
        expected = m * likelihood[size - 1]
        # A pair is two dependent draws: half as many independent ones.
        assert abs((sizes == size).sum() - expected) < 4 * np.sqrt(2 * expected)
        members = drawn[sizes == size]
        spread = np.sqrt(size / p * (1 - size / p) / len(members))
        assert (np.abs(members.mean(0) - size / p) <= 5 * spread).all()
