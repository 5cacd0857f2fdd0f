"""What every registered metric must do, and what it is held to."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.training import (
    KINDS,
    METHOD_IDS,
    ONE_OF_EACH_KIND,
    TARGETS,
    TEXTS,
    check_invariance,
)
from methods.training import explained as explained_quickly
from metrics.sweep import bits_of, drawn, evaluated, explanation, with_marks

import exparity
from exparity import ExparityError, Explanation, InputError
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.metrics._arrays import l1_normalised
from exparity.metrics.foresight import FEWEST_UNITS

pytestmark = pytest.mark.usefixtures("one_thread")
FEWER = settings(max_examples=settings.default.max_examples // 4)
INF = float("inf")
BY_SIZE = ("soft_comprehensiveness", "soft_sufficiency", "flip_sensitivity")
"""Metrics that rank tokens by absolute attribution: turning the sign does not invert them."""
TOGETHER = [metric for metric in METRICS.ids() if METRICS.get(metric).facts.scores_together]
"""Metrics whose value of a text depends on the other texts."""


@pytest.fixture(params=METRICS.ids())
def metric(request):
    return request.param


@cache
def explained(classifier, method="gradient_x_input"):
    return list(map(with_marks, explained_quickly(classifier, TEXTS, TARGETS, method)))


def reruns(metric):
    """Whether a metric runs the method again, so that explanations must come from one."""
    return METRICS.get(metric).facts.needs == "explainer"


@pytest.mark.bits
@pytest.mark.property
@pytest.mark.parametrize(
    "metric", [m for m in METRICS.ids() if m not in ("sensitivity", *TOGETHER)]
)
def test_bits_depend_on_neither_batch_nor_order_nor_shard_nor_budget(classifier, metric):
    run = bits_of(classifier, explained(classifier), metric)
    check_invariance(classifier, run, len(TEXTS))


@pytest.mark.bits
@pytest.mark.property
@pytest.mark.parametrize("metric", TOGETHER)
@FEWER
@given(order=st.permutations(range(len(TEXTS))))
def test_bits_of_texts_that_are_scored_together_do_not_depend_on_their_order(
    classifiers, metric, order
):
    classifier = classifiers["bert"]
    run = bits_of(classifier, explained(classifier), metric)
    expected = run(range(len(TEXTS)))
    assert run(order) == [expected[row] for row in order]
    assert run([]) == []


@pytest.mark.bits
@pytest.mark.property
@pytest.mark.sweep
@pytest.mark.parametrize("method", ONE_OF_EACH_KIND)
def test_bits_of_sensitivity_do_not_for_any_method(classifier, method):
    run = bits_of(classifier, explained(classifier, method), "sensitivity")
    check_invariance(classifier, run, len(TEXTS), examples=1)


def marks_of(metric, method):
    return () if reruns(metric) or method in KINDS else pytest.mark.exhaustive


@pytest.mark.property
@pytest.mark.sweep
@pytest.mark.parametrize(
    ("metric", "method"),
    [
        pytest.param(metric, method, marks=marks_of(metric, method))
        for metric in METRICS.ids()
        for method in METHOD_IDS
    ],
)
def test_every_metric_takes_every_method(classifiers, method, metric):
    """Values out of its bounds would be refused, see below."""
    classifier = classifiers["bert"]
    found = evaluated(classifier, explained(classifier, method), metric)
    if metric == "class_comprehensiveness" and METHODS.get(method).facts.needs_training:
        assert np.isnan(found).all()  # what the method works with is not at hand
        return
    fewest = FEWEST_UNITS if METRICS.get(metric).facts.needs == "foresight" else 2
    multiple = np.array([len(text.split()) >= fewest for text in TEXTS])
    assert multiple.any()
    assert np.isfinite(found[multiple]).all()


@pytest.mark.property
def test_only_stochastic_metrics_depend_on_the_seed(classifiers, metric):
    classifier = classifiers["bert"]
    one, other = (evaluated(classifier, explained(classifier), metric, s) for s in (1, 2))
    assert (one.tobytes() != other.tobytes()) == METRICS.get(metric).facts.stochastic


@pytest.mark.property
def test_scale_of_the_scores_does_not_matter(classifier, metric):
    if reruns(metric):
        pytest.skip("compares with scores that the method gives again, on their own scale")
    made = explained(classifier)
    scaled = [dataclasses.replace(e, scores=e.scores * 1000) for e in made]
    found, expected = (evaluated(classifier, given, metric) for given in (scaled, made))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def single_token_effects(classifier, targets):
    """An oracle for faithfulness, from the model: what each token takes away and what it brings.

    The fall in probability without the token, and the rise from the bare frame with it alone.
    """

    def scorer(encoding, index):
        ids, special = encoding.token_ids, encoding.special_mask
        without = [np.delete(ids, i) for i in range(len(ids))]
        alone = [ids[special | (np.arange(len(ids)) == i)] for i in range(len(ids))]
        found = classifier.probabilities([ids, ids[special], *without, *alone])[:, targets[index]]
        n = len(ids)
        return (found[0] - found[2 : n + 2]) + (found[n + 2 :] - found[1])

    return scorer


@pytest.mark.parametrize(
    "metric", [id for id in METRICS.ids() if METRICS.get(id).facts.runs_model and not reruns(id)]
)
def test_oracle_beats_random_beats_inverted(trained, metric):
    """In the declared direction, on a trained model, in the mean over texts."""
    classifier, texts, targets = trained
    texts, targets = texts[::8], targets[::8]
    facts = METRICS.get(metric).facts
    oracle = single_token_effects(classifier, targets)
    scorers = [oracle, None, lambda e, i: -oracle(e, i)]
    if metric in BY_SIZE:
        scorers[2] = lambda e, i: 1 / (1e-3 + np.abs(oracle(e, i)))
    means = []
    for scorer in scorers:
        made = list(map(with_marks, drawn(classifier, texts, targets, scorer)))
        options = {"steps": 3, "bisections": 4, "max_tokens": 2, "draws": 20, "num_samples": 1}
        options = {
            name: x
            for name, x in options.items()
            if name in METRICS.get(metric).options.model_fields
        }
        means.append(np.nanmean(exparity.evaluate(classifier, made, metric, **options)))
    best, middle, worst = means if facts.direction == "higher" else [-m for m in means]
    assert best > middle > worst, dict(zip(["oracle", "random", "inverted"], means, strict=True))


def test_unfinite_scores_are_undefined_not_a_number(classifier, metric):
    made = explained(classifier)[0]
    broken = dataclasses.replace(made, scores=np.full(len(made), np.nan))
    assert np.isnan(evaluated(classifier, [broken], metric)).all()


@pytest.mark.contract
def test_only_metrics_that_run_it_need_a_classifier_and_ids(classifier, metric):
    made = explained(classifier)
    by_hand = explanation([0.9, 0.1], [1, 0], changed_words=[1, 0])
    if not METRICS.get(metric).facts.needs_classifier:
        alone, beside = (evaluated(given, made, metric) for given in (None, classifier))
        np.testing.assert_array_equal(alone, beside)
        others = [Explanation("u", 1, tokens=["u"], scores=[0.5])] if metric in TOGETHER else []
        assert np.isfinite(evaluated(None, [by_hand, *others], metric)).all()
        return
    with pytest.raises(InputError, match="needs a classifier"):
        evaluated(None, made, metric)
    with pytest.raises(InputError, match="needs token_ids"):
        evaluated(classifier, [by_hand], metric)


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        ("ginni", {}, "unknown metric 'ginni'; did you mean 'gini'"),
        ("gini", {"tau": 1}, "unknown option 'tau'"),
        ("sparsity", {"tau": "x"}, "tau: Input should be a valid number, found 'x'"),
        (
            "sufficiency",
            {"thresholds": [0.0]},
            r"^metric sufficiency\.thresholds\[0\]: Input should be greater than 0, found 0\.0$",
        ),
        ("sensitivity", {}, "must come from exparity.explain"),
    ],
)
def test_bad_arguments_are_named(classifiers, metric, options, message):
    classifier = classifiers["bert"]
    made = list(map(with_marks, drawn(classifier, TEXTS[:2])))
    with pytest.raises(InputError, match=message):
        exparity.evaluate(classifier, made, metric, **options)


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e300])
def test_normalisation_survives_extreme_scales(scale):
    found = l1_normalised(np.array([3.0, -1.0]) * scale)
    np.testing.assert_allclose(found, [0.75, -0.25])


ONE = explanation([1, 3], [1, 0], token_ids=[1, 2], special_mask=[0, 0])


@pytest.fixture
def replaced(monkeypatch):
    """Return a function that puts another function, and other bounds, in a metric's place."""

    def replace(metric, function, bounds=(0.0, 1.0)):
        entry = METRICS.get(metric)
        facts = dataclasses.replace(entry.facts, bounds=bounds)
        broken = dataclasses.replace(entry, function=function, facts=facts)
        monkeypatch.setitem(METRICS._entries, metric, broken)

    return replace


