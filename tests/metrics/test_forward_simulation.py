"""Forward simulation: known answers of additive classifiers, a naive reference, and properties."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity import evaluate, explain, load_classifier
from exparity.metrics.foresight import (
    FEWEST_UNITS,
    Design,
    Foresight,
    ceiling_of,
    draw_parts,
)
from exparity.metrics.forward_simulation import forward_simulation

WORDS = [f"w{i}" for i in range(40)]
DRAWS = np.random.default_rng(7)
WEIGHTS = dict(zip(WORDS, DRAWS.normal(size=40), strict=True))
TEXTS = [" ".join(DRAWS.permutation(WORDS)[:n]) for n in (4, 5, 9, 20, 40)]
CLASSES = {"a": 0.7, "b": -0.3, "c": 0.1, "d": 1.9}


def additive(temperature, base=0.0):
    """A classifier of two classes whose log odds are a sum over words."""

    def predict(texts):
        sums = np.array([base + sum(map(WEIGHTS.get, text.split())) for text in texts])
        odds = temperature * sums
        return np.stack([1 / (1 + np.exp(odds)), 1 / (1 + np.exp(-odds))], axis=1)

    return load_classifier(predict, classes=["no", "yes"])


def of_four(temperature):
    """A classifier of four classes whose logits are sums over words."""

    def predict(texts):
        factors = np.array(list(CLASSES.values()))
        sums = np.array([sum(map(WEIGHTS.get, text.split())) for text in texts])
        lengths = np.array([len(text.split()) for text in texts])
        scaled = temperature * (sums[:, None] * factors + lengths[:, None] * factors**2)
        shares = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    return load_classifier(predict, classes=list(CLASSES))


def test_sizes_foresee_sizes_where_signs_are_ignored():
    """Of φ without signs |Δ| is foreseen; a sign of φ changes nothing then."""
    rng = np.random.default_rng(3)
    weights = rng.normal(size=12)
    left_out = draw_parts(np.arange(12), 12, Design("word"))
    falls = left_out @ weights
    foresights = [Foresight(left_out, falls, np.nan)]
    sizes = np.abs(weights)
    expected = np.corrcoef(left_out @ sizes, np.abs(falls))[0, 1]
    for scores in (sizes, weights, -weights):
        (found,) = forward_simulation([scores], foresights, signs="ignored")
        assert found == pytest.approx(expected, abs=1e-12)
    (kept,) = forward_simulation([sizes], foresights)
    assert kept == pytest.approx(np.corrcoef(left_out @ sizes, falls)[0, 1], abs=1e-12)
    assert abs(kept - expected) > 0.01


def explained(classifier, weight_of, target=1):
    """Explanations that give each word a weight."""
    bare = explain(classifier, TEXTS, target, method="uniform_random")
    return [
        replace(one, scores=np.array([weight_of(word) for word in text.split()], dtype=float))
        for one, text in zip(bare, TEXTS, strict=True)
    ]


@pytest.mark.reference
@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("base", [-2.0, 0.0, 3.0])
def test_true_weights_foresee_everything_however_sure_the_classifier_is(temperature, base):
    classifier = additive(temperature, base)
    values = evaluate(classifier, explained(classifier, WEIGHTS.get), "forward_simulation")
    np.testing.assert_allclose(values, 1.0, rtol=0, atol=1e-9)


@pytest.mark.reference
@pytest.mark.parametrize("temperature", [0.02, 0.1, 0.2])
def test_true_weights_of_one_of_four_classes_foresee_everything(temperature):
    classifier = of_four(temperature)
    others = np.mean([CLASSES[name] for name in "acd"])
    weights = explained(classifier, lambda word: WEIGHTS[word] * (CLASSES["b"] - others))
    values = evaluate(classifier, weights, "forward_simulation")
    np.testing.assert_allclose(values, 1.0, rtol=0, atol=1e-9)


def test_the_opposite_of_the_true_weights_foresees_the_opposite():
    classifier = additive(0.3)
    weights = explained(classifier, lambda word: -2.5 * WEIGHTS[word])
    values = evaluate(classifier, weights, "forward_simulation")
    np.testing.assert_allclose(values, -1.0, rtol=0, atol=1e-9)


def test_noise_lowers_it_as_its_share_of_the_variance_says():
    classifier = additive(0.2)
    spread = np.std(list(WEIGHTS.values()))
    rng = np.random.default_rng(2)
    texts = [" ".join(rng.permutation(WORDS)) for _ in range(60)]  # each with draws of its own
    noisy = []
    for text, bare in zip(texts, explain(classifier, texts, 1, "uniform_random"), strict=True):
        weights = np.array([WEIGHTS[word] for word in text.split()])
        noisy.append(replace(bare, scores=weights + rng.normal(0, spread, len(weights))))
    values = evaluate(classifier, noisy, "forward_simulation")
    assert values.mean() == pytest.approx(1 / np.sqrt(2), abs=0.03)


def test_random_explanations_foresee_nothing():
    classifier = additive(0.3)
    runs = [
        evaluate(
            classifier,
            explain(classifier, TEXTS, 1, method="uniform_random", seed=seed),
            "forward_simulation",
        )
        for seed in range(100)
    ]
    assert abs(np.mean(runs)) < 3 * np.std(runs) / np.sqrt(100)


def test_constant_attributions_are_undefined():
    classifier = additive(0.3)
    weights = explained(classifier, lambda word: 0.7)
    assert np.isnan(evaluate(classifier, weights, "forward_simulation")).all()


def test_an_explanation_without_any_attribution_foresees_nothing_and_counts():
    classifier = additive(0.3)
    weights = explained(classifier, lambda word: 0.0)
    assert evaluate(classifier, weights, "forward_simulation").tolist() == [0.0] * len(TEXTS)
    blind = load_classifier(lambda texts: [[0.25, 0.75]] * len(texts), classes=["no", "yes"])
    assert np.isnan(evaluate(blind, weights, "forward_simulation")).all()


def test_short_texts_and_classifiers_that_do_not_react_are_undefined():
    blind = load_classifier(lambda texts: [[0.25, 0.75]] * len(texts), classes=["no", "yes"])
    values = evaluate(blind, explained(blind, WEIGHTS.get), "forward_simulation")
    assert np.isnan(values).all()
    classifier = additive(0.3)
    short = explain(classifier, ["w1 w2 w3"], 1, method="occlusion")
    assert np.isnan(evaluate(classifier, short, "forward_simulation")).all()


@pytest.mark.reference
@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_equals_a_loop_over_texts_and_draws(classifiers, family):
    classifier = classifiers[family]
    texts = ["She fixes the old engine today .", "My brother sells fresh warm bread at dawn ."]
    explanations = explain(classifier, texts, 1, method="gradient_x_input")
    values = evaluate(classifier, explanations, "forward_simulation", unit="token", left_out=0.3)
    for explanation, value in zip(explanations, values, strict=True):
        content = np.flatnonzero(explanation.content_mask)
        parts = draw_parts(explanation.token_ids, len(content), Design("token", 0.3))
        assert set(parts.sum(axis=1)) == {int(0.3 * len(content))}
        predicted, falls = [], []
        for part in parts:
            gone = set(content[part].tolist())
            left = [t for at, t in enumerate(explanation.token_ids) if at not in gone]
            p, q = (classifier.probabilities([ids])[0] for ids in (explanation.token_ids, left))
            falls.append(np.log(p[1] / p[0]) - np.log(q[1] / q[0]))
            predicted.append(sum(float(explanation.scores[at]) for at in gone))
        assert value == pytest.approx(np.corrcoef(predicted, falls)[0, 1], abs=1e-4)


@given(
    st.integers(4, 12).flatmap(
        lambda n: st.tuples(
            st.lists(st.floats(-9, 9, width=16), min_size=n, max_size=n),
            st.integers(0, 2**20),
            st.floats(0.01, 100),
        )
    )
)
def test_scale_changes_nothing_and_sign_turns_it(drawn):
    weights, seed, factor = drawn
    scores = np.array(weights)
    rng = np.random.default_rng(seed)
    parts = draw_parts(np.arange(len(scores)) + seed, len(scores), Design("word"))
    foresight = Foresight(parts, rng.normal(size=len(parts)), np.nan)
    value, scaled, turned = forward_simulation([scores, factor * scores, -scores], [foresight] * 3)
    assert np.isnan(value) or -1 <= value <= 1
    np.testing.assert_allclose([scaled, turned], [value, -value], rtol=0, atol=1e-9)


def test_draws_depend_on_the_text_alone_and_leave_out_equally_many():
    ids = np.array([3, 1, 4, 1, 5, 9, 2, 6, 5])
    parts = draw_parts(ids, 9, Design("word"))
    assert np.array_equal(parts, draw_parts(ids.astype(np.int32), 9, Design("word")))
    assert not np.array_equal(parts, draw_parts(ids[::-1], 9, Design("word")))
    assert parts.shape == (64, 9)
    assert set(parts.sum(axis=1)) == {4}
    assert np.abs(parts.mean(axis=0) - 4 / 9).max() < 0.2
    assert [Design("word").draws_of(n) for n in (4, 32, 40, 500)] == [64, 64, 80, 256]


@pytest.mark.reference
def test_the_ceiling_equals_ridge_regressions_that_each_leave_out_a_draw():
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(3)
    parts = draw_parts(np.arange(12), 12, Design("word"))
    falls = parts @ rng.normal(size=12) + rng.normal(size=64)
    design, centred = parts - parts.mean(), falls - falls.mean()
    predicted = []
    for left in range(64):
        rest = np.arange(64) != left
        model = Ridge(alpha=64 / 40, fit_intercept=False).fit(design[rest], centred[rest])
        predicted.append(model.predict(design[[left]])[0])
    assert ceiling_of(parts, falls) == pytest.approx(np.corrcoef(predicted, centred)[0, 1])


def test_the_ceiling_of_an_additive_classifier_is_near_one_and_of_noise_low():
    rng = np.random.default_rng(5)
    parts = draw_parts(np.arange(10), 10, Design("word"))
    assert ceiling_of(parts, parts @ rng.normal(size=10)) > 0.99
    noise = [ceiling_of(parts, rng.normal(size=64)) for _ in range(50)]
    assert np.mean(noise) < 0.1
    assert np.isnan(ceiling_of(parts, np.full(64, 0.2)))


@pytest.mark.parametrize("signs", ["kept", "ignored"])
@pytest.mark.parametrize("correlate", ["pearson", "spearman"])
def test_a_text_has_the_same_bits_alone_and_beside_others(correlate, signs):
    rng = np.random.default_rng(11)
    scores, foresights = [], []
    for n_units in (3, 5, 9, 9, 20, 20, 40, 40):
        few = n_units < FEWEST_UNITS
        left_out = draw_parts(rng.integers(99, size=n_units), n_units, Design("word"))
        left_out = left_out[:0] if few else left_out
        falls = np.round(rng.normal(size=len(left_out)), 1)
        for attributions in (
            rng.normal(size=n_units), np.zeros(n_units), np.ones(n_units), np.full(n_units, np.nan)
        ):  # fmt: skip
            for of_text in (falls, 0 * falls):
                scores.append(attributions)
                foresights.append(Foresight(left_out, of_text, np.nan))
    options = {"correlate": correlate, "signs": signs}
    together = forward_simulation(scores, foresights, **options)
    alone = [
        forward_simulation([own], [foresight], **options)[0]
        for own, foresight in zip(scores, foresights, strict=True)
    ]
    assert together.tobytes() == np.array(alone).tobytes()
    # Of the texts with enough units, the first two attributions have a value where falls differ.
    assert np.isfinite(together).reshape(8, 4, 2).sum(axis=(0, 2)).tolist() == [7, 7, 0, 0]


def test_ranks_are_those_of_scipy():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(1)
    parts = draw_parts(np.arange(8), 8, Design("word"))
    scores, falls = rng.normal(size=8), rng.normal(size=64)
    (value,) = forward_simulation([scores], [Foresight(parts, falls, np.nan)], correlate="spearman")
    assert value == pytest.approx(spearmanr(parts @ scores, falls).statistic)
