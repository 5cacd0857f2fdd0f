"""The gradients that a batch offers, and the gradient method that the docs write with them."""

import re

import numpy as np
import pytest
import torch
from engine.exact import ExactModel

import exparity
from exparity import InputError
from exparity.explanations import Explanation
from exparity.methods import METHODS, method

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour .", "He runs ."]
TARGETS = [1, 0, 1]


@pytest.fixture
def registering(monkeypatch):
    """Let go what a test registers when it is over."""
    METHODS.ids()
    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))


def with_batch(classifier, use, targets=TARGETS):
    """Hand the batch of some texts to a function that returns scores."""
    facts = {"signed": True, "needs_gradient": True, "target": "logit", "baseline": None}

    @method("probe", **facts, stochastic=False, reference="test")
    def probe(batch):
        """Hand the batch over."""
        return use(batch)

    return exparity.explain(classifier, TEXTS, targets, "probe")


def margin(logits, targets):
    own = logits.gather(1, targets[:, None])[:, 0]
    return own - logits.scatter(1, targets[:, None], -torch.inf).amax(1)


@pytest.mark.reference
def test_gradients_of_an_objective_equal_those_of_float64(classifier, registering):
    """In the order of the texts; gradients of logits are in test_explains.py."""
    found = {}

    def use(batch):
        found["gradients"] = batch.gradients(margin)
        return [gradient.double().sum(-1).numpy() for gradient in found["gradients"]]

    made = with_batch(classifier, use)
    exact = ExactModel(classifier)
    for one, gradient in zip(made, found["gradients"], strict=True):
        rows = exact.rows(one.token_ids).requires_grad_(True)
        logits = exact.logits(rows)
        (expected,) = torch.autograd.grad(logits[one.target] - logits[1 - one.target], rows)
        torch.testing.assert_close(gradient.double(), expected, rtol=2e-4, atol=1e-6)


@pytest.mark.property
def test_the_gradient_method_of_the_docs(repository, classifier, registering, tmp_path):
    page = (repository / "docs" / "extending.md").read_text()
    (code,) = re.findall(r"```python\n(# gradient_norm\.py\n.*?)```", page, re.DOTALL)
    exec(compile(code, "gradient_norm.py", "exec"), {"__name__": "gradient_norm"})
    ours = exparity.explain(classifier, TEXTS, TARGETS, "gradient_norm", order=1)
    for one, other in zip(ours, exparity.explain(classifier, TEXTS, TARGETS), strict=True):
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-6)


def test_a_class_goes_by_its_name(classifier):
    name = classifier.class_names[1]
    by_name, by_index = (
        Explanation.from_words(classifier, "He runs .", [1.0, 2.0, 0.0], of) for of in (name, 1)
    )
    assert (by_name.target, by_name.target_name) == (by_index.target, by_index.target_name)
    assert by_name.target == 1
    assert f"target {name}" in repr(by_name)
    assert f"target {name}" in by_name._repr_html_()
    (explained,) = exparity.explain(classifier, "He runs .", name)
    assert explained.target_name == name
    for wrong, message in (("zebra", "target 'zebra'; "), (7, "target 7: the model has 2 classes")):
        with pytest.raises(InputError, match=message):
            Explanation.from_words(classifier, "He runs .", [1.0, 2.0, 0.0], wrong)