@pytest.mark.contract
@pytest.mark.parametrize(
    ("returned", "bounds", "message"),
    [
        ([[0.5]], (0, 1), "one value per explanation"),
        ([INF], (0, INF), r"gives inf, and says bounds=\(0, inf\); undefined values are NaN"),
        ([1.5], (0, 1), r"metric gini: gives 1.5, and says bounds=\(0, 1\)"),
    ],
)
def test_what_is_not_declared_is_refused(replaced, returned, bounds, message):
    replaced("gini", lambda scores, mask: returned, bounds)
    with pytest.raises(ExparityError, match=message):
        exparity.evaluate(None, [ONE], "gini")


@pytest.mark.contract
@pytest.mark.parametrize("value", [np.nan, 1.0, 1 + 1e-12, -1e-12, True, 0])
def test_undefined_values_and_rounding_are_not(replaced, value):
    replaced("gini", lambda scores, mask: [value])
    np.testing.assert_array_equal(exparity.evaluate(None, [ONE], "gini"), [value])


@pytest.mark.contract
def test_masked_values_are_undefined(replaced):
    hidden = np.ma.array([0.5, 0.25], mask=[True, False])
    replaced("gini", lambda scores, mask: hidden[:1])
    assert np.isnan(exparity.evaluate(None, [ONE], "gini")).all()
    replaced("gini", lambda scores, mask: hidden[1:])
    np.testing.assert_array_equal(exparity.evaluate(None, [ONE], "gini"), [0.25])
    undefined = exparity.compare_groups(np.ma.array([1.0, 2, 3, 0], mask=[0, 0, 0, 1]), [*"aabb"],
                                        ("a", "b"))  # fmt: skip
    assert undefined.n_undefined == 1


