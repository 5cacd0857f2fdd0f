"""Metrics against the rationale: by hand, beside loops and scikit-learn, and word by word.

Attribution on group terms is a share as mass accuracy is, on the words that a counterfactual
changes.
"""

import math
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from metrics.sweep import explanation, value
from sklearn import metrics as sklearn_metrics

import exparity
from exparity import InputError
from exparity.metrics import METRICS

pytestmark = pytest.mark.reference
MARKS = {"mass_accuracy": "rationale", "term_attribution": "changed_words"}
COMPARING = [id for id in METRICS.ids() if METRICS.get(id).facts.needs == "rationale"]


@st.composite
def texts(draw, full=True):
    """Scores with many ties and zeros, and a rationale that is not empty."""
    n = draw(st.integers(1 if full else 2, 9))
    scores = draw(st.lists(st.integers(-4, 4).map(lambda x: x / 8), min_size=n, max_size=n))
    marks = draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    assume(any(marks) and (full or not all(marks)))
    return scores, marks


# By hand


@pytest.mark.parametrize("metric", COMPARING)
def test_a_perfect_explanation_has_one(metric):
    """Not so in a published top-k precision, which takes marks for positions."""
    assert value(metric, [0, 0.3, 0, 0.3, 0, 0, 0, 0], [0, 1, 0, 1, 0, 0, 0, 0]) == 1


def test_the_mean_length_of_rationales_leaves_out_empty_ones():
    """By hand: lengths 1, 3 and 4 have the mean 2.67, so that three words are selected."""
    marks = [[1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0], None]
    explanations = [explanation([4, 3, 2, 1], one) for one in marks]
    for metric in ("rationale_token_f1", "rationale_iou", "rationale_top_k_precision"):
        found = exparity.evaluate(None, explanations, metric, top_k="mean")
        np.testing.assert_array_equal(found, exparity.evaluate(None, explanations, metric, top_k=3))
        assert np.isnan(found).tolist() == [False, False, False, True, True]
        (alone,) = exparity.evaluate(None, explanations[:1], metric, top_k="mean")
        assert alone == value(metric, [4, 3, 2, 1], marks[0], top_k=1)


# Beside loops and scikit-learn


def naive_precision_at(scores, marks, specificity):
    best = None
    for threshold in scores:
        selected = [m for s, m in zip(scores, marks, strict=True) if s >= threshold]
        others = marks.count(0)
        left_out = others - selected.count(0)
        allows = left_out * 1000 >= round(specificity * 1000) * others
        if allows and (best is None or threshold < best[0]):
            best = threshold, sum(selected) / len(selected)
    return best[1] if best else 0.0


def ways_to_select(scores, k):
    """Every set of k highest words; several where the last of them is one of equals."""
    last = sorted(scores, reverse=True)[k - 1] if k else math.inf
    sure = [i for i, s in enumerate(scores) if s > last]
    tied = [i for i, s in enumerate(scores) if s == last]
    return [{*sure, *more} for more in combinations(tied, k - len(sure))]


def naive_selected(formula, scores, marks, k):
    true = {i for i, m in enumerate(marks) if m}
    ways = ways_to_select(scores, k)
    return sum(formula(way, true) for way in ways) / len(ways)


FORMULAS = {
    "rationale_top_k_precision": lambda s, r: len(s & r) / len(s),
    "rationale_token_f1": lambda s, r: 2 * len(s & r) / (len(s) + len(r)),
    "rationale_iou": lambda s, r: len(s & r) / len(s | r),
}


@given(texts())
@example(([0.0, 0.0], [1, 0]))
def test_mass_accuracy_equals_the_loop(text):
    scores, marks = text
    total = math.fsum(map(abs, scores))
    expected = math.fsum(abs(s) for s, m in zip(scores, marks, strict=True) if m)
    found = value("mass_accuracy", scores, marks)
    assert math.isnan(found) if total == 0 else found == pytest.approx(expected / total)


@given(texts(full=False))
def test_curves_equal_scikit_learn(text):
    scores, marks = text
    sizes = np.abs(scores)
    expected = sklearn_metrics.roc_auc_score(marks, sizes)
    assert value("rationale_roc_auc", scores, marks) == pytest.approx(expected)
    expected = sklearn_metrics.average_precision_score(marks, sizes)
    assert value("rationale_auprc", scores, marks) == pytest.approx(expected)
    precision, recall, _ = sklearn_metrics.precision_recall_curve(marks, sizes)
    expected = sklearn_metrics.auc(recall, precision)
    found = value("rationale_auprc", scores, marks, interpolation="linear")
    assert found == pytest.approx(expected)


@given(texts(full=False), st.sampled_from([0.25, 0.5, 0.75, 0.9, 1.0]))
@example(([0.5] + [0.25] * 10, [1] + [0] * 10), 0.9)
@example(([0.5, 0.5] + [0.25] * 9, [1, 0] + [0] * 9), 0.9)  # one of ten may pass
def test_precision_at_specificity_equals_the_loop(text, specificity):
    scores, marks = text
    sizes = [abs(s) for s in scores]
    found = value("rationale_precision_at_specificity", scores, marks, specificity=specificity)
    assert found == pytest.approx(naive_precision_at(sizes, marks, specificity))


