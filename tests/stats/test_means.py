"""Mean scores and their intervals, against loops and against scipy."""

import numpy as np
import pytest
from scipy import stats

from exparity.stats.means import mean_score

NAN = float("nan")


@pytest.mark.reference
def test_of_one_training_it_is_students_interval():
    values = [0.1, 0.4, 0.35, 0.8, NAN]
    made = mean_score(np.array([values]), confidence=0.9)
    expected = stats.ttest_1samp(values[:4], 0).confidence_interval(0.9)
    assert made.mean == pytest.approx(np.mean(values[:4]))
    assert (made.ci_low, made.ci_high) == pytest.approx(tuple(expected))
    assert (made.n_seeds, made.n_examples) == (1, 4)


@pytest.mark.property
def test_members_of_a_set_are_no_texts_of_their_own():
    """Copies of a text in its set leave the interval where it was; as texts they narrow it."""
    values = np.array([[0.1, 0.4, 0.35, 0.8, 0.2], [0.2, 0.3, 0.45, 0.9, 0.1]])
    once, twice = mean_score(values), np.repeat(values, 2, axis=1)
    sets = [str(i // 2) for i in range(10)]
    made = mean_score(twice, sets)
    assert (made.mean, made.ci_low, made.ci_high) == pytest.approx(
        (once.mean, once.ci_low, once.ci_high)
    )
    assert made.n_examples == 10
    apart = mean_score(twice[:1])
    assert apart.ci_high - apart.ci_low < 0.9 * (
        mean_score(twice[:1], sets).ci_high - mean_score(twice[:1], sets).ci_low
    )


def test_it_ends_where_scores_end():
    scores = np.array([[0.9, 1.0, 0.2], [1.0, 0.8, 0.9]])
    assert mean_score(scores).ci_high > 1
    made = mean_score(scores, bounds=(0.0, 1.0))
    assert (made.ci_low, made.ci_high) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("scores", "mean", "ends"),
    [
        ([[NAN, NAN]], NAN, (NAN, NAN)),
        ([[0.5, NAN], [0.7, NAN]], 0.6, (NAN, NAN)),
        ([[0.5, 0.5, 0.5]], 0.5, (0.5, 0.5)),
        ([[0.5, 0.5], [0.5, 0.5]], 0.5, (0.5, 0.5)),
    ],
)
def test_means_of_constant_or_no_scores(scores, mean, ends):
    made = mean_score(np.array(scores))
    assert (made.mean, made.ci_low, made.ci_high) == pytest.approx((mean, *ends), nan_ok=True)


def test_a_training_without_scores_is_left_out_of_the_interval():
    values = [0.1, 0.4, 0.35, 0.8]
    alone, with_empty = mean_score(np.array([values])), mean_score(np.array([values, [NAN] * 4]))
    assert (with_empty.ci_low, with_empty.ci_high) == (alone.ci_low, alone.ci_high)
