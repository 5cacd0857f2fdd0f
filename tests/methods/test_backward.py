"""Activations are caught wherever they are called, keep their values, and leave no trace."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F
from transformers.activations import ACT2FN

from exparity.methods._backward import Activations, mean_slope


class Kinds:
    """A rule that changes nothing and counts what it is asked for."""

    def __init__(self):
        self.seen = []

    def __call__(self, function, x, kind):
        self.seen.append(kind)
        return function(x)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (torch.relu, "relu"),
        (torch.nn.ReLU(inplace=True), "relu"),
        (lambda x: F.relu(x, inplace=True), "relu"),
        (ACT2FN["relu2"], "relu"),
        (torch.nn.GELU(), "smooth"),
        (ACT2FN["gelu_new"], "smooth"),
        (ACT2FN["quick_gelu"], "smooth"),
        (torch.nn.LeakyReLU(), "smooth"),
        (torch.nn.Tanh(), "bounded"),
        (lambda x: x.tanh(), "bounded"),
        (torch.nn.Linear(3, 3), None),
    ],
)
def test_functions_and_modules_are_caught_once(call, kind):
    model = torch.nn.Sequential(call) if isinstance(call, torch.nn.Module) else torch.nn.Identity()
    x = torch.tensor([[-2.0, 0.5, 3.0]])
    plain = call(x.clone())
    rule = Kinds()
    with Activations(model, rule):
        found = call(x)
    assert rule.seen == [kind] * (kind is not None)
    assert torch.equal(found, plain)
    assert x.tolist() == [[-2.0, 0.5, 3.0]]


def test_nothing_is_left_behind_after_an_error(classifiers):
    classifier = classifiers["gpt2"]
    forwards = [vars(module).get("forward") for module in classifier.model.modules()]
    rule = Kinds()
    with pytest.raises(RuntimeError, match="stop"), Activations(classifier.model, rule):
        raise RuntimeError("stop")
    assert [vars(module).get("forward") for module in classifier.model.modules()] == forwards
    torch.relu(torch.ones(1))
    assert rule.seen == []


@pytest.mark.reference
@pytest.mark.parametrize("name", ["relu", "gelu", "gelu_new", "tanh", "silu"])
@settings(max_examples=30)
@given(st.floats(-4, 4, width=32), st.sampled_from([0.0, 1e-7, 1e-4, 0.5, -3.0]))
def test_a_mean_slope_is_the_quotient_or_the_derivative(name, a, gap):
    """The quotient where points differ, however little; the derivative where they are the same."""
    function = ACT2FN[name]
    x, reference = torch.tensor([a]), torch.tensor([a]) + gap
    found = float(mean_slope(function, x, reference))
    u, v = x.double(), reference.double()
    if u == v:
        u.requires_grad_(True)
        expected = float(torch.autograd.grad(function(u).sum(), u)[0])
    else:
        expected = float((function(u) - function(v)) / (u - v))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-7)
