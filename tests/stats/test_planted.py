"""Worsenings of good explanations: what a study of a size would have found."""

import numpy as np
import pytest

from exparity.stats import permutations
from exparity.stats.crossed import crossed_tests
from exparity.stats.planted import planted_gaps
from exparity.stats.samples import GroupedTexts

GROUPS = ["a"] * 80 + ["b"] * 80
ORDER = ("a", "b")
TEXTS = GroupedTexts.of(GROUPS, ORDER, None)


def scores(level_a=0.8, level_b=0.8, n=160, seeds=4):
    """Scores of good explanations with a level in each group, and of random ones around 0."""
    rng = np.random.default_rng(0)
    levels = np.where(np.arange(n) < n // 2, level_a, level_b)
    return levels + 0.1 * rng.normal(size=(seeds, n)), 0.2 * rng.normal(size=(seeds, n))


def gaps_of(good, random, texts, **options):
    return planted_gaps(
        lambda spoilt: np.where(spoilt[None, :, None], random, good), texts, **options
    )


def test_a_worsening_of_each_group_is_found_and_a_tiny_one_is_not():
    gaps = gaps_of(*scores(), TEXTS, shares=(1 / 80, 0.3), draws=5)
    by_place = {(gap.worse_group, gap.share): gap for gap in gaps}
    assert by_place["a", 0.3].p < 0.001
    assert by_place["b", 0.3].p < 0.001
    assert by_place["a", 0.3].d < -0.5 < 0.5 < by_place["b", 0.3].d
    assert min(by_place["a", 1 / 80].p, by_place["b", 1 / 80].p) > 0.05
    assert by_place["a", 0.3].mean_a == pytest.approx(0.8, abs=0.02)


def test_a_whole_group_at_random_is_the_gap_to_random_explanations():
    good, random = scores()
    gaps = gaps_of(good, random, TEXTS, shares=(1.0,), draws=2)
    mixed = np.concatenate([random[:, :80], good[:, 80:]], axis=1)
    (expected,) = crossed_tests([*mixed], GROUPS, ORDER)
    assert gaps[0].worse_group == "a"
    assert gaps[0].d == pytest.approx(expected.d)
    assert gaps[0].p == pytest.approx(expected.p_mean)


def test_what_scores_depend_on_is_compared_like_with_like():
    """Without texts alike, methods are not tested either, so that nothing would be found."""
    good, random = scores()
    units = np.tile(np.arange(8.0), 20)
    (of_a, of_b) = gaps_of(good + 0.05 * units, random, TEXTS, shares=(0.3,), covariate=units)
    assert max(of_a.p, of_b.p) < 0.001
    longer = units + 10 * (np.arange(160) >= 80)
    for gap in gaps_of(good, random, TEXTS, shares=(0.3,), covariate=longer):
        assert np.isnan([gap.p, gap.control_p]).all()
        assert gap.mean_a == pytest.approx(0.8, abs=0.02)


def test_a_gap_of_the_control_hides_a_worsening_of_the_better_group():
    """What favours the worsened group all the same is not found, however small its p-value."""
    gaps = gaps_of(*scores(0.8, 0.3), TEXTS, shares=(0.1,), draws=5)
    better, worse = gaps
    assert better.worse_group == "a"
    assert better.control_p < 0.001
    assert better.d > 0
    assert better.p == 1.0
    assert worse.p < 0.001


def test_undefined_scores_and_a_group_without_texts():
    good, random = scores()
    good[:, ::2] = np.nan
    random[:, ::2] = np.nan
    assert gaps_of(good, random, TEXTS, shares=(0.5,), draws=3)[0].p < 0.01
    with_empty = GroupedTexts.of(GROUPS, ("a", "b", "c"), None)
    gaps = gaps_of(good, random, with_empty, shares=(0.5,), draws=3)
    assert np.isnan([gap.p for gap in gaps if gap.group_b == "c"]).all()


def test_matched_sets_and_several_groups():
    good, random = scores()
    sets = [f"{i % 80}" for i in range(160)]
    alone = gaps_of(good, random, GroupedTexts.of(GROUPS, ORDER, sets), shares=(0.3,), draws=3)
    groups = [*GROUPS, *["c"] * 10]
    wider = [np.hstack([part, part[:, :10]]) for part in (good, random)]
    three_groups = GroupedTexts.of(groups, ("a", "b", "c"), None)
    together = gaps_of(*wider, three_groups, shares=(0.3,), draws=3)
    assert [(gap.group_a, gap.group_b) for gap in together[::2]] == [
        ("a", "b"), ("a", "c"), ("b", "c"),
    ]  # fmt: skip
    assert alone[0].p < 0.001


def test_a_gap_counts_if_all_scales_show_it():
    """p is the largest of all scales, and d that of the first."""
    good, random = scores()
    little = 0.97 * good + 0.03 * random
    both = np.array([random, little])

    def on_two_scales(spoilt):
        return np.where(spoilt[:, None], both[:, None], good)

    def on_scale(number):
        return lambda spoilt: on_two_scales(spoilt)[[number]]

    options = {"shares": (0.1, 0.5), "draws": 4}
    together = planted_gaps(on_two_scales, TEXTS, **options)
    apart = [planted_gaps(on_scale(number), TEXTS, **options) for number in (0, 1)]
    assert [gap.d for gap in together] == [gap.d for gap in apart[0]]
    assert [gap.p for gap in together] == [gap.p for gap in apart[1]]
    assert together[1].p > apart[0][1].p


def test_many_groups_are_tested_alike_in_batches(monkeypatch):
    """Every text is worsened against all other groups alike."""
    good, random = scores()
    texts = GroupedTexts.of([f"{i % 5}" for i in range(160)], tuple("01234"), None)
    at_once = gaps_of(good, random, texts, draws=4)
    monkeypatch.setattr(permutations, "BATCH_BYTES", 1)
    assert gaps_of(good, random, texts, draws=4) == at_once
    assert len(at_once) == 10 * 2 * 3
