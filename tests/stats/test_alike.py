"""Skill among texts that are alike: loops written for it, and what it does not call a gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.metrics.limits import effective_number
from exparity.stages import skill as stage
from exparity.stages.skill import Skill, among_alike
from exparity.stats.crossed import NOT_COMPARABLE, CrossedTest
from exparity.stats.skill import SCALES, alike_texts, linearised_alike, on_all_scales

pytestmark = pytest.mark.reference


@pytest.mark.parametrize(
    ("falls", "number"),
    [([1, 1, 1, 1], 4), ([3, 0, 0], 1), ([-1, 1], 2), ([2, 1], 9 / 5), ([0, 0], np.nan)],
)
def test_number_of_units_that_matter(falls, number):
    found = effective_number(np.array([falls], dtype=float))
    assert found == pytest.approx([number], nan_ok=True)


@given(st.lists(st.floats(-5, 5).filter(lambda fall: abs(fall) > 0.01), min_size=1, max_size=20))
def test_number_of_units_ignores_temperature_and_is_at_most_all(falls):
    number = effective_number(np.array(falls))
    assert 1 - 1e-9 <= number <= len(falls) + 1e-9
    assert effective_number(np.array(falls) * -3) == pytest.approx(float(number))


def skill_by_loop(gain, room, is_b, strata, fewest=5):
    """The mean of the strata's ratios, each of which weighs as the mean of the groups' shares."""
    common = [
        s for s in set(strata) - {-1}
        if all(sum((strata == s) & (is_b == group)) >= fewest for group in (0, 1))
    ]  # fmt: skip
    skills = []
    for group in (0, 1):
        skill = 0.0
        for s in common:
            weights = []
            for other in (0, 1):
                all_common = sum(np.isin(strata, common) & (is_b == other))
                weights.append(sum((strata == s) & (is_b == other)) / all_common)
            own = (strata == s) & (is_b == group)
            skill += sum(weights) / 2 * gain[own].sum() / room[own].sum()
        skills.append(skill)
    return skills


@given(st.integers(0, 2**32 - 1))
def test_skill_is_the_mean_of_strata_that_weigh_alike(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 80))
    is_b = rng.permutation(np.arange(n) % 2)
    strata = np.where(rng.random(n) < 0.1, -1, rng.integers(0, 3, n))
    room = rng.uniform(0.1, 1, n)
    gain = room * rng.normal(0.5, 0.5, n)
    found = linearised_alike(gain, room, is_b, strata)
    expected = skill_by_loop(gain, room, is_b, strata)
    for group in (0, 1):
        values = found.values[is_b == group]
        if np.isfinite(values).any():
            assert np.nanmean(values) == pytest.approx(expected[group])
        common = np.isfinite(values).mean()
        assert (found.share_a, found.share_b)[group] == pytest.approx(common)


def test_texts_are_alike_in_what_matters_and_in_what_is_predicted():
    rng = np.random.default_rng(0)
    is_b = np.repeat([0, 1], 60)
    matter = rng.uniform(1, 5, (3, 120))
    is_predicted = rng.random((3, 120)) < 0.7
    matter[1, 0] = np.nan
    matter[:, 1] = np.nan
    strata = alike_texts(matter, is_predicted, is_b)
    assert (strata[:, 1] == -1).all()
    rest = strata[:, 2:]
    known = rest >= 0
    assert (rest % 2 == is_predicted[:, 2:])[known].all()
    # The same quarter in all trainings, and quarters rise with the mean.
    assert (
        rest[known.all(axis=0)[None].repeat(3, 0)].reshape(3, -1) // 2
        == rest[0][known.all(axis=0)] // 2
    ).all()
    typical = matter.mean(axis=0)[2:]
    quarters = strata[0, 2:] // 2
    inside = quarters >= 0
    assert (np.diff(quarters[inside][np.argsort(typical[inside])]) >= 0).all()


def planted(rng, words, texts=80, quality=0.5, trainings=3):
    """Skills of two groups in whose texts some words matter; more of them leave more skill."""
    is_b = np.repeat([0, 1], texts)
    matter = np.concatenate([rng.choice(own, texts) for own in words]).astype(float)
    skills = []
    for _ in range(trainings):
        room = rng.uniform(0.2, 0.6, 2 * texts)
        level = np.where(is_b == 0, quality, 0.5) + 0.1 * (matter - 2)
        gain = room * (level + rng.normal(0, 0.2, 2 * texts))
        steps = {scale: np.column_stack([gain, room]) for scale in SCALES}
        groups = np.where(is_b == 0, "a", "b").tolist()
        is_predicted = np.ones(2 * texts, dtype=bool)
        skills.append(Skill.of(steps, groups, matter=matter, is_predicted=is_predicted))
    return skills, groups, is_b


def among(skills, groups):
    places = [np.arange(len(groups))] * len(skills)
    return stage.tests_among_alike(skills, places, groups, ("a", "b"), [None] * len(groups), {})


def test_words_that_matter_are_no_gap_among_texts_that_are_alike():
    rng = np.random.default_rng(1)
    skills, groups, is_b = planted(rng, ([2, 2, 2, 3, 4, 5], [2, 3, 4, 5, 5, 5]))
    raw = [skill.values["ranks"] for skill in skills]
    assert all(own[is_b == 0].mean() < own[is_b == 1].mean() - 0.05 for own in raw)
    tests, flags = among(skills, groups)
    assert len(tests) == len(SCALES)
    assert not flags
    assert all(test.p_mean > 0.05 for test in tests)


def test_noise_is_a_gap_among_texts_that_are_alike():
    rng = np.random.default_rng(2)
    skills, groups, _ = planted(rng, ([2, 3, 4, 5], [2, 3, 4, 5]), quality=0.3)
    tests, flags = among(skills, groups)
    assert not flags
    assert all(test.p_mean < 0.05 and test.d < 0 for test in tests)


def test_texts_without_counterparts_show_no_gap():
    rng = np.random.default_rng(3)
    skills, groups, is_b = planted(rng, ([2, 2, 3], [4, 5, 5]), quality=0.1)
    tests, flags = among(skills, groups)
    assert flags == [NOT_COMPARABLE]
    assert np.isnan([test.p_mean for test in tests]).all()
    sure = CrossedTest("a", "b", d=1.0, p_mean=0.001, p_large=0.001, p_small=1.0)
    whole, _ = on_all_scales(dict.fromkeys(SCALES, sure), alike=tests)
    assert whole.p_mean == whole.p_large == 1.0
    of_all = np.ones(len(groups), dtype=bool)
    alike = among_alike(skills, [np.arange(len(groups))] * len(skills), of_all, is_b)
    assert not alike.are_comparable


def test_a_gap_must_have_one_direction_among_all_texts_and_those_that_are_alike():
    one = CrossedTest("a", "b", d=1.0, p_mean=0.001, p_large=0.001)
    other = CrossedTest("a", "b", d=-1.0, p_mean=0.002, p_large=0.002)
    scales = dict.fromkeys(SCALES, one)
    assert on_all_scales(scales, alike=[one, other])[0].p_mean == 1.0
    alike = CrossedTest("a", "b", d=0.5, p_mean=0.02, p_large=0.03)
    whole, _ = on_all_scales(scales, alike=[alike] * 3)
    assert (whole.d, whole.p_mean, whole.p_large) == (1.0, 0.02, 0.03)


def test_without_what_matters_all_texts_count():
    rng = np.random.default_rng(4)
    room = rng.uniform(0.2, 0.6, 20)
    skill = Skill.of({"ranks": np.column_stack([room, room])}, ["a", "b"] * 10)
    assert among([skill], ["a", "b"] * 10) == ([], [])
