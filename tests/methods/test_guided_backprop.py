"""Guided backpropagation: against captum, what it is without ReLU, and a smooth one by hand."""

import numpy as np
import pytest
import torch
from methods.toy import OnRows, rectified
from scipy.stats import norm
from torch.nn import functional as F

import exparity
from exparity.methods._backward import Activations, passing_positive

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [0, 1]


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
