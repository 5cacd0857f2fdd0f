"""Guided backpropagation: by hand, against captum, and what it is without ReLU."""

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from methods.toy import WIDTH, Layers, OnRows, rectified, toy
from scipy.stats import norm
from torch.nn import functional as F

import exparity
from exparity.methods._backward import Activations, passing_positive

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [0, 1]


@pytest.mark.reference
@pytest.mark.parametrize("activation", [F.relu, torch.nn.ReLU(inplace=True)])
def test_equals_a_naive_guided_pass(classifiers, activation):
    """Two hidden layers of ReLU, unit by unit, in float64."""
    classifier = toy(Layers(activation), classifiers["bert"].tokenizer, seed=5)
    for one in exparity.explain(classifier, TEXTS, TARGETS, "guided_backprop"):
        exact = ExactModel(classifier)
        body = exact.model.body.requires_grad_(False)
        x = exact.rows(one.token_ids)
        first = body.first.weight @ x.mean(0) + body.first.bias
        second = body.second.weight @ torch.relu(first) + body.second.bias
        at_second = [
            max(float(body.last.weight[one.target, k]), 0) * float(second[k] > 0) for k in range(8)
        ]
        at_first = []
        for j in range(8):
            arriving = sum(at_second[k] * float(body.second.weight[k, j]) for k in range(8))
            at_first.append(max(arriving, 0) * float(first[j] > 0))
        expected = sum(
            abs(sum(at_first[j] * float(body.first.weight[j, h]) for j in range(8)))
            for h in range(WIDTH)
        ) / len(x)
        np.testing.assert_allclose(one.scores, [expected] * len(x), rtol=1e-5, atol=1e-6)


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore:Setting backward hooks")
def test_equals_captum_on_a_rectified_bert(classifiers):
    from captum.attr import GuidedBackprop

    classifier = rectified(classifiers["bert"])
    peer = GuidedBackprop(OnRows(classifier.model))
    for guided in ("relu", "rectifiers"):
        found = exparity.explain(classifier, TEXTS, TARGETS, "guided_backprop", guided=guided)
        for one in found:
            rows = classifier.embed(one.token_ids)[None].requires_grad_()
            gradient = peer.attribute(rows, target=one.target)[0]
            expected = gradient.abs().sum(-1).detach().numpy()
            np.testing.assert_allclose(one.scores, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.reference
def test_without_relu_captum_s_form_is_the_gradient(classifier):
    plain = exparity.explain(classifier, TEXTS, TARGETS, "gradient")
    strict = exparity.explain(classifier, TEXTS, TARGETS, "guided_backprop", guided="relu")
    smooth = exparity.explain(classifier, TEXTS, TARGETS, "guided_backprop")
    for one, same, other in zip(plain, strict, smooth, strict=True):
        assert one.scores.tobytes() == same.scores.tobytes()
        assert not np.allclose(one.scores, other.scores, rtol=0.01)


@pytest.mark.reference
def test_a_smooth_rectifier_passes_what_is_positive_where_its_input_is():
    x = torch.tensor([-0.5, 0.5, 0.5], requires_grad=True)
    with Activations(torch.nn.Identity(), passing_positive(("smooth",))):
        (F.gelu(x) @ torch.tensor([2.0, 2.0, -2.0])).backward()
    slope = norm.cdf(0.5) + 0.5 * norm.pdf(0.5)
    assert x.grad.tolist() == pytest.approx([0.0, 2 * slope, 0.0])
