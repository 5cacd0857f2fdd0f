"""Bits of a text's scores do not depend on batch, order, shard or token budget."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from methods.training import LABELS as LEARNT_LABELS
from methods.training import METHOD_IDS, training_for
from methods.training import TEXTS as LEARNT

import exparity
from exparity import InputError
from exparity.methods import METHODS, explain_many

QUICK = {"n_steps": 3, "num_samples": 12, "max_evals": 12, "n_samples": 6}
TEXTS = [
    "She sings .",
    "he",
    "The girl sings .",
    "His mother thanked the waiter .",
    "The boy sings .",  # as long as another
    "She sings .",  # the same again, for another class
]
TARGETS = [0, 1, 0, 1, 1, 1]


def quick(method):
    return {k: v for k, v in QUICK.items() if k in METHODS.get(method).options}


def given_to(method):
    return {**quick(method), **training_for(method)}


def bits(found):
    return [one.scores.tobytes() for one in found]


@pytest.fixture(params=METHOD_IDS)
def method(request):
    return request.param


@pytest.fixture
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.property
def test_alone_and_together_bit_for_bit(classifier, method, one_thread):
    params = given_to(method)
    expected = bits(exparity.explain(classifier, TEXTS, TARGETS, method, **params))
    alone = [
        bits(exparity.explain(classifier, [text], [target], method, **params))[0]
        for text, target in zip(TEXTS, TARGETS, strict=True)
    ]
    assert alone == expected

    before = classifier.token_budget

    @settings(max_examples=3, suppress_health_check=list(HealthCheck))
    @given(st.permutations(range(len(TEXTS))), st.integers(1, len(TEXTS)), st.integers(1, 300))
    def check(order, shard, budget):
        classifier.token_budget = budget
        found = []
        for first in range(0, len(order), shard):
            rows = order[first : first + shard]
            found += bits(
                exparity.explain(
                    classifier,
                    [TEXTS[i] for i in rows],
                    [TARGETS[i] for i in rows],
                    method,
                    **params,
                )
            )
        assert found == [expected[i] for i in order]

    try:
        check()
    finally:
        classifier.token_budget = before


@pytest.mark.property
def test_only_stochastic_methods_depend_on_the_seed(classifier, method, one_thread):
    texts = ["His mother thanked the waiter ."]
    one, same, other = (
        bits(exparity.explain(classifier, texts, [1], method, seed=seed, **given_to(method)))
        for seed in (1, 1, 2)
    )
    assert one == same
    if not METHODS.get(method).facts.stochastic:
        assert one == other
    elif method not in ("shap", "captum"):  # whose draws only break ties; whose default has none
        assert one != other


@pytest.mark.property
def test_explain_many_equals_explain(classifier, one_thread):
    methods = {method: quick(method) for method in METHOD_IDS}
    learnt = (LEARNT, LEARNT_LABELS)
    found = explain_many(classifier, TEXTS, TARGETS, methods, seed=5, training=learnt)
    assert list(found) == METHOD_IDS
    for method in methods:
        alone = exparity.explain(classifier, TEXTS, TARGETS, method, seed=5, **given_to(method))
        assert bits(found[method]) == bits(alone)
        assert [one.origin for one in found[method]] == [one.origin for one in alone]


def test_work_is_shared(classifiers, monkeypatch):
    """One gradient serves two methods, and one path two others with equal steps."""
    classifier = classifiers["bert"]
    calls = []
    inner = classifier.input_gradients
    monkeypatch.setattr(
        classifier,
        "input_gradients",
        lambda sizes, *rest: (calls.append(len(sizes)), inner(sizes, *rest))[1],
    )
    steps = {"n_steps": 3}
    explain_many(
        classifier,
        TEXTS[:2],
        TARGETS[:2],
        {
            "gradient": {},
            "gradient_x_input": {},
            "integrated_gradients": steps,
            "integrated_gradients_x_input": steps,
        },
    )
    assert calls == [2, 6]


def test_origin_says_how_to_explain_again(classifiers, method):
    (one,) = exparity.explain(
        classifiers["bert"], TEXTS[:1], [0], method, seed=3, **given_to(method)
    )
    assert one.origin is not None
    assert (one.origin.method, one.origin.seed, one.origin.key) == (method, 3, one.text)
    assert dict(one.origin.params) == quick(method)


def test_texts_longer_than_the_model_takes_are_cut(classifier, method, caplog):
    long = "The girl sings . " * 40
    params = given_to(method)
    found, short = exparity.explain(classifier, [long, TEXTS[0]], [0, 1], method, **params)
    assert len(found) == classifier.max_length
    assert np.isfinite(found.scores).all()
    assert "were cut" in caplog.text
    assert bits([short]) == bits(exparity.explain(classifier, TEXTS[:1], [1], method, **params))


@pytest.mark.parametrize("empty", ["", "  \n ", []])
def test_empty_text_is_an_error(classifiers, method, empty):
    with pytest.raises(InputError, match="text 1: is empty"):
        exparity.explain(classifiers["bert"], ["She sings .", empty], [0, 1], method)


@pytest.mark.reference
def test_integrated_gradients_are_complete_on_a_trained_model(trained):
    """Each text's scores add up within 1 %.

    A trained model changes its mind within a short stretch of the path, so that it takes many
    steps: with the default of 50 sums were off by more than 100 % for half of these texts.
    """
    classifier, texts, targets = trained
    found = exparity.explain(
        classifier, texts[:2], targets[:2], "integrated_gradients_x_input", n_steps=2000
    )
    exact = ExactModel(classifier)
    for one in found:
        base = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        ends = [exact.logit(exact.rows(ids), one.target) for ids in (one.token_ids, base)]
        assert one.scores.sum() == pytest.approx(ends[0] - ends[1], rel=0.01)