def adding(*arrays):
    arrays[0][:] += 1


def reach(read):
    def write(batch):
        read(batch)[...] = 0

    return write


@pytest.mark.contract
@pytest.mark.parametrize(
    ("metric", "function"),
    [
        ("gini", adding),
        ("mass_accuracy", lambda scores, rationale, words: rationale.fill(True)),
        ("sufficiency", reach(lambda batch: batch.token_ids[0])),
        ("sufficiency", reach(lambda batch: batch.scores[0])),
        ("sufficiency", reach(lambda batch: batch.explanations[0].word_ids)),
    ],
)
def test_inputs_cannot_be_written_to(replaced, classifiers, metric, function):
    replaced(metric, function)
    with pytest.raises(ExparityError, match=f"^'{metric}' in .*: writes to a read-only array"):
        exparity.evaluate(classifiers["bert"], [ONE], metric)


@pytest.mark.contract
def test_arrays_of_the_caller_stay_as_they_are():
    scores, ids = np.array([1.0, 3.0]), np.array([1, 2])
    made = Explanation(text="a b", target=1, token_ids=ids, tokens=["a", "b"], scores=scores)
    scores[0], ids[0] = 2.0, 3  # not read-only, and not those of the explanation
    assert (made.scores.tolist(), made.token_ids.tolist()) == ([1.0, 3.0], [1, 2])
