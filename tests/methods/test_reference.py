"""Methods against references written independently: differences in float64, and captum."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import exparity
from exparity import InputError

pytestmark = pytest.mark.reference
TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]


def exact_logit(classifier, target):
    """The target logit as a float64 function of a text's embeddings, one text at a time."""
    model = copy.deepcopy(classifier.model).double()

    def logit(rows):
        with torch.no_grad():
            if hasattr(model, "score"):
                hidden = model.transformer(inputs_embeds=rows[None]).last_hidden_state
                return float(model.score(hidden[0, -1])[target])
            return float(model(inputs_embeds=rows[None]).logits[0, target])

    return logit, model


def numeric_gradient(logit, rows, step=1e-5):
    """Central differences, one embedding element at a time."""
    gradient = np.zeros(rows.shape)
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            up, down = rows.clone(), rows.clone()
            up[i, j] += step
            down[i, j] -= step
            gradient[i, j] = (logit(up) - logit(down)) / (2 * step)
    return gradient


def test_gradient_methods_equal_differences(classifier):
    text, target = TEXTS[0], 1
    logit, model = exact_logit(classifier, target)
    ids = classifier.encode([text])[0].token_ids
    rows = model.get_input_embeddings()(torch.as_tensor(ids)).detach()
    gradient = numeric_gradient(logit, rows)
    found = exparity.explain(classifier, [text], [target], method="gradient")[0].scores
    np.testing.assert_allclose(found, np.abs(gradient).sum(1), rtol=2e-4, atol=1e-6)
    found = exparity.explain(classifier, [text], [target], method="gradient_x_input")[0].scores
    expected = (gradient * rows.numpy()).sum(1)
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-6)


def test_integrated_gradients_equal_a_naive_sum(classifier):
    text, target, n_steps = TEXTS[0], 0, 4
    logit, model = exact_logit(classifier, target)
    encoding = classifier.encode([text])[0]
    table = model.get_input_embeddings()
    rows = table(torch.as_tensor(encoding.token_ids)).detach()
    base_ids = [
        int(i) if special else classifier.pad_id
        for i, special in zip(encoding.token_ids, encoding.special_mask, strict=True)
    ]
    base = table(torch.as_tensor(base_ids)).detach()
    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    mean = np.zeros(rows.shape)
    for node, weight in zip(nodes, weights, strict=True):
        point = base + (node + 1) / 2 * (rows - base)
        mean += weight / 2 * numeric_gradient(logit, point)
    for pooling, expected in (("l2", np.sqrt((mean**2).sum(1))), ("sum", mean.sum(1))):
        plain = exparity.explain(
            classifier,
            [text],
            [target],
            method="integrated_gradients",
            n_steps=n_steps,
            pooling=pooling,
        )
        np.testing.assert_allclose(plain[0].scores, expected, rtol=2e-4, atol=1e-6)
    times = exparity.explain(
        classifier, [text], [target], method="integrated_gradients_x_input", n_steps=n_steps
    )
    expected = (mean * (rows - base).numpy()).sum(1)
    np.testing.assert_allclose(times[0].scores, expected, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("method", "options", "pool"),
    [
        ("integrated_gradients", {}, lambda mean: mean.norm(dim=-1)),
        ("integrated_gradients", {"pooling": "sum"}, lambda mean: mean.sum(-1)),
        ("integrated_gradients_x_input", {}, lambda mean: mean.sum(-1)),
    ],
)
def test_integrated_gradients_equal_captum(classifiers, method, options, pool):
    from captum.attr import IntegratedGradients

    classifier = classifiers["bert"]
    times_input = method.endswith("_x_input")
    found = exparity.explain(classifier, TEXTS, [0, 1], method=method, **options)
    peer = IntegratedGradients(
        lambda e: classifier.model(inputs_embeds=e).logits, multiply_by_inputs=times_input
    )
    for explanation in found:
        ids = explanation.token_ids
        base = [int(ids[0]), *[classifier.pad_id] * (len(ids) - 2), int(ids[-1])]
        attribution = peer.attribute(
            classifier.embed(ids)[None], classifier.embed(base)[None], target=explanation.target
        )
        expected = pool(attribution[0]).detach().numpy()
        np.testing.assert_allclose(explanation.scores, expected, rtol=1e-4, atol=1e-5)


def test_integrated_gradients_x_input_are_complete(classifier):
    """Scores sum to f(input) − f(baseline), within 1 % (Sundararajan et al. 2017, prop. 1)."""
    found = exparity.explain(
        classifier, TEXTS, [0, 1], method="integrated_gradients_x_input", n_steps=300
    )
    for explanation in found:
        logit, model = exact_logit(classifier, explanation.target)
        table = model.get_input_embeddings()
        base = np.where(explanation.special_mask, explanation.token_ids, classifier.pad_id)
        ends = [logit(table(torch.as_tensor(i)).detach()) for i in (explanation.token_ids, base)]
        assert explanation.scores.sum() == pytest.approx(ends[0] - ends[1], rel=0.01, abs=1e-3)


@pytest.mark.parametrize("n_steps", [0, -3])
def test_too_few_steps_are_refused(classifiers, n_steps):
    with pytest.raises(InputError, match=r"n_steps: -?\d+ is out of range \(at least 1"):
        exparity.explain(
            classifiers["bert"], TEXTS, [0, 1], method="integrated_gradients", n_steps=n_steps
        )


def test_sums_that_vanish_in_theory_are_flagged(classifier):
    """LayerNorm hides a constant added to an embedding, so the summed gradient is exactly zero."""
    from exparity.methods import explain_encodings

    encodings = classifier.encode(TEXTS)
    targets = np.array([0, 1])
    for method, options, expected in (
        ("integrated_gradients", {"pooling": "sum"}, {"rounding_noise"}),
        ("integrated_gradients", {}, set()),
        ("integrated_gradients_x_input", {}, set()),
        ("gradient_x_input", {}, set()),
    ):
        flags: set[str] = set()
        found = explain_encodings(classifier, encodings, targets, TEXTS, method, 0, options, flags)
        assert flags == expected, method
        if flags:  # nothing but rounding: in double precision the sum is smaller by far
            size = exparity.explain(classifier, TEXTS, targets, method="gradient")
            for noise, real in zip(found, size, strict=True):
                assert np.abs(noise.scores).max() < 1e-4 * real.scores.max()


def test_flagged_scores_are_announced(classifiers, caplog):
    options = {"method": "integrated_gradients", "n_steps": 2}
    exparity.explain(classifiers["bert"], TEXTS, [0, 1], **options)
    assert not caplog.text
    exparity.explain(classifiers["bert"], TEXTS, [0, 1], **options, pooling="sum")
    assert "flagged rounding_noise" in caplog.text
