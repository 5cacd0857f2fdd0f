"""Soft erasure against a loop in float64 with the same draws."""

import math

import numpy as np
import pytest
from engine.exact import ExactModel
from hypothesis import given
from hypothesis import strategies as st
from metrics.sweep import drawn

import exparity
from exparity.core.seeding import generator
from exparity.metrics.soft_erasure import keep_probabilities

METRICS = ("soft_comprehensiveness", "soft_sufficiency")


def naive(exact, one, metric, num_samples, seed, retained_share=None):
    """Element by element; the draws are those of (seed, metric, text, number of the draw)."""
    rows = exact.rows(one.token_ids)
    content = [p for p, special in enumerate(one.special_mask) if not special]
    sizes = [abs(one.scores[p]) for p in content]
    low, high = min(sizes), max(sizes)
    whole = exact.probability(rows, one.target)
    values = []
    kept = [(size - low) / (high - low) for size in sizes]
    if metric == "soft_comprehensiveness":
        kept = [1 - k for k in kept]
    mean = math.fsum(kept) / len(kept)
    if retained_share is not None and retained_share < mean:
        kept = [k * retained_share / mean for k in kept]
    elif retained_share is not None:
        kept = [1 - (1 - k) * (1 - retained_share) / (1 - mean) for k in kept]
    for draw in range(num_samples):
        drawn = generator(seed, "evaluate", metric, one.text, draw).random(tuple(rows.shape))
        moved = rows.clone()
        for p, keep in zip(content, kept, strict=True):
            for h in range(rows.shape[1]):
                if drawn[p, h] >= keep:
                    moved[p, h] = 0.0
        drop = max(0.0, whole - exact.probability(moved, one.target))
        values.append(1 - drop if metric == "soft_sufficiency" else drop)
    return math.fsum(values) / len(values)


@pytest.mark.reference
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("share", [None, 0.2, 0.7])
def test_soft_metrics_equal_the_loop(classifier, sentences, metric, share):
    explanations = drawn(classifier, sentences[:4])
    options = {"num_samples": 4, "retained_share": share}
    found = exparity.evaluate(classifier, explanations, metric, seed=3, **options)
    exact = ExactModel(classifier)
    expected = [naive(exact, one, metric, seed=3, **options) for one in explanations]
    np.testing.assert_allclose(found, expected, atol=1e-5)
    assert np.ptp(expected) > 1e-3


@pytest.mark.property
@given(
    st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=2, max_size=9),
    st.floats(0.01, 0.99),
    st.booleans(),
)
def test_a_fixed_share_is_kept_in_either_condition(scores, share, keep):
    """The mean is the share, the order of tokens stays, and what one keeps the other removes."""
    content = np.ones(len(scores), bool)
    free = keep_probabilities(np.array(scores), content, keep=keep)
    fixed = keep_probabilities(np.array(scores), content, keep=keep, retained_share=share)
    if np.isnan(free).any():
        assert np.isnan(fixed).all()
        return
    assert fixed.mean() == pytest.approx(share)
    assert fixed.min() >= 0
    assert fixed.max() <= 1
    assert (np.diff(fixed[np.argsort(free)]) >= -1e-12).all()
    other = keep_probabilities(np.array(scores), content, keep=not keep, retained_share=1 - share)
    np.testing.assert_allclose(other, 1 - fixed, atol=1e-9)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("score", [0.0, 0.3, -2.0])
def test_equal_attributions_are_undefined(classifier, metric, score):
    """Min-max scaling has no answer; also where only special tokens differ, or signs."""

    def equal(encoding, _):
        scores = np.full(len(encoding), score)
        scores[::2] *= -1
        return np.where(encoding.special_mask, 7.0, scores)

    made = drawn(classifier, ["The girl sings .", "He sings ."], scorer=equal)
    found = exparity.evaluate(classifier, made, metric)
    assert np.isnan(found).all()
