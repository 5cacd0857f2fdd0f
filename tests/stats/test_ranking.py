"""Methods compared two at a time on the same texts."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from exparity.stats.multiplicity import holm
from exparity.stats.ranking import EVERYBODY, best_methods, compare_methods

GROUPS = ("female", "male")


def drawn(rng, *, seeds=5, texts=40, quality=(0.0, 0.0, 0.0), noise=1.0):
    """Scores of methods that share the difficulty of texts and trainings."""
    of_texts = rng.normal(size=texts) + 2 * (np.arange(texts) % 2)
    of_trainings = rng.normal(size=(seeds, 1))
    scores = {
        f"m{i}": mean + of_texts + of_trainings + noise * rng.normal(size=(seeds, texts))
        for i, mean in enumerate(quality)
    }
    return scores, [GROUPS[i % 2] for i in range(texts)]


def compared(scores, groups, **options):
    return compare_methods(scores, groups, GROUPS, **{"higher_is_better": True, **options})


def by_pair(tests):
    return {(test.group, test.method_a, test.method_b): test for test in tests}


@pytest.mark.reference
def test_of_one_training_it_is_the_paired_t_test():
    scores, groups = drawn(np.random.default_rng(0), seeds=1)
    found = by_pair(compared(scores, groups))
    expected = []
    for group in (EVERYBODY, *GROUPS):
        chosen = [i for i, own in enumerate(groups) if group in (EVERYBODY, own)]
        for a, b in combinations(scores, 2):
            test = found[group, a, b]
            paired = stats.ttest_rel(scores[a][0, chosen], scores[b][0, chosen])
            interval = paired.confidence_interval(0.95)
            assert test.p == pytest.approx(paired.pvalue, rel=1e-9)
            assert (test.ci_low, test.ci_high) == pytest.approx((interval.low, interval.high))
            assert test.difference == pytest.approx(test.mean_a - test.mean_b)
            assert (test.n_seeds, test.n_texts) == (1, len(chosen))
            expected.append(paired.pvalue)
    assert [test.p_holm for test in found.values()] == pytest.approx(holm(expected).tolist())


def test_over_trainings_both_are_random():
    """The standard error is that of a mean over crossed trainings and texts."""
    rng = np.random.default_rng(1)
    scores, groups = drawn(rng, seeds=6, texts=30)
    scores["m1"] = scores["m1"] + 3 * rng.normal(size=(6, 1))  # how much better changes by training
    test = by_pair(compared(scores, groups))[EVERYBODY, "m0", "m1"]
    differences = scores["m0"] - scores["m1"]
    mean = differences.mean()
    of_trainings, of_texts = differences.mean(axis=1), differences.mean(axis=0)
    rest = differences - of_trainings[:, None] - of_texts + mean
    squares = {
        "trainings": 30 * ((of_trainings - mean) ** 2).sum() / 5,
        "texts": 6 * ((of_texts - mean) ** 2).sum() / 29,
        "cells": (rest**2).sum() / (5 * 29),
    }
    variance = (squares["trainings"] + squares["texts"] - squares["cells"]) / 180
    half = (test.ci_high - test.ci_low) / 2
    assert test.difference == pytest.approx(mean)
    # Between the quantiles of as many degrees of freedom as trainings have, and of a normal one.
    assert (
        stats.norm.ppf(0.975) * variance**0.5
        < half
        <= stats.t.ppf(0.975, 5) * variance**0.5 * 1.001
    )


def test_texts_of_a_matched_set_count_once():
    scores, groups = drawn(np.random.default_rng(2))
    sets = [str(i // 2) for i in range(len(groups))]
    found = by_pair(compared(scores, groups, sets=sets))
    means = {name: (values[:, ::2] + values[:, 1::2]) / 2 for name, values in scores.items()}
    alone = by_pair(compared(means, ["female"] * 20))
    assert found[EVERYBODY, "m0", "m1"].p == pytest.approx(alone[EVERYBODY, "m0", "m1"].p)
    assert found[EVERYBODY, "m0", "m1"].n_texts == 20


def test_a_text_counts_where_both_methods_have_a_score():
    scores, groups = drawn(np.random.default_rng(3))
    scores["m0"][:, 3] = np.nan
    scores["m1"][2] = np.nan
    test = by_pair(compared(scores, groups))[EVERYBODY, "m0", "m1"]
    assert (test.n_seeds, test.n_texts) == (4, 39)
    rows, columns = [0, 1, 3, 4], [i for i in range(40) if i != 3]
    left = scores["m0"][np.ix_(rows, columns)] - scores["m1"][np.ix_(rows, columns)]
    assert test.difference == pytest.approx(left.mean())
    scores["m2"][:] = np.nan
    nothing = by_pair(compared(scores, groups))[EVERYBODY, "m0", "m2"]
    assert nothing.n_seeds == 0
    assert nothing.better == ""


def test_direction_and_order_turn_what_they_should():
    scores, groups = drawn(np.random.default_rng(4), quality=(1.0, 0.0, 0.2))
    found = by_pair(compared(scores, groups))
    lower = by_pair(compared(scores, groups, higher_is_better=False))
    turned = by_pair(compared(dict(reversed(scores.items())), groups))
    assert found[EVERYBODY, "m0", "m1"].better == "m0"
    assert lower[EVERYBODY, "m0", "m1"].better == "m1"
    for (group, a, b), test in found.items():
        other = turned[group, b, a]
        assert (test.p, test.better) == (pytest.approx(other.p), other.better)
        assert test.difference == pytest.approx(-other.difference)


def test_equal_methods_do_not_differ():
    scores, groups = drawn(np.random.default_rng(5))
    scores["m1"] = scores["m0"].copy()
    test = by_pair(compared(scores, groups))[EVERYBODY, "m0", "m1"]
    assert test.difference == 0
    assert np.isnan(test.p)
    assert test.better == ""


@pytest.mark.parametrize(
    ("quality", "studies", "least", "most"),
    [
        ((0.0, 0.0, 0.0), 100, 0.0, 0.05),
        ((0.0, 0.0, -0.6), 40, 0.9, 1.0),
        pytest.param((0.0, 0.0, 0.0), 200, 0.0, 0.05, marks=pytest.mark.exhaustive),
        pytest.param((0.0, 0.0, -0.6), 200, 0.9, 1.0, marks=pytest.mark.exhaustive),
    ],
)
def test_a_planted_ranking_is_found_and_none_where_none_is(quality, studies, least, most):
    """In studies of eight trainings; α is that of all pairs and groups of a study."""
    rng = np.random.default_rng(6)
    found = []
    for _ in range(studies):
        tests = compared(*drawn(rng, seeds=8, quality=quality))
        if quality[2]:
            found.append("m2" not in best_methods(tests))
        else:
            found.append(any(test.better for test in tests))
    assert least <= np.mean(found) <= most
