"""Gaps between groups of raters, against dense projections, planted effects and simulation."""

import numpy as np
import pytest

from exparity.core.settings import DEFAULTS
from exparity.stats.raters import RatedPairs, planned_gap, rater_level, rater_test, relative

RATERS, BATCH = 8, 5
ORDER = ("first", "second")


def design(rng, groups=3, together=True, missing=0.0):
    """Pairs of texts and raters: each text by a rater of each group, five texts a rater."""
    texts, raters, codes = [], [], []
    for group in range(groups):
        order = np.arange(RATERS * BATCH)
        for place, text in enumerate(order if together else rng.permutation(order)):
            texts.append(text)
            raters.append(group * RATERS + place // BATCH)
            codes.append(group)
    kept = rng.random(len(texts)) >= missing
    return RatedPairs(*(np.array(part)[kept] for part in (texts, raters, codes)))


def gap_of(scores, pairs, order=(0, 1)):
    sides = [pairs.groups == group for group in order]
    return rater_test(np.atleast_2d(scores), pairs, *sides, ORDER, DEFAULTS)


def noise_of_raters(pairs, rng, icc):
    own = np.sqrt(icc) * rng.normal(size=pairs.raters.max() + 1)[pairs.raters]
    return own + np.sqrt(1 - icc) * rng.normal(size=len(pairs.raters))


@pytest.mark.reference
class TestVariance:
    """The parts of the variance, by matrices as large as the data."""

    @pytest.fixture(params=[(True, 0.0), (False, 0.25)])
    def pairs(self, request, rng):
        return design(rng, 3, *request.param)

    @pytest.fixture
    def rng(self):
        return np.random.default_rng(0)

    def residual_maker(self, pairs):
        columns = np.hstack([np.eye(pairs.texts.max() + 1)[pairs.texts], np.eye(3)[pairs.groups]])
        return np.eye(len(pairs.texts)) - columns @ np.linalg.pinv(columns)

    def weights(self, pairs):
        weights = np.zeros(len(pairs.texts))
        shared = 0
        for text in np.unique(pairs.texts):
            sides = [(pairs.texts == text) & (pairs.groups == group) for group in (0, 1)]
            if all(side.any() for side in sides):
                shared += 1
                weights[sides[0]] = 1 / sides[0].sum()
                weights[sides[1]] = -1 / sides[1].sum()
        return weights / shared

    def test_residuals_and_weights_are_those_of_least_squares(self, pairs, rng):
        values = rng.normal(size=len(pairs.texts))
        expected = self.residual_maker(pairs) @ values
        assert pairs.residuals(values) == pytest.approx(expected, abs=1e-9)
        found = pairs.contrast(pairs.groups == 0, pairs.groups == 1)
        assert found == pytest.approx(self.weights(pairs), abs=1e-12)

    def test_the_part_of_raters_is_as_by_loops(self, pairs, rng):
        values = rng.normal(size=len(pairs.texts))
        maker = self.residual_maker(pairs)
        weights = self.weights(pairs)
        members = np.eye(pairs.raters.max() + 1)[pairs.raters]
        total = 0.0
        for group in (0, 1):
            found = expected_raters = wanted_raters = expected_pairs = wanted_pairs = 0.0
            for rater in np.unique(pairs.raters[(pairs.groups == group) & (weights != 0)]):
                own = np.where(pairs.raters == rater, weights, 0.0)
                found += (own @ maker @ values) ** 2
                expected_raters += ((own @ maker @ members) ** 2).sum()
                wanted_raters += ((own @ members) ** 2).sum()
                expected_pairs += ((own @ maker) ** 2).sum()
                wanted_pairs += (own**2).sum()
            factor = max(wanted_raters / expected_raters, wanted_pairs / expected_pairs)
            total += factor * found
        test = gap_of(values, pairs)
        assert test.v_raters == pytest.approx(total, rel=1e-9)
        assert test.estimate == pytest.approx(weights @ values, abs=1e-12)
        assert test.v_texts >= test.v_raters


@pytest.mark.property
def test_what_a_text_does_to_all_raters_cancels():
    rng = np.random.default_rng(1)
    pairs = design(rng, missing=0.1)
    values = rng.normal(size=len(pairs.texts))
    moved = values + 100 * rng.normal(size=pairs.texts.max() + 1)[pairs.texts]
    first, second = gap_of(values, pairs), gap_of(moved, pairs)
    assert second.estimate == pytest.approx(first.estimate, abs=1e-9)
    assert second.p_mean == pytest.approx(first.p_mean, abs=1e-6)


@pytest.mark.property
def test_groups_in_the_other_order_have_the_opposite_gap():
    rng = np.random.default_rng(2)
    pairs = design(rng)
    values = rng.normal(size=(3, len(pairs.texts)))
    forth, back = gap_of(values, pairs), gap_of(values, pairs, (1, 0))
    assert (back.estimate, back.p_mean) == pytest.approx((-forth.estimate, forth.p_mean))
    assert (back.mean_a, back.mean_b) == pytest.approx((forth.mean_b, forth.mean_a))


@pytest.mark.parametrize("trainings", [1, 3])
def test_raters_who_differ_are_no_gap_between_groups(trainings):
    rng = np.random.default_rng(trainings)
    shown = {"raters": 0, "texts": 0}
    runs = 200
    for _ in range(runs):
        pairs = design(rng, 2)
        values = noise_of_raters(pairs, rng, 0.28)
        scores = values + 0.3 * rng.normal(size=(trainings, len(values)))
        shown["raters"] += gap_of(scores, pairs).p_mean <= 0.05
        gaps = values[pairs.groups == 0] - values[pairs.groups == 1]
        shown["texts"] += abs(gaps.mean()) > 2.02 * gaps.std(ddof=1) / np.sqrt(len(gaps))
    assert shown["raters"] <= 0.05 * runs + 2 * np.sqrt(0.05 * 0.95 * runs)
    assert shown["texts"] >= 0.1 * runs


def test_a_gap_of_the_planned_size_is_shown_in_four_of_five():
    rng = np.random.default_rng(4)
    pairs = design(rng, 2)
    gap = planned_gap(pairs, pairs.groups == 0, pairs.groups == 1, alpha=0.05)
    shown = [
        gap_of(noise_of_raters(pairs, rng, 0.2) + gap * (pairs.groups == 0), pairs).p_mean <= 0.05
        for _ in range(200)
    ]
    assert 0.7 <= np.mean(shown) <= 0.9


@pytest.mark.parametrize("case", ["one rater", "no text of both"])
def test_too_few_raters_or_texts_are_not_gap_of(case):
    rng = np.random.default_rng(5)
    pairs = design(rng, 2)
    if case == "one rater":
        pairs = pairs.among((pairs.raters == 0) | (pairs.groups == 1))
    else:
        is_early = pairs.texts < 20
        pairs = pairs.among(np.where(pairs.groups == 0, is_early, ~is_early))
    test = gap_of(rng.normal(size=len(pairs.texts)), pairs)
    assert test.flags == ["too_few"]
    assert np.isnan(test.p_mean)


def test_pairs_without_a_score_are_left_out_of_all_trainings():
    rng = np.random.default_rng(6)
    pairs = design(rng)
    scores = rng.normal(size=(2, len(pairs.texts)))
    scores[0, 3] = np.nan
    kept = np.arange(len(pairs.texts)) != 3
    test = gap_of(scores, pairs)
    assert test.flags == ["missing_cells"]
    assert test.p_mean == gap_of(scores[:, kept], pairs.among(kept)).p_mean


def test_a_level_covers_the_mean_over_other_raters():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        pairs = design(rng, 1)
        values = noise_of_raters(pairs, rng, 0.3)
        level = rater_level(values[None], pairs, pairs.groups == 0, 0.95)
        covered += level.low <= 0 <= level.high
    assert 180 <= covered <= 199


@pytest.mark.reference
def test_skill_of_a_group_is_the_ratio_of_its_means():
    rng = np.random.default_rng(8)
    scores = rng.random((2, 30))
    scores[0, 4] = np.nan
    chance = 0.4 * rng.random(30)
    groups = np.arange(30) % 2
    values = relative(scores, chance, groups)
    for seed in range(2):
        for group in range(2):
            known = (groups == group) & np.isfinite(scores[seed])
            expected = (scores[seed] - chance)[known].mean() / (1 - chance)[known].mean()
            assert np.nanmean(values[seed, groups == group]) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(values[0, 4])
