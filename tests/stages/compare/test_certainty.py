"""Of which group classifiers are surer is said where chance hardly shows it."""

from itertools import combinations

import numpy as np
import pytest

from exparity.core.settings import Statistics
from exparity.quantities.classifiers import Classifier, Classifiers
from exparity.stats.samples import GroupedTexts

ALPHA = 0.05
RUNS = 300
GROUPS = ("a", "b", "c")
SIZE = 24
"""Texts of each group."""


def classifiers(rng, n_trainings, shift=0.0, *, collapsed=0):
    """Trainings that are surer of group c by ``shift``; texts are as easy for each of them."""
    ids = [str(i) for i in range(SIZE * len(GROUPS))]
    codes = np.arange(len(ids)) % len(GROUPS)
    easy = rng.normal(size=len(ids)) + shift * (codes == 2)
    by_seed = {}
    for seed in range(n_trainings + collapsed):
        logits = easy + 0.3 * rng.normal(size=len(ids))
        certainty = 1 / (1 + np.exp(-logits))
        is_informative = seed < n_trainings
        by_seed[seed] = Classifier(
            accuracy=0.5,
            is_collapsed=not is_informative,
            is_informative=is_informative,
            certainty=dict(zip(ids, certainty.tolist(), strict=True)),
            right={},
            share_right={},
        )
    return Classifiers(by_seed, "training", ids, GroupedTexts(GROUPS, codes, None))


def surer(model):
    settings = Statistics(alpha=ALPHA)
    return {model.surer_of(*pair, settings) for pair in combinations(GROUPS, 2)} - {""}


@pytest.mark.parametrize("n_trainings", [1, 3])
def test_equal_groups_are_seldom_called_unequal(n_trainings):
    rng = np.random.default_rng(n_trainings)
    models = [classifiers(rng, n_trainings) for _ in range(RUNS)]
    rate = np.mean([bool(surer(model)) for model in models])
    # d alone reaches the threshold in most studies of this size.
    by_size = np.mean([abs(model.certainty_d("a", "b")) >= 0.2 for model in models])
    assert by_size > 0.4
    in_any_pair = [
        any(abs(model.certainty_d(*pair)) >= 0.2 for pair in combinations(GROUPS, 2))
        for model in models
    ]
    assert np.mean(in_any_pair) > 0.7
    assert rate <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / RUNS)


@pytest.mark.parametrize("n_trainings", [1, 3])
def test_a_large_difference_is_said(n_trainings):
    rng = np.random.default_rng(n_trainings)
    assert surer(classifiers(rng, n_trainings, shift=2.0)) == {"c"}


def test_trainings_that_predict_one_class_say_nothing():
    rng = np.random.default_rng(0)
    model = classifiers(rng, 0, shift=2.0, collapsed=3)
    assert surer(model) == set()
    assert np.isnan(model.certainty_d("a", "c"))


def test_a_difference_below_the_threshold_is_not_said():
    model = classifiers(np.random.default_rng(0), 1, shift=2.0)
    assert model.surer_of("b", "c", Statistics(threshold=5.0)) == ""
    assert model.surer_of("b", "nobody", Statistics()) == ""
