"""Sensitivity against its own ascent in float64, and what it promises about balls and draws."""

import dataclasses
import math

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from hypothesis import given
from hypothesis import strategies as st

import exparity
from exparity import InputError
from exparity.methods import METHODS
from exparity.metrics._ascent import by_length, by_sign

TEXTS = ["She sings .", "His mother thanked the waiter ."]
TARGETS = [0, 1]


def attributions(exact, method, rows, one, classifier):
    """Scores of the tokens, by the method's formula."""
    if method == "gradient":
        return exact.logit_gradient(rows, one.target).abs().sum(1)
    base = exact.rows(np.where(one.special_mask, one.token_ids, classifier.pad_id))
    mean = torch.zeros_like(rows)
    for node, weight in zip(*np.polynomial.legendre.leggauss(3), strict=True):
        point = base + (node + 1) / 2 * (rows - base)
        mean += weight / 2 * exact.logit_gradient(point, one.target)
    return ((rows - base) * mean).sum(1)


def naive(exact, method, one, classifier, *, steps, radius):
    """One ascent from the text; the largest relative change over what it visits."""
    content = [p for p, special in enumerate(one.special_mask) if not special]
    rows = exact.rows(one.token_ids)
    original = attributions(exact, method, rows, one, classifier)[content]
    radius *= math.sqrt(math.fsum(float(x) ** 2 for p in content for x in rows[p]))
    step = 2.5 / steps * radius
    offset = torch.zeros_like(rows)
    worst = 0.0
    for _ in range(steps):
        gradient = exact.loss_gradient(rows + offset, one.target)
        gradient[[p for p in range(len(rows)) if p not in content]] = 0
        offset = offset + step * gradient / gradient.norm()
        if offset.norm() > radius:
            offset = offset * radius / offset.norm()
        moved = attributions(exact, method, rows + offset, one, classifier)[content]
        worst = max(worst, float((moved - original).norm() / original.norm()))
    return worst


@pytest.mark.reference
@pytest.mark.parametrize("method", ["gradient", "integrated_gradients_x_input"])
def test_sensitivity_equals_a_naive_loop(classifier, method):
    params = {"n_steps": 3} if "integrated" in method else {}
    explanations = exparity.explain(classifier, TEXTS, TARGETS, method=method, **params)
    options = {"steps": 3, "radius": 0.05}
    found = exparity.evaluate(classifier, explanations, "sensitivity", **options)
    exact = ExactModel(classifier)
    expected = [naive(exact, method, one, classifier, **options) for one in explanations]
    np.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.property
@given(
    st.lists(st.floats(-1, 1, width=32), min_size=6, max_size=6),
    st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=6, max_size=6),
    st.sampled_from([by_length, by_sign]),
    st.floats(1e-6, 10),
    st.floats(1e-6, 10),
)
def test_a_step_never_leaves_the_ball(start, gradient, climb, step, radius):
    offset = torch.tensor(start).reshape(2, 3)
    found = climb(offset, torch.tensor(gradient).reshape(2, 3), step, radius)
    length = found.double().norm() if climb is by_length else found.abs().max()
    assert float(length) <= radius * (1 + 1e-6)


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (lambda batch: [np.cos(ids.astype(float)) for ids in batch.token_ids], 0),
        (lambda batch: [mask.astype(float) for mask in batch.special_masks], np.nan),
    ],
)
def test_of_a_method_that_ignores_the_rows(classifier, adaptive, monkeypatch, scores, expected):
    """Zero; undefined where attributions of content tokens are zero."""
    entry = METHODS.get("lime")
    facts = dataclasses.replace(entry.facts, adaptive=adaptive)
    monkeypatch.setitem(METHODS._entries, "odd", type(entry)("odd", scores, facts, entry.source))
    explanations = exparity.explain(classifier, TEXTS, TARGETS, method="odd")
    found = exparity.evaluate(classifier, explanations, "sensitivity", steps=3)
    np.testing.assert_array_equal(found, expected)


def test_copies_share_the_draws_of_their_text(classifier):
    """Few samples make LIME noisy from seed to seed, but not between a text and its copies."""
    one, other = (
        exparity.explain(classifier, TEXTS, TARGETS, method="lime", num_samples=12, seed=seed)
        for seed in (0, 1)
    )
    found = exparity.evaluate(classifier, one, "sensitivity", radius=1e-5, steps=2)
    for a, b, value in zip(one, other, found, strict=True):
        content = a.content_mask
        gap = np.linalg.norm((a.scores - b.scores)[content]) / np.linalg.norm(a.scores[content])
        assert value < 0.01
        assert gap > 20 * value


def test_explanations_that_cannot_be_made_again_are_refused(classifiers):
    classifier = classifiers["bert"]
    made = exparity.explain(classifier, TEXTS, TARGETS, method="gradient")
    other = exparity.explain(classifier, TEXTS, TARGETS, method="gradient_x_input")
    with pytest.raises(InputError, match="several methods or options"):
        exparity.evaluate(classifier, [made[0], other[1]], "sensitivity")
    made = exparity.explain(classifier, TEXTS[:1], [0], method="lime", num_samples=5)
    ids = made[0].token_ids.copy()
    ids[1] += 1
    tokens = tuple(classifier.tokenizer.convert_ids_to_tokens(ids.tolist()))
    foreign = [dataclasses.replace(made[0], token_ids=ids, tokens=tokens)]
    with pytest.raises(InputError, match="explain it again with this model"):
        exparity.evaluate(classifier, foreign, "sensitivity", steps=1)
