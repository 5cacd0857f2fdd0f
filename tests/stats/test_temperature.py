"""A temperature by group: its likelihood; gaps of scores shrink, and skill does not move."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brute
from scipy.special import expit, logit, softmax

from exparity.stats.skill import Limits, linearised
from exparity.stats.temperature import log_odds_of, recalibrated, temperature_of
from exparity.types import Falls

TRUE_TEMPERATURE = 2.5


def too_sure(n=3000, classes=3, temperature=TRUE_TEMPERATURE, seed=0):
    """Probabilities of a classifier that is too sure by a temperature, and labels."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes))
    right = softmax(logits, axis=1)
    labels = [int(rng.choice(classes, p=p)) for p in right]
    return softmax(logits * temperature, axis=1), labels


def falls_of(log_odds, left):
    """Falls from log odds of whole texts to those of what is left."""
    return Falls(
        np.arange(1, left.shape[-1] + 1),
        expit(log_odds)[..., None] - expit(left),
        log_odds[..., None] - left,
    )


@pytest.mark.parametrize("temperature", [0.5, 1.0, TRUE_TEMPERATURE])
def test_the_temperature_that_made_a_classifier_too_sure_is_found(temperature):
    probabilities, labels = too_sure(temperature=temperature)
    assert temperature_of(probabilities, labels) == pytest.approx(temperature, rel=0.1)


def test_it_has_the_largest_likelihood():
    probabilities, labels = too_sure(n=40)
    targets = np.full(probabilities.shape, 1 / 43)
    targets[np.arange(40), labels] = 41 / 43

    def loss(value):
        powers = probabilities ** (1 / value[0])
        return -(targets * np.log(powers / powers.sum(axis=1, keepdims=True))).sum()

    (expected,) = brute(loss, [(0.1, 10)], Ns=200)
    assert temperature_of(probabilities, labels) == pytest.approx(expected, rel=1e-3)


def test_a_classifier_without_errors_does_not_become_certain():
    probabilities = np.tile([0.9, 0.1], (20, 1))
    temperature = temperature_of(probabilities, [0] * 20)
    assert expit(logit(0.9) / temperature) == pytest.approx(21 / 22, abs=1e-3)
    assert np.isnan(temperature_of(np.zeros((0, 2)), []))


def test_log_odds_are_of_one_class_against_the_others():
    probabilities = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    first, second = log_odds_of(probabilities, [1, 0])
    assert first == pytest.approx(logit(0.3))
    assert second == pytest.approx(np.log(1e12))


@given(st.floats(0.1, 10), st.integers(0, 1000))
def test_falls_of_two_classes_are_those_of_the_classifier_with_the_temperature(temperature, seed):
    rng = np.random.default_rng(seed)
    whole = rng.normal(0, 3)
    left = rng.normal(0, 3, 6)
    before = falls_of(np.array(whole), left)
    after = recalibrated(before, whole, temperature)
    expected = falls_of(np.array(whole / temperature), left / temperature)
    np.testing.assert_allclose(after.probability, expected.probability, atol=1e-12)
    np.testing.assert_allclose(after.log_odds, expected.log_odds, atol=1e-12)
    same = recalibrated(before, whole, 1.0)
    np.testing.assert_allclose(same.probability, before.probability, atol=1e-12)


TWINS = 60


class Twins:
    """Two groups of the same texts, of which a classifier is too sure by a temperature in one.

    Each text has falls of an explanation, and of its limits, which a temperature for each group,
    fitted to the labels, changes where it is asked for.
    """

    def __init__(self, temperature, seed):
        rng = np.random.default_rng(seed)
        self.log_odds = rng.normal(1, 1.5, TWINS)
        self.labels = (rng.random(TWINS) < expit(self.log_odds)).astype(int)
        steps = np.arange(1, 6)
        self.falls = {
            name: np.sort(size * rng.random((TWINS, draws, len(steps))), axis=-1)
            for name, size, draws in (("random", 1, 3), ("best", 4, 1), ("own", 2.5, 1))
        }
        self.sureness = {"calm": 1.0, "sure": temperature}

    def temperature(self, group):
        shown = expit(self.log_odds * self.sureness[group])
        return temperature_of(np.column_stack([1 - shown, shown]), self.labels)

    def studied(self, recalibrates):
        """Gap of scores, and skill of each group by scale."""
        scores, skills = {}, {}
        for group, sureness in self.sureness.items():
            temperature = self.temperature(group) if recalibrates else 1.0
            steps = {"ranks": [], "log_odds": []}
            scores[group] = []
            for text, log_odds in enumerate(self.log_odds):
                known = {}
                for name, falls in self.falls.items():
                    left = (log_odds - falls[text]) * sureness
                    whole = log_odds * sureness
                    rows = recalibrated(falls_of(np.array(whole), left), whole, temperature)
                    known[name] = rows if name == "random" else Falls(rows.sizes, *_first(rows))
                limits = Limits(known["random"], known["best"], higher_is_better=True)
                scores[group].append(known["own"].probability.mean())
                for scale, pairs in steps.items():
                    pairs.append(limits.steps(known["own"])[scale])
            for scale, pairs in steps.items():
                gain, room = np.array(pairs).T
                skills[group, scale] = linearised(gain, room, [group] * TWINS).mean()
        return np.mean(scores["sure"]) - np.mean(scores["calm"]), skills


def _first(falls):
    return falls.probability[0], falls.log_odds[0]


@settings(max_examples=15, deadline=None)
@given(st.floats(1.5, 6), st.integers(0, 1000))
def test_gaps_of_scores_shrink_and_skill_does_not_move(temperature, seed):
    twins = Twins(temperature, seed)
    gap, skill = twins.studied(recalibrates=False)
    gap_after, skill_after = twins.studied(recalibrates=True)
    assert abs(gap_after) <= max(abs(gap), 1e-3)
    assert gap_after == pytest.approx(0, abs=1e-3)
    assert skill_after == pytest.approx(skill, abs=1e-9)


def test_a_gap_of_certainty_alone_goes():
    twins = Twins(4.0, seed=0)
    assert abs(twins.studied(recalibrates=False)[0]) > 0.05
    assert abs(twins.studied(recalibrates=True)[0]) < 1e-3
