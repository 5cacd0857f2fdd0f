"""What sweeps over methods give them: small options, and a training split where one is needed."""

from itertools import chain
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import exparity
from exparity.methods import METHODS

METHOD_IDS = [
    id
    for id in METHODS.ids()
    if not (METHODS.get(id).facts.path_options or METHODS.get(id).facts.writes)
]
"""All but those that read files, of which a sweep has none, and those that a prompt is for."""
FACTS = ("needs_gradient", "adaptive", "stochastic", "needs_training", "model_free")
_BY_FACTS = {tuple(getattr(METHODS.get(id).facts, f) for f in FACTS): id for id in METHOD_IDS}
KINDS = {*_BY_FACTS.values()}
"""A method of each kind, by its facts."""
ONE_OF_EACH_KIND = [
    id if id in KINDS else pytest.param(id, marks=pytest.mark.exhaustive) for id in METHOD_IDS
]
QUICK = {"n_steps": 3, "num_samples": 12, "max_evals": 12, "n_samples": 6}
"""Smaller values of options that set the cost, for methods that have them."""
QUICK_OPTIONS = {"lime_package": {"num_samples": 12}, "shap_package": {"max_evals": 12}}
"""The same of explainers of other packages, whose options are one mapping."""
LEARNT = [
    "She sings .",
    "The girl sings near the harbour .",
    "Her mother thanked the waitress .",
    "he",
    "The boy sings .",
    "His father thanked the waiter near the harbour .",
]
LABELS = [0, 0, 0, 1, 1, 1]
TEXTS = [
    "She sings .",
    "he",
    "The girl sings .",
    "His mother thanked the waiter .",
    "The boy sings .",  # as long as another
    "She sings .",  # the same again, for another class
]
TARGETS = [0, 1, 0, 1, 1, 1]


def known(options, entry):
    """The options that a method or metric has."""
    return {name: value for name, value in options.items() if name in entry.options.model_fields}


def quick(method):
    options = {"options": QUICK_OPTIONS[method]} if method in QUICK_OPTIONS else {}
    return {**known(QUICK, METHODS.get(method)), **options}


def training_for(method):
    """Keyword arguments of exparity.explain: a training split, if the method needs one."""
    needs = METHODS.get(method).facts.needs_training
    return {"training": (LEARNT, LABELS)} if needs else {}


def explained(classifier, texts, targets, method, seed=0, **options):
    """Explanations by any method, quickly."""
    given = {**quick(method), **training_for(method), **options}
    return exparity.explain(classifier, texts, targets, method, seed, **given)


def scores_of(explanations):
    """The scores of all tokens of explanations, one after the other."""
    return np.concatenate([one.scores for one in explanations])


def check_invariance(classifier, run, count, examples=3):
    """Check that each row has the same bits alone and in any batch, order, shard and budget.

    ``run`` takes numbers of rows, and returns the bytes of what each of them gives.
    """
    expected = run(range(count))
    assert [run([row])[0] for row in range(count)] == expected
    assert run([]) == []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(st.permutations(range(count)), st.integers(1, count), st.integers(1, 300))
    def check(order, shard, budget):
        with mock.patch.object(classifier, "token_budget", budget):
            parts = [run(order[first : first + shard]) for first in range(0, count, shard)]
        assert list(chain(*parts)) == [expected[row] for row in order]

    check()