@given(texts(), st.none() | st.integers(1, 10), st.sampled_from(sorted(FORMULAS)))
def test_selections_equal_all_ways_to_break_ties(text, top_k, metric):
    scores, marks = text
    sizes = [abs(s) for s in scores]
    k = min(top_k or sum(marks), len(scores))
    if metric != "rationale_top_k_precision":
        k = min(k, sum(size > 0 for size in sizes))
    expected = naive_selected(FORMULAS[metric], sizes, marks, k) if k else 0.0
    assert value(metric, scores, marks, top_k=top_k) == pytest.approx(expected)


# Properties


@pytest.mark.property
@pytest.mark.parametrize("metric", COMPARING)
@settings(max_examples=25)
@given(data=st.data())
def test_range_scale_sign_and_order(metric, data):
    scores, marks = data.draw(texts())
    scores, marks = np.array(scores), np.array(marks)
    found = value(metric, scores, marks)
    assert math.isnan(found) or 0 <= found <= 1
    factor = data.draw(st.floats(1e-6, 1e6))
    order = data.draw(st.permutations(range(len(scores))))
    for again in (
        value(metric, scores * factor, marks),
        value(metric, -scores, marks),
        value(metric, np.abs(scores), marks, attribution="positive"),
        value(metric, scores[order], marks[order]),
    ):
        np.testing.assert_allclose(again, found, atol=1e-9)


# Undefined


@pytest.mark.parametrize("metric", [*COMPARING, "term_attribution"])
def test_an_empty_rationale_is_undefined(metric):
    name = MARKS.get(metric, "rationale")
    batch = [explanation([0.2, 0.1], **{name: marks}) for marks in ([0, 0], [1, 0], None)]
    found = exparity.evaluate(None, batch, metric)
    assert np.isnan(found).tolist() == [True, False, True]


def test_rationales_may_be_given_beside_the_explanations():
    metric = "mass_accuracy"
    bare = [explanation([0.3, 0.1, 0.2], None), explanation([0.1, 0.4], None)]
    marks = [[0, 0, 1], [0, 1]]
    with_marks = [replace(e, rationale=m) for e, m in zip(bare, marks, strict=True)]
    found = exparity.evaluate(None, bare, metric, rationales=marks)
    np.testing.assert_array_equal(found, exparity.evaluate(None, with_marks, metric))
    with pytest.raises(InputError, match=f"metric {metric}: .* give `rationales`"):
        exparity.evaluate(None, bare, metric)
    with pytest.raises(InputError, match="1 rationales for 2 explanations"):
        exparity.evaluate(None, bare, metric, rationales=marks[:1])
    with pytest.raises(InputError, match="give `changed_words`"):
        exparity.evaluate(None, with_marks, "term_attribution")


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        ([0, 2], "must be a list of 0 or 1"),
        ([1], "its tokens are of 2 words, but the rationale has 1 marks"),
    ],
)
def test_bad_rationales_are_refused(marks, message):
    with pytest.raises(InputError, match=message):
        explanation([0.1, 0.2], marks)
    with pytest.raises(InputError, match=message.replace("rationale", "changed_words")):
        explanation([0.1, 0.2], changed_words=marks)


# Words


@pytest.mark.parametrize("metric", MARKS)
def test_sub_tokens_are_summed_to_words(metric):
    """[CLS] the wait ##ress [SEP]: |−1| and 3 are of one word, special tokens of none."""
    one = explanation(
        [9, 2, -1, 3, 9],
        **{name: [int(name != MARKS[metric]), 1] for name in MARKS.values()},
        special_mask=[True, False, False, False, True],
        word_ids=[-1, 0, 1, 1, -1],
    )
    assert exparity.evaluate(None, [one], metric)[0] == pytest.approx(4 / 6)
    if metric == "mass_accuracy":
        found = exparity.evaluate(None, [one], metric, attribution="positive")
        assert found[0] == pytest.approx(3 / 5)


def test_words_that_were_cut_away_have_no_attribution():
    one = explanation([3, 1], [0, 1, 1, 0])
    assert exparity.evaluate(None, [one], "mass_accuracy")[0] == 1 / 4
    # 3 > 1 > 0 = 0: of the pairs the others win one, and one is a tie.
    assert exparity.evaluate(None, [one], "rationale_roc_auc")[0] == (1 + 0.5) / 4


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mass_accuracy", {}),
        ("rationale_roc_auc", {}),
        ("rationale_auprc", {}),
        ("rationale_top_k_precision", {}),
        ("rationale_top_k_precision", {"top_k": 2}),
        ("rationale_token_f1", {"top_k": 2}),
        ("rationale_token_f1", {"top_k": None}),
        ("rationale_iou", {"top_k": 3}),
    ],
)
def test_the_value_at_random_is_the_mean_over_all_orders_of_words(name, options):
    """A loop over every order of five different scores, by plain numbers."""
    scores = [0.1, 0.2, 0.3, 0.4, 0.5]
    entry = METRICS.get(name)
    for marked in range(1, 5):
        marks = np.arange(5) < marked
        orders = np.array([*permutations(scores)])
        same = np.ones(orders.shape, dtype=bool)
        every = entry.function(orders, same & marks, same, **options)
        found = entry.facts.at_random(np.array([5]), np.array([marked]), **options)
        assert found[0] == pytest.approx(float(every.mean()), abs=1e-12)
