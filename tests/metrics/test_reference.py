"""Metrics against cases solved by hand and against naive loops in float64."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from engine.exact import ExactModel
from hypothesis import given
from hypothesis import strategies as st
from metrics.loops import naive_gini, naive_sets
from metrics.sweep import drawn, explanation, value

import exparity
from exparity.metrics import evaluate_keyed
from exparity.metrics.removal import LEAST_SPAN, TENTHS, Steps, top_sets

pytestmark = pytest.mark.reference
SCORES = st.lists(st.floats(-10, 10, allow_subnormal=False), min_size=1, max_size=15)


# Gini


@given(SCORES)
def test_gini_equals_the_loop(scores):
    expected = naive_gini(scores)
    found = value("gini", scores)
    assert (math.isnan(found) and math.isnan(expected)) or found == pytest.approx(
        max(expected, 0), abs=1e-9
    )


@given(SCORES, st.floats(1e-12, 1.0))
def test_an_epsilon_is_added_to_every_score(scores, epsilon):
    total = math.fsum(abs(s) for s in scores)
    moved = [abs(s) / total + epsilon if total else epsilon for s in scores]
    expected = max(naive_gini(moved), 0)
    assert value("gini", scores, epsilon=epsilon) == pytest.approx(expected, abs=1e-9)
    assert value("gini", [0.0] * len(scores), epsilon=epsilon) == pytest.approx(0, abs=1e-12)


# Sparsity


def naive_sparsity(scores, tau):
    total = math.fsum(abs(s) for s in scores)
    return sum(abs(s) / total >= tau if total else 0 for s in scores) / len(scores)


@given(SCORES, st.sampled_from([0.01, 0.1, 0.37]))
def test_sparsity_equals_the_loop(scores, tau):
    total = math.fsum(abs(s) for s in scores)
    near = any(total and abs(abs(s) / total - tau) < 1e-9 for s in scores)
    if not near:  # at the threshold rounding decides
        assert value("sparsity", scores, tau=tau) == pytest.approx(naive_sparsity(scores, tau))


def test_special_tokens_share_the_norm_but_are_not_scored():
    special = [True, False, False, True]
    one = explanation([6, 1, 2, 1], special_mask=special)
    # over the content: 1/3 and 2/3; over the sequence: 0.1 and 0.2
    assert exparity.evaluate(None, [one], "sparsity", tau=0.15)[0] == 1.0
    found = exparity.evaluate(None, [one], "sparsity", tau=0.15, normalise_over="sequence")
    assert found[0] == 0.5
    assert exparity.evaluate(None, [one], "gini")[0] == pytest.approx(naive_gini([1, 2]))


# Removal curve


def test_steps_of_the_same_tokens_count_once_in_any_order():
    scores = np.arange(1.0, 11.0)
    steps = [
        Steps("fraction", thresholds, False) for thresholds in ((0.1, 0.5, 0.5), (0.5, 0.1, 0.5))
    ]
    sizes = [
        [int(s.sum()) for s in top_sets(scores, np.ones(10, dtype=bool), one)] for one in steps
    ]
    assert sizes == [[1, 5], [5, 1]]


@given(
    st.lists(st.sampled_from([-0.4, -0.1, 0.0, 0.05, 0.1, 0.3, 0.6]), min_size=1, max_size=30),
    st.sampled_from(["fraction", "threshold"]),
    st.booleans(),
    st.sampled_from(["distinct", "all"]),
    st.data(),
)
def test_top_sets_equal_the_loop(scores, based_on, only_positive, average_over, data):
    special = data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores)))
    special[0] = False
    arguments = based_on, TENTHS, only_positive, average_over
    found = top_sets(np.array(scores), ~np.array(special), Steps(*arguments))
    expected = naive_sets(scores, special, *arguments)
    assert [set(np.flatnonzero(s).tolist()) for s in found] == expected


def test_fraction_steps_are_exact_floors():
    for n in range(1, 600):
        sets = top_sets(np.ones(n), np.ones(n, bool), Steps("fraction", TENTHS, True))
        sizes = [int(s.sum()) for s in sets]
        assert sizes == sorted({j * n // 10 for j in range(1, 11)} - {0})


def naive_curve(classifier, one, keep, based_on="fraction", average_over="distinct", least=None):
    """One text at a time, through the plain model in float64; normalised if there is a least."""
    exact = ExactModel(classifier)
    ids = one.token_ids.tolist()
    special = one.special_mask.tolist()
    whole = exact.probability_of(ids, one.target)

    def fall(left):
        return whole - exact.probability_of(left or classifier.empty_ids, one.target)

    total = math.fsum(abs(s) for s in one.scores)
    scores = [s / total for s in one.scores]
    drops = []
    for step in naive_sets(scores, special, based_on, TENTHS, True, average_over):
        kept = [special[p] or p in step if keep else p not in step for p in range(len(ids))]
        drops.append(fall([i for i, stays in zip(ids, kept, strict=True) if stays]))
    mean = math.fsum(drops) / len(drops) if drops else float(keep)
    span = fall([i for p, i in enumerate(ids) if special[p]])
    if least is None:
        return mean
    if abs(span) < least:
        return math.nan
    return mean / span if drops else float(keep)


@pytest.fixture
def explanations(classifier, sentences):
    """Of six texts; in the last no token speaks for the target, so that no step takes one."""
    *made, last = drawn(classifier, sentences[:6])
    return [*made, replace(last, scores=-np.abs(last.scores))]


@pytest.mark.parametrize(("metric", "keep"), [("comprehensiveness", False), ("sufficiency", True)])
def test_normalised_faithfulness_equals_the_loop(classifier, explanations, metric, keep):
    """Where the empty text is as likely it is undefined, and the note counts it."""
    notes, keys = Counter(), [one.text for one in explanations]
    found = evaluate_keyed(classifier, explanations, keys, metric, 0, {"normalised": True}, notes)
    expected = [naive_curve(classifier, one, keep, least=LEAST_SPAN) for one in explanations]
    np.testing.assert_allclose(found, expected, rtol=1e-3)
    assert notes["alike_when_empty"] == np.isnan(expected).sum()


@pytest.mark.parametrize("least", [0.0, math.inf])
def test_the_least_fall_to_the_empty_text_decides(classifier, explanations, monkeypatch, least):
    monkeypatch.setattr("exparity.metrics.removal.LEAST_SPAN", least)
    found = exparity.evaluate(classifier, explanations, "sufficiency", normalised=True)
    assert np.isnan(found).tolist() == [least > 0] * len(explanations)
    assert least > 0 or found[-1] == 1.0  # nothing is kept, which is the empty text


@pytest.mark.parametrize(("metric", "keep"), [("comprehensiveness", False), ("sufficiency", True)])
@pytest.mark.parametrize(
    ("based_on", "average_over"), [("fraction", "distinct"), ("threshold", "all")]
)
def test_faithfulness_equals_the_loop(
    classifier, explanations, metric, keep, based_on, average_over
):
    options = {"based_on": based_on, "average_over": average_over}
    found = exparity.evaluate(classifier, explanations, metric, **options)
    expected = [naive_curve(classifier, one, keep, **options) for one in explanations]
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.sweep
@pytest.mark.parametrize("options", [{}, {"based_on": "threshold", "average_over": "all"}])
@pytest.mark.parametrize(
    ("method", "given"),
    [("gradient_x_input", {}), ("lime", {"num_samples": 40}), ("uniform_random", {})],
)
def test_class_comprehensiveness_equals_the_loop_over_classes(
    pair_classifiers, sentences, method, given, options
):
    """Each class by the explanation that the method gives for it, whichever was handed in."""
    classifier, texts = pair_classifiers["bert"], sentences[:4]  # of three classes
    by_class = [
        exparity.explain(classifier, texts, target, method, 7, **given)
        for target in range(classifier.n_classes)
    ]
    expected = [
        np.mean([naive_curve(classifier, one, False, **options) for one in of_classes])
        for of_classes in zip(*by_class, strict=True)
    ]
    assert np.ptp(expected) > 0
    for explanations in (*by_class, [by_class[i % 2][i] for i in range(len(texts))]):
        found = exparity.evaluate(classifier, explanations, "class_comprehensiveness", **options)
        np.testing.assert_allclose(found, expected, atol=1e-5)
