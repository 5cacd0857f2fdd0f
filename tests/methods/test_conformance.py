"""What every registered explanation method must do, swept over the registry."""

from __future__ import annotations

import copy
import inspect

import numpy as np
import pytest
import torch
from methods.training import METHOD_IDS, training_for

import exparity
from exparity import ExparityError, InputError
from exparity.methods import METHODS

QUICK = {"n_steps": 5, "num_samples": 60, "max_evals": 60, "n_samples": 10}
"""Smaller values of options that set the cost, for methods that have them."""


def quick(method):
    return {k: v for k, v in QUICK.items() if k in METHODS.get(method).options}


def run(classifier, texts, targets, method, **more):
    options = {**training_for(method), **quick(method), **more}
    return exparity.explain(classifier, texts, targets, method=method, **options)


@pytest.fixture(params=METHOD_IDS)
def method(request):
    return request.param


@pytest.fixture
def texts(sentences):
    return sentences[:5]


@pytest.fixture
def targets(texts):
    return [i % 2 for i in range(len(texts))]


def test_one_finite_score_per_token_specials_included(classifier, method, texts, targets):
    found = run(classifier, texts, targets, method)
    for explanation, encoding, target in zip(found, classifier.encode(texts), targets, strict=True):
        assert len(explanation.scores) == len(encoding)
        assert np.isfinite(explanation.scores).all()
        assert explanation.target == target
        assert explanation.tokens == encoding.tokens
        np.testing.assert_array_equal(explanation.token_ids, encoding.token_ids)
        np.testing.assert_array_equal(explanation.special_mask, encoding.special_mask)
        if not METHODS.get(method).facts.signed:
            assert (explanation.scores >= 0).all()


def hooks_of(model):
    """Every hook by module; the engine's own stay on the head for good."""
    return [(*m._forward_hooks.items(), *m._backward_hooks.items()) for m in model.modules()]


def test_model_is_left_as_it_was(classifier, method, texts, targets):
    before = copy.deepcopy(classifier.model.state_dict())
    hooks = hooks_of(classifier.model)
    run(classifier, texts, targets, method)
    for name, value in classifier.model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(p.requires_grad and p.grad is None for p in classifier.model.parameters())
    assert not classifier.model.training
    assert hooks_of(classifier.model) == hooks


def test_moved_copies_of_model_free_methods_keep_their_scores(classifiers, method, texts, targets):
    """They look at neither model nor embeddings; all others look at one of them."""
    from exparity.methods import Training, attribute

    classifier, facts = classifiers["bert"], METHODS.get(method).facts
    given = training_for(method).get("training")
    found = run(classifier, texts, targets, method)
    moved = attribute(
        classifier,
        classifier.encode(texts),
        np.array(targets),
        [one.origin for one in found],
        rows=[classifier.embed(one.token_ids) * 1.5 for one in found],
        training=given and Training.of(*given),
    )
    same = [
        one.scores.tobytes() == scores.tobytes() for one, scores in zip(found, moved, strict=True)
    ]
    assert all(same) == facts.model_free


def test_arguments_are_left_as_they_were(classifier, method, texts, targets):
    words = [t.split() for t in texts]
    kept, array = copy.deepcopy(words), np.array(targets)
    run(classifier, words, array, method)
    assert words == kept
    assert array.tolist() == targets


def test_the_two_classes_are_explained_differently(classifier, method, texts):
    """Unless a method looks at nothing that knows of classes."""
    facts = METHODS.get(method).facts
    one = run(classifier, texts, [0] * len(texts), method)
    other = run(classifier, texts, [1] * len(texts), method)
    differ = any(not np.allclose(a.scores, b.scores) for a, b in zip(one, other, strict=True))
    assert differ == (facts.target in ("logit", "probability") or facts.needs_training)


def test_single_token_text(classifier, method):
    found = run(classifier, ["she"], [1], method)[0]
    assert found.content_mask.sum() >= 1
    assert np.isfinite(found.scores).all()


def test_no_text_gives_no_explanation(classifier, method):
    assert run(classifier, [], [], method) == []


def test_target_defaults_to_the_predicted_class(classifier, texts):
    ids = [e.token_ids for e in classifier.encode(texts)]
    expected = classifier.probabilities(ids).argmax(-1).tolist()
    assert [e.target for e in exparity.explain(classifier, texts)] == expected


@pytest.mark.parametrize("method", METHODS.ids())
def test_facts_are_consistent(method):
    facts = METHODS.get(method).facts
    assert facts.target in ("logit", "probability", "attention", "none")
    assert facts.target == "logit" or not facts.needs_gradient
    assert "Args:" in (METHODS.get(method).function.__doc__ or "")


@pytest.mark.parametrize("method", METHODS.ids())
def test_registered_modules_import_nothing_heavy(method):
    source = inspect.getsource(inspect.getmodule(METHODS.get(method).function))
    tops = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    heavy = ("torch", "transformers", "captum", "shap", "lime")
    assert not [line for line in tops if line.split()[1].split(".")[0] in heavy]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gradiant"}, "unknown method 'gradiant'; did you mean 'gradient'"),
        ({"method": "gradient", "steps": 3}, "unknown option 'steps'"),
        ({"method": "integrated_gradients", "n_steps": "many"}, "n_steps: a whole number, found"),
        ({"method": "lime", "num_samples": "many"}, "num_samples: a whole number, found 'many'"),
        ({"method": "shap", "max_evals": 2.5}, "a whole number, found 2.5"),
        ({"method": "gradient", "targets": [0]}, "2 texts but targets of shape"),
        ({"method": "gradient", "targets": [0, 5]}, "target 5 of example 1"),
    ],
)
def test_bad_arguments_are_named(classifiers, arguments, message):
    targets = arguments.pop("targets", [0, 1])
    with pytest.raises(InputError, match=message):
        exparity.explain(classifiers["bert"], ["She sings .", "He sings ."], targets, **arguments)


def test_method_that_loses_tokens_is_refused(classifiers, monkeypatch):
    entry = METHODS.get("gradient")
    broken = type(entry)(
        entry.id, lambda batch: [np.zeros(1)] * len(batch), entry.facts, entry.source
    )
    monkeypatch.setitem(METHODS._entries, "gradient", broken)
    with pytest.raises(ExparityError, match="one score per token"):
        exparity.explain(classifiers["bert"], ["She sings ."], [0], method="gradient")
