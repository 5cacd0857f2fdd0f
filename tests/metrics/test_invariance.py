"""Bits of a text's value do not depend on batch, order, shard or token budget."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from methods.training import METHOD_IDS, training_for
from support import marked

import exparity
from exparity import Explanation
from exparity.methods import METHODS
from exparity.metrics import METRICS

QUICK = {"draws": 2, "num_samples": 3, "steps": 2, "bisections": 3, "max_tokens": 3}
METHOD_QUICK = {"n_steps": 3, "num_samples": 8, "max_evals": 10, "n_samples": 6}
TEXTS = [
    "She sings .",
    "he",
    "The girl sings .",
    "His mother thanked the waiter .",
    "The boy sings .",  # as long as another
    "She sings .",  # the same again, for another class
]
TARGETS = [0, 1, 0, 1, 1, 1]


def of(options, known):
    return {k: v for k, v in options.items() if k in known}


@cache
def explained(classifier, method):
    params = of(METHOD_QUICK, METHODS.get(method).options)
    found = exparity.explain(classifier, TEXTS, TARGETS, method, **params, **training_for(method))
    return [with_rationale(e) for e in found]


def with_rationale(explanation):
    marks = marked(explanation.text)
    return replace(explanation, rationale=marks, changed_words=marks)


def run(classifier, explanations, metric, **more):
    params = {**of(QUICK, METRICS.get(metric).options), **more}
    if metric == "sensitivity":
        params["restarts"] = 2
    return exparity.evaluate(classifier, explanations, metric, **params)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def check_invariance(classifier, explanations, metric, examples):
    expected = run(classifier, explanations, metric)
    alone = [run(classifier, [one], metric)[0] for one in explanations]
    assert np.array(alone).tobytes() == expected.tobytes()
    before = classifier.token_budget

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.permutations(range(len(TEXTS))), st.integers(1, len(TEXTS)), st.integers(1, 300))
    def check(order, shard, budget):
        classifier.token_budget = budget
        parts = [
            run(classifier, [explanations[i] for i in order[first : first + shard]], metric)
            for first in range(0, len(order), shard)
        ]
        assert np.concatenate(parts).tobytes() == expected[list(order)].tobytes()

    try:
        check()
    finally:
        classifier.token_budget = before


@pytest.mark.property
@pytest.mark.parametrize("metric", [m for m in METRICS.ids() if m != "sensitivity"])
def test_alone_and_together_bit_for_bit(classifier, metric):
    check_invariance(classifier, explained(classifier, "gradient_x_input"), metric, 3)


@pytest.mark.property
@pytest.mark.parametrize("method", METHOD_IDS)
def test_sensitivity_of_every_method_bit_for_bit(classifier, method):
    check_invariance(classifier, explained(classifier, method), "sensitivity", 1)


@pytest.mark.parametrize("metric", METRICS.ids())
def test_padded_batches_as_on_a_gpu(classifier, metric, monkeypatch):
    """Texts of any length share batches there: equal but for rounding."""
    explanations = explained(classifier, "gradient_x_input")
    expected = run(classifier, explanations, metric)
    monkeypatch.setattr(classifier, "exact", False)
    found = run(classifier, explanations, metric)
    if metric == "flip_sensitivity":  # rounding may move a search by its last halving
        np.testing.assert_allclose(found, expected, atol=1 / 8 + 1e-9)
        assert np.isclose(found, expected).mean() >= 0.5
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.property
@pytest.mark.parametrize("metric", METRICS.ids())
@pytest.mark.parametrize("method", METHOD_IDS)
def test_every_metric_of_every_method_lies_in_its_bounds(classifiers, method, metric):
    classifier = classifiers["bert"]
    facts = METRICS.get(metric).facts
    found = run(classifier, explained(classifier, method), metric)
    if metric == "class_comprehensiveness" and METHODS.get(method).facts.needs_training:
        assert np.isnan(found).all()  # what the method works with is not at hand
        return
    multiple = np.array([len(text.split()) > 1 for text in TEXTS])
    assert np.isfinite(found[multiple]).all()
    low, high = facts.bounds
    assert ((found >= low) & (found <= high))[multiple].all()


@pytest.mark.property
@pytest.mark.parametrize("metric", METRICS.ids())
def test_only_stochastic_metrics_depend_on_the_seed(classifiers, metric):
    classifier = classifiers["bert"]
    explanations = explained(classifier, "gradient_x_input")
    one, same, other = (run(classifier, explanations, metric, seed=s).tobytes() for s in (1, 1, 2))
    assert one == same
    assert (one != other) == METRICS.get(metric).facts.stochastic


@pytest.mark.property
@pytest.mark.parametrize("metric", ["gini", "sparsity", "soft_retained_share"])
@given(data=st.data())
def test_order_of_tokens_does_not_matter(metric, data):
    scores = data.draw(st.lists(st.floats(-5, 5, allow_subnormal=False), min_size=1, max_size=9))
    special = [
        False,
        *data.draw(st.lists(st.booleans(), min_size=len(scores) - 1, max_size=len(scores) - 1)),
    ]
    order = data.draw(st.permutations(range(len(scores))))

    def value(places):
        one = Explanation(
            text="x",
            target=0,
            tokens=["t"] * len(places),
            scores=[scores[i] for i in places],
            special_mask=[special[i] for i in places],
        )
        return exparity.evaluate(
            None, [one], metric, **({"tau": 0.123} if metric == "sparsity" else {})
        )

    np.testing.assert_allclose(value(order), value(range(len(scores))), atol=1e-9)


@pytest.mark.parametrize("metric", METRICS.ids())
def test_text_that_was_cut(classifier, metric):
    """A metric sees the tokens that the method saw."""
    found = exparity.explain(classifier, ["The girl sings . " * 40], [1], "gradient_x_input")
    assert np.isfinite(run(classifier, [with_rationale(e) for e in found], metric)).all()


def test_constant_attributions(classifiers):
    """What each metric says of scores that are all the same."""
    classifier = classifiers["bert"]
    encoding = classifier.encode(["The girl sings ."])[0]
    one = Explanation(
        text=encoding.text,
        target=0,
        token_ids=encoding.token_ids,
        tokens=encoding.tokens,
        scores=np.ones(len(encoding)),
        special_mask=encoding.special_mask,
        word_ids=encoding.word_ids,
        rationale=marked(encoding.text),
        changed_words=marked(encoding.text),
    )
    found = {
        metric: run(classifier, [one], metric)[0]
        for metric in METRICS.ids()
        if METRICS.get(metric).facts.needs != "explainer"
    }
    undefined = {metric for metric, value in found.items() if np.isnan(value)}
    soft = {"soft_comprehensiveness", "soft_sufficiency", "soft_retained_share"}
    assert undefined == {"loo_correlation", *soft}
    assert found["gini"] == pytest.approx(0, abs=1e-12)
    assert found["sparsity"] == 1
    owners = encoding.word_ids[~encoding.special_mask]
    assert found["mass_accuracy"] == pytest.approx((owners == 1).mean())  # the second word's
    tokens = np.bincount(owners)  # a word's score is the sum of its tokens'
    others = np.delete(tokens, 1)
    wins = (tokens[1] > others) + 0.5 * (tokens[1] == others)
    assert found["rationale_roc_auc"] == pytest.approx(wins.mean())
