"""What every registered metric must do, swept over the registry."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
from support import marked

import exparity
from exparity import ExparityError, Explanation, InputError
from exparity.metrics import METRICS, metric_options
from exparity.metrics._arrays import l1_normalised

METRIC_IDS = METRICS.ids()
BY_SIZE = ("soft_comprehensiveness", "soft_sufficiency", "flip_sensitivity")
"""Metrics that rank tokens by absolute attribution: turning the sign does not invert them."""


@pytest.fixture(params=METRIC_IDS)
def metric(request):
    return request.param


QUICK = {"steps": 3, "bisections": 5, "draws": 20}
"""Smaller values of options that set the cost, for metrics that have them."""


def evaluate(classifier, explanations, metric, **more):
    own = METRICS.get(metric).options
    options = {k: v for k, v in QUICK.items() if k in own}
    return exparity.evaluate(classifier, explanations, metric, **options, **more)


def make(classifier, texts, scorer, targets=None):
    """Explanations with scores of any origin: ``scorer(encoding, index)``."""
    return [
        Explanation(
            text=e.text,
            target=i % 2 if targets is None else int(targets[i]),
            token_ids=e.token_ids,
            tokens=e.tokens,
            scores=scorer(e, i),
            special_mask=e.special_mask,
            word_ids=e.word_ids,
            rationale=marked(e.text),
            changed_words=marked(e.text),
        )
        for i, e in enumerate(classifier.encode(texts))
    ]


def random_scores(encoding, index):
    return np.random.default_rng(index).normal(size=len(encoding))


def reruns(metric):
    """Whether a metric runs the method again, so that explanations must come from one."""
    return METRICS.get(metric).facts.needs == "explainer"


def samples(classifier, texts, metric):
    """Explanations that a metric can work with, as varied as can be."""
    if reruns(metric):
        targets = [i % 2 for i in range(len(texts))]
        found = exparity.explain(classifier, texts, targets, method="gradient_x_input")
        return [dataclasses.replace(e, rationale=marked(e.text)) for e in found]
    return make(classifier, texts, random_scores)


@pytest.fixture
def explanations(classifier, sentences, metric):
    return samples(classifier, sentences[:6], metric)


def test_values_lie_in_the_declared_bounds(classifier, explanations, metric):
    low, high = METRICS.get(metric).facts.bounds
    found = evaluate(classifier, explanations, metric)
    assert found.shape == (len(explanations),)
    assert found.dtype == np.float64
    assert ((found >= low) & (found <= high)).all()
    assert np.ptp(found) > 0


def test_inputs_are_left_as_they_were(classifier, explanations, metric):
    before = copy.deepcopy(explanations)
    evaluate(classifier, explanations, metric)
    for one, other in zip(explanations, before, strict=True):
        for field in dataclasses.fields(one):
            assert np.array_equal(getattr(one, field.name), getattr(other, field.name))


def test_scale_of_the_scores_does_not_matter(classifier, explanations, metric):
    if reruns(metric):
        pytest.skip("compares with scores that the method gives again, on their own scale")
    scaled = [dataclasses.replace(e, scores=e.scores * 1000) for e in explanations]
    np.testing.assert_allclose(
        evaluate(classifier, scaled, metric),
        evaluate(classifier, explanations, metric),
        atol=1e-6,
    )


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


def concentrated(encoding, index):
    scores = np.full(len(encoding), 1e-6)
    scores[np.flatnonzero(~encoding.special_mask)[0]] = 1.0
    return scores


def spread(encoding, index):
    # Even over a handful of tokens, so that each is above sparsity's threshold; but for one, as the
    # retained share of equal scores is undefined.
    scores = np.where(encoding.special_mask, 0.0, 1.0)
    scores[np.flatnonzero(~encoding.special_mask)[0]] = 1 - 1e-6
    return scores


def on_rationale(encoding, index):
    marks = np.array([*marked(encoding.text), 0])  # of no word: not in the rationale
    return np.where(marks[encoding.word_ids], 1.0, 1e-3)


def off_rationale(encoding, index):
    return 1 / on_rationale(encoding, index)


def test_oracle_beats_random_beats_inverted(trained, metric):
    """In the declared direction, on a trained model, in the mean over texts."""
    classifier, texts, targets = trained
    texts, targets = texts[::4], targets[::4]
    facts = METRICS.get(metric).facts
    if reruns(metric):
        pytest.skip("a property of the method, not of one explanation")
    if facts.kind == "complexity":
        texts = [t for t in texts if len(t.split()) <= 8]
        scorers = [concentrated, random_scores, spread]
    elif facts.kind == "correctness":
        scorers = [on_rationale, random_scores, off_rationale]
    elif facts.kind == "reliance":
        scorers = [off_rationale, random_scores, on_rationale]
    else:
        oracle = single_token_effects(classifier, targets)
        scorers = [oracle, random_scores, lambda e, i: -oracle(e, i)]
        if metric in BY_SIZE:
            scorers[2] = lambda e, i: 1 / (1e-3 + np.abs(oracle(e, i)))
    means = []
    for scorer in scorers:
        found = evaluate(classifier, make(classifier, texts, scorer, targets), metric)
        means.append(np.nanmean(found))
    best, middle, worst = means if facts.direction == "higher" else [-m for m in means]
    if metric == "infidelity":  # whose line may fall: an explanation and its inverse are alike
        assert worst == pytest.approx(best)
        worst = -np.inf
    assert best > middle > worst, dict(zip(["oracle", "random", "inverted"], means, strict=True))


def test_unfinite_scores_are_undefined_not_a_number(classifier, explanations, metric):
    broken = dataclasses.replace(explanations[0], scores=np.full(len(explanations[0]), np.nan))
    found = evaluate(classifier, [broken, explanations[1]], metric)
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(evaluate(classifier, [explanations[1]], metric)[0], abs=1e-5)


def test_single_token_text(classifier, metric):
    found = evaluate(classifier, samples(classifier, ["she"], metric), metric)
    assert found.shape == (1,)


def test_no_explanation_gives_no_value(classifier, metric):
    assert evaluate(classifier, [], metric).shape == (0,)


def test_only_metrics_that_run_it_need_a_classifier(classifier, explanations, metric):
    if not METRICS.get(metric).facts.runs_model:
        np.testing.assert_array_equal(
            evaluate(None, explanations, metric),
            evaluate(classifier, explanations, metric),
        )
    else:
        with pytest.raises(InputError, match="needs a classifier"):
            evaluate(None, explanations, metric)


def test_hand_made_explanations_without_ids(classifiers, metric):
    one = Explanation(
        text="good film",
        target=1,
        tokens=["good", "film"],
        scores=[0.9, 0.1],
        rationale=[1, 0],
        changed_words=[1, 0],
    )
    if not METRICS.get(metric).facts.runs_model:
        assert np.isfinite(evaluate(None, [one], metric)).all()
    else:
        with pytest.raises(InputError, match="needs token_ids"):
            evaluate(classifiers["bert"], [one], metric)


def test_every_metric_has_the_options_of_its_kind(metric):
    """But those that compare raw attributions, which nothing normalises."""
    entry = METRICS.get(metric)
    needs, options = entry.facts.needs, metric_options(entry)
    assert ("normalise_over" in options) == (needs in ("attributions", "probabilities"))
    assert ("attribution" in options) == (needs in ("rationale", "counterfactual"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "ginni"}, "unknown metric 'ginni'; did you mean 'gini'"),
        ({"metric": "gini", "tau": 1}, "unknown option 'tau'"),
        ({"metric": "sparsity", "tau": "x"}, "tau: a number, found 'x'"),
        ({"metric": "sparsity", "normalise_over": "words"}, "one of sequence, content, found"),
        ({"metric": "comprehensiveness", "thresholds": [0.5, 1.5]}, r"\[1\]: 1.5 is out"),
        ({"metric": "sufficiency", "thresholds": [0.0]}, "above 0 and at most 1"),
        ({"metric": "soft_sufficiency", "num_samples": 0}, "num_samples: 0 is out of range"),
        (
            {"metric": "soft_comprehensiveness", "num_samples": -1},
            "num_samples: -1 is out",
        ),
        ({"metric": "soft_sufficiency", "retained_share": 1.0}, "above 0 and below 1"),
        ({"metric": "soft_comprehensiveness", "retained_share": 0.0}, "above 0 and below 1"),
        ({"metric": "comprehensiveness", "average_over": "some"}, "one of distinct, all, found"),
        ({"metric": "flip_sensitivity", "max_tokens": 0}, "max_tokens: 0 is out of range"),
        ({"metric": "flip_sensitivity", "max_radius": 0.0}, "max_radius: 0.0 is out of range"),
        ({"metric": "flip_sensitivity", "steps": 0}, "steps: 0 is out of range"),
        ({"metric": "flip_sensitivity", "bisections": -2}, "bisections: -2 is out of range"),
        ({"metric": "rationale_top_k_precision", "top_k": 0}, "top_k: 0 is out of range"),
        ({"metric": "rationale_token_f1", "top_k": -1}, "top_k: -1 is out of range"),
        ({"metric": "rationale_iou", "top_k": 0}, "top_k: 0 is out of range"),
        (
            {"metric": "rationale_precision_at_specificity", "specificity": 0.0},
            "above 0 and at most 1",
        ),
        (
            {"metric": "rationale_precision_at_specificity", "specificity": 1.1},
            "1.1 is out of range",
        ),
        ({"metric": "rationale_auprc", "interpolation": "cubic"}, "one of step, linear, found"),
        ({"metric": "mass_accuracy", "attribution": "signed"}, "one of absolute, positive, found"),
        ({"metric": "mass_accuracy", "normalise_over": "content"}, "unknown option"),
        ({"metric": "sensitivity", "steps": 0}, "steps: 0 is out of range"),
        ({"metric": "sensitivity", "radius": -1.0}, "radius: -1.0 is out of range"),
        ({"metric": "sensitivity", "restarts": 0}, "restarts: 0 is out of range"),
        ({"metric": "sensitivity", "step_size": 0.0}, "step_size: 0.0 is out of range"),
        ({"metric": "sensitivity"}, "must come from exparity.explain"),
        ({"metric": "sensitivity", "normalise_over": "content"}, "unknown option"),
    ],
)
def test_bad_arguments_are_named(classifiers, sentences, arguments, message):
    classifier = classifiers["bert"]
    explanations = make(classifier, sentences[:2], random_scores)
    with pytest.raises(InputError, match=message):
        exparity.evaluate(classifier, explanations, **arguments)


def test_only_special_tokens_is_an_error():
    one = Explanation(text="x", target=0, tokens=["[CLS]"], scores=[1], special_mask=[True])
    with pytest.raises(InputError, match="all tokens are special"):
        exparity.evaluate(None, [one], "gini")


def test_metric_that_loses_rows_is_refused(monkeypatch):
    entry = METRICS.get("gini")
    broken = dataclasses.replace(entry, function=lambda scores, mask: np.zeros(3))
    monkeypatch.setitem(METRICS._entries, "gini", broken)
    one = Explanation(text="x", target=0, tokens=["a"], scores=[1])
    with pytest.raises(ExparityError, match="one value per explanation"):
        exparity.evaluate(None, [one], "gini")


@pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e300])
def test_normalisation_survives_extreme_scales(scale):
    found = l1_normalised(np.array([3.0, -1.0]) * scale)
    np.testing.assert_allclose(found, [0.75, -0.25])
