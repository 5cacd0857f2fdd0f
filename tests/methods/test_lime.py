"""LIME: its samples, and its regression against a closed form in float64."""

import numpy as np
import pytest
from engine.exact import ExactModel
from hypothesis import given
from hypothesis import strategies as st

import exparity
from exparity.core.seeding import generator
from exparity.methods.lime import draw_masks

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]


def naive_ridge(masks, values, kernel_width, ridge=1.0):
    """Minimise Σ π (y − z·w − b)² + λ‖w‖², with b free: the normal equations of (w, b)."""
    weights = []
    for mask in masks:
        kept, total = sum(mask), len(mask)
        cosine = kept / np.sqrt(kept * total) if kept else 0.0  # of 0/1 vectors with all ones
        distance = 100 * (1 - cosine)
        weights.append(np.sqrt(np.exp(-(distance**2) / kernel_width**2)))
    size = len(masks[0]) + 1
    left, right = np.zeros((size, size)), np.zeros(size)
    for mask, value, weight in zip(masks, values, weights, strict=True):
        row = np.array([*mask, 1], dtype=float)
        left += weight * np.outer(row, row)
        right += weight * value * row
    left[: size - 1, : size - 1] += ridge * np.eye(size - 1)
    return np.linalg.solve(left, right)[:-1]


@pytest.mark.reference
@pytest.mark.parametrize("ridge", [1.0, 0.1])
def test_equals_the_closed_form(classifier, ridge):
    options = {"num_samples": 40, "kernel_width": 30.0, "ridge": ridge}
    found = exparity.explain(classifier, TEXTS, [1, 0], method="lime", seed=4, **options)
    exact = ExactModel(classifier)
    for one in found:
        draws = generator(4, "explain", "lime", one.text)
        masks = draw_masks(len(one.token_ids), 40, draws)
        values = [
            exact.probability(
                exact.rows([i if keep else classifier.mask_id for i, keep in zip(ids, m)]),  # noqa: B905
                one.target,
            )
            for m in masks.tolist()
            for ids in [one.token_ids.tolist()]
        ]
        expected = naive_ridge(masks.astype(int).tolist(), values, 30.0, ridge)
        expected[one.special_mask] = 0
        np.testing.assert_allclose(one.scores, expected, atol=1e-5)
        assert np.ptp(expected) > 1e-3


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
    """t² masks of a text of t tokens, at most max_samples; num_samples overrides both."""
    import exparity.methods.lime as module

    seen = []
    inner = module.draw_masks
    monkeypatch.setattr(
        module, "draw_masks", lambda t, m, *rest: (seen.append((t, m)), inner(t, m, *rest))[1]
    )
    for options in ({}, {"max_samples": 30}, {"num_samples": 7, "max_samples": 5}):
        exparity.explain(classifiers["bert"], TEXTS, [0, 1], method="lime", **options)
    (a, b) = (len(e) for e in classifiers["bert"].encode(TEXTS))
    given = [(a, min(a * a, 30)), (b, 30), (a, 7), (b, 7)]
    assert seen == [(a, a * a), (b, b * b), *given]
