"""What methods of logits explain: logits, log odds, or a difference of two logits."""

import copy

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from methods.training import METHOD_IDS, quick

import exparity
from exparity import InputError
from exparity.engine.classifier import Classifier
from exparity.methods import METHODS, explain_many

TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour .", "He runs ."]
OF_LOGITS = {id: quick(id) for id in METHOD_IDS if METHODS.get(id).facts.target == "logit"}


@pytest.fixture
def three(pair_classifiers):
    """A random BERT of three classes."""
    return pair_classifiers["bert"]


def explained(classifier, explains, targets, methods=None):
    """Scores by method, of all texts, in one row."""
    options = {id: {**own, "explains": explains} for id, own in (methods or OF_LOGITS).items()}
    made = explain_many(classifier, TEXTS, targets, options)
    return {id: np.concatenate([one.scores for one in own]) for id, own in made.items()}


def same(found, expected, tolerance=2e-6):
    for id, scores in expected.items():
        scale = np.abs(scores).max()
        np.testing.assert_allclose(found[id], scores, atol=tolerance * scale, rtol=0, err_msg=id)


def shifted(classifier):
    """The same classifier, with one vector added to all rows of its head."""
    model = copy.deepcopy(classifier.model)
    torch.manual_seed(0)
    with torch.no_grad():
        model.classifier.weight += torch.randn(model.classifier.weight.shape[1])
        model.classifier.bias += 1.5
    return Classifier(model, classifier.tokenizer, device=classifier.device, max_length=64)


@pytest.mark.reference
@pytest.mark.parametrize(
    ("explains", "of"),
    [
        ("auto", lambda logits, y: logits[y]),
        ("logit", lambda logits, y: logits[y]),
        ("log_odds", lambda logits, y: torch.logit(logits.softmax(-1))[y]),
        ({"against": "neutral"}, lambda logits, y: logits[y] - logits[1]),
    ],
)
def test_gradients_are_those_of_float64(three, explains, of):
    exact = ExactModel(three)
    for one in exparity.explain(three, TEXTS, [0, 2, 0], "gradient", explains=explains):
        rows = exact.rows(one.token_ids).requires_grad_(True)
        (gradient,) = torch.autograd.grad(of(exact.logits(rows), one.target), rows)
        np.testing.assert_allclose(one.scores, gradient.abs().sum(-1), rtol=2e-4, atol=1e-6)


@pytest.mark.property
def test_what_all_classes_share_is_no_matter_to_log_odds(three):
    other, targets = shifted(three), [0, 1, 2]
    same(explained(other, "log_odds", targets), explained(three, "log_odds", targets), 1e-5)
    against = {"against": "entailment"}
    same(explained(other, against, [0, 1, 0]), explained(three, against, [0, 1, 0]), 1e-5)
    moved, before = (explained(one, "logit", targets) for one in (other, three))
    for id in before:
        assert np.abs(moved[id] - before[id]).max() > 0.1 * np.abs(before[id]).max(), id


@pytest.mark.property
def test_two_classes_leave_one_to_be_against(classifiers):
    classifier, targets = classifiers["bert"], [0, 1, 0]
    odds = explained(classifier, "log_odds", targets)
    for name in classifier.class_names:  # of which one is the target itself
        same(explained(classifier, {"against": name}, targets), odds)


@pytest.mark.property
def test_sensitivity_takes_the_same_function(classifiers):
    classifier, values = classifiers["bert"], []
    for explains in ("log_odds", {"against": classifier.class_names[0]}, "logit"):
        made = exparity.explain(classifier, TEXTS, 1, "gradient", explains=explains)
        values.append(exparity.evaluate(classifier, made, "sensitivity", steps=2))
    np.testing.assert_allclose(values[0], values[1], rtol=1e-4)
    assert not np.allclose(values[0], values[2], rtol=1e-2)


@pytest.mark.parametrize(
    ("explains", "message"),
    [
        ({"against": "neutra"}, "explains: against 'neutra'; did you mean 'neutral'"),
        ({"versus": "neutral"}, "explains"),
        ({}, "explains"),
        ("odds", "'auto', 'logit' or 'log_odds'"),
    ],
)
def test_what_cannot_be_explained_is_refused(three, explains, message):
    with pytest.raises(InputError, match=message):
        exparity.explain(three, TEXTS, 1, "gradient", explains=explains)
