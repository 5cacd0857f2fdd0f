"""Flip sensitivity against its own bisection and ascent in float64."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from metrics.sweep import drawn

import exparity
from exparity.metrics import evaluate_keyed

TEXTS = ["She sings .", "The girl sings .", "His mother thanked the waiter ."]


def run(classifier, explanations, **params):
    """Values and notes."""
    notes = Counter()
    keys = [e.text for e in explanations]
    return evaluate_keyed(
        classifier, explanations, keys, "flip_sensitivity", 0, params, notes
    ), notes


def flips(exact, rows, tokens, radius, steps):
    """Whether an ascent within ``radius`` on the rows of ``tokens`` changes the class."""
    predicted = exact.predicted(rows)
    offset = torch.zeros_like(rows)
    for _ in range(steps):
        gradient = exact.loss_gradient(rows + offset, predicted)
        for token in tokens:
            moved = offset[token] + 2.5 * radius / steps * gradient[token].sign()
            offset[token] = torch.clamp(moved, -radius, radius)
        if exact.predicted(rows + offset) != predicted:
            return True
    return False


def naive(exact, one, max_tokens, max_radius, steps, bisections):
    """Smallest radius for each k, and how many were never found."""
    rows = exact.rows(one.token_ids)
    content = [p for p, special in enumerate(one.special_mask) if not special]
    ranked = sorted(content, key=lambda p: (abs(one.scores[p]), p), reverse=True)
    curve, censored = [], 0
    for k in range(1, min(max_tokens, len(ranked)) + 1):
        low, high = 0.0, max_radius
        if flips(exact, rows, ranked[:k], max_radius, steps):
            for _ in range(bisections):
                middle = (low + high) / 2
                if flips(exact, rows, ranked[:k], middle, steps):
                    high = middle
                else:
                    low = middle
        else:
            censored += 1
        curve.append(high)
    if len(curve) == 1:
        return curve[0], censored
    area = sum((a + b) / 2 for a, b in pairwise(curve))
    return area / (len(curve) - 1), censored


@pytest.mark.reference
@pytest.mark.parametrize(
    ("max_tokens", "max_radius"), [(1, 1.0), (3, 1.0), (3, 0.03)], ids=["one", "three", "tight"]
)
def test_flip_sensitivity_equals_a_naive_loop(classifier, max_tokens, max_radius):
    explanations = drawn(classifier, TEXTS)
    options = {"max_tokens": max_tokens, "max_radius": max_radius, "steps": 3, "bisections": 5}
    found, notes = run(classifier, explanations, **options)
    exact = ExactModel(classifier)
    expected = [naive(exact, one, **options) for one in explanations]
    # In float32 a sign may differ where a gradient is zero but for rounding: one notch of 1/32.
    np.testing.assert_allclose(found, [v for v, _ in expected], atol=max_radius / 32 + 1e-12)
    close = np.isclose(found, [v for v, _ in expected], atol=1e-12)
    assert close.mean() >= 2 / 3
    assert notes["censored"] == sum(c for _, c in expected)
    contents = [int((~e.special_mask).sum()) for e in explanations]
    assert notes["searched"] == sum(min(max_tokens, n) for n in contents)


@pytest.mark.parametrize(("never_flipped", "value"), [("bound", 1e-7), ("zero", 0.0)])
def test_never_flipped_is_censored_and_counted(classifier, never_flipped, value):
    """As in the published code, what nothing can flip may look like what flips at once."""
    options = {} if never_flipped == "bound" else {"never_flipped": never_flipped}
    made = drawn(classifier, TEXTS)
    found, notes = run(classifier, made, max_radius=1e-7, max_tokens=2, **options)
    np.testing.assert_array_equal(found, value)
    assert notes == {"searched": 6, "censored": 6}


def test_counting_as_zero_leaves_what_flipped_alone(classifiers):
    """With one token a text has one search: it is at the bound, or the same under both."""
    classifier = classifiers["gpt2"]
    explanations = drawn(classifier, TEXTS)
    options = {"max_tokens": 1, "max_radius": 0.5, "steps": 3, "bisections": 3}
    censored, notes = run(classifier, explanations, **options)
    zero, same = run(classifier, explanations, **options, never_flipped="zero")
    assert notes == same
    assert int((zero != censored).sum()) == notes["censored"]
    np.testing.assert_array_equal(zero[zero != censored], 0.0)


def test_nothing_moves_where_the_gradient_is_zero(checkpoints):
    """A head without weights: the classes are the same everywhere, so that nothing flips."""
    classifier = exparity.load_classifier(checkpoints["bert"], "cpu")
    with torch.no_grad():
        classifier.model.classifier.weight.zero_()
        classifier.model.classifier.bias.copy_(torch.tensor([0.0, 1.0]))
    found, notes = run(classifier, drawn(classifier, TEXTS), max_radius=0.5)
    np.testing.assert_array_equal(found, 0.5)
    assert notes["censored"] == notes["searched"] > 0
