"""Integrated gradients against differences in float64 and captum; theory, and flags."""

import numpy as np
import pytest
from engine.exact import ExactModel

import exparity
from exparity.types import Origin

pytestmark = pytest.mark.reference
TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]


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


def test_integrated_gradients_equal_a_naive_sum(classifiers):
    classifier, text, target, n_steps = classifiers["gpt2"], "She sings .", 0, 2
    exact, (encoding,) = ExactModel(classifier), classifier.encode([text])
    rows = exact.rows(encoding.token_ids)
    base = exact.rows(np.where(encoding.special_mask, encoding.token_ids, classifier.pad_id))
    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    mean = np.zeros(rows.shape)
    for node, weight in zip(nodes, weights, strict=True):
        point = base + (node + 1) / 2 * (rows - base)
        mean += weight / 2 * numeric_gradient(lambda at: exact.logit(at, target), point)
    for pooling, expected in (("l2", np.sqrt((mean**2).sum(1))), ("sum", mean.sum(1))):
        options = {"n_steps": n_steps, "pooling": pooling}
        plain = exparity.explain(classifier, text, target, "integrated_gradients", **options)
        np.testing.assert_allclose(plain[0].scores, expected, rtol=2e-4, atol=1e-6)
    method = "integrated_gradients_x_input"
    times = exparity.explain(classifier, text, target, method, n_steps=n_steps)
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
        origins = [Origin(method, options, 0, text) for text in TEXTS]
        found = explain_encodings(classifier, encodings, targets, origins, flags=flags)
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


def test_integrated_gradients_are_complete_on_a_trained_model(trained):
    """Each text's scores add up within 1 %.

    A trained model changes its mind within a short stretch of the path, so that it takes many
    steps: with the default of 50 sums were off by more than 100 % for half of these texts.
    """
    classifier, texts, targets = trained
    found = exparity.explain(
        classifier, texts[:2], targets[:2], "integrated_gradients_x_input", n_steps=1000
    )
    exact = ExactModel(classifier)
    for one in found:
        change = exact.change_of_logit(one, classifier.pad_id)
        assert one.scores.sum() == pytest.approx(change, rel=0.01)
