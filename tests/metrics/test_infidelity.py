"""Infidelity: captum on the same sets, a loop in the plainest form, and what sets are made of."""

import numpy as np
import pytest
import torch
from captum.metrics import infidelity as of_captum

import exparity
from exparity.methods import explain_many
from exparity.metrics import MetricBatch
from exparity.metrics.infidelity import _sets, unexplained

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
METHODS = {"gradient_x_input": {}, "occlusion": {}}


@pytest.fixture
def explained(classifier):
    return explain_many(classifier, TEXTS, [0, 1], METHODS)


def batch_of(classifier, explanations, seed=0):
    keys = tuple(e.text for e in explanations)
    scores = tuple(e.scores for e in explanations)
    return MetricBatch(classifier, tuple(explanations), scores, keys, seed, "infidelity")


@pytest.mark.reference
@pytest.mark.parametrize("normalised", [True, False])
def test_equals_captum_on_the_same_sets(classifier, explained, normalised):
    draws = 30
    for explanations in explained.values():
        found = exparity.evaluate(
            classifier, explanations, "infidelity", seed=3, draws=draws, normalised=normalised
        )
        batch = batch_of(classifier, explanations, seed=3)
        for index, one in enumerate(explanations):
            sets = _sets(batch, index, draws)
            removed = [one.token_ids[~taken] for taken in sets]
            p = classifier.probabilities([one.token_ids, *removed])[:, one.target]
            output = {-1: p[0], **dict(enumerate(p[1:]))}

            def model(inputs, output=output):
                """Probability of the text, or of what is left of it, by the number of the set."""
                return torch.tensor([output[number] for number in inputs[:, 0].long().tolist()])

            def perturb(inputs, _baselines=None, sets=sets):
                """Sets as perturbations: captum multiplies them with attributions."""
                perturbed = inputs.clone()
                perturbed[:, 0] = torch.arange(len(inputs), dtype=inputs.dtype)
                marks = torch.tensor(sets, dtype=torch.float64)
                return torch.cat([torch.zeros(len(sets), 1), marks], 1), perturbed

            width = len(one.token_ids)
            inputs = torch.full((1, width + 1), -1.0, dtype=torch.float64)
            attributions = torch.tensor([[0.0, *one.scores]], dtype=torch.float64)
            theirs = float(
                of_captum(
                    model,
                    perturb,
                    inputs,
                    attributions,
                    n_perturb_samples=draws,
                    max_examples_per_batch=draws,
                    normalize=normalised,
                )
            )
            if normalised:
                theirs /= float(((p[0] - p[1:]) ** 2).mean())
            assert found[index] == pytest.approx(theirs, abs=1e-6)


@pytest.mark.reference
def test_equals_the_share_that_least_squares_leave():
    rng = np.random.default_rng(0)
    sums, falls = rng.normal(size=40), rng.normal(size=40)
    _, (left,), *_ = np.linalg.lstsq(sums[:, None], falls, rcond=None)
    assert unexplained(sums, falls, True) == pytest.approx(left / (falls**2).sum(), rel=1e-12)
    assert unexplained(3 * falls, falls, True) == pytest.approx(0, abs=1e-12)
    assert np.isnan(unexplained(np.zeros(4), np.ones(4), True))
    assert np.isnan(unexplained(np.ones(4), np.zeros(4), True))


@pytest.mark.property
def test_sets_are_of_the_text_and_of_uniform_size(classifier, explained):
    one, other = (batch_of(classifier, found) for found in explained.values())
    sets = _sets(one, 1, 4000)
    np.testing.assert_array_equal(sets, _sets(other, 1, 4000))
    content = one.content_masks[1]
    assert not sets[:, ~content].any()
    counts = np.bincount(sets.sum(1), minlength=content.sum() + 1)
    assert counts[0] == 0
    expected = 4000 / content.sum()
    assert np.abs(counts[1:] - expected).max() < 5 * np.sqrt(expected)
    shares = sets[:, content].mean(0)
    assert np.ptp(shares) < 0.06
