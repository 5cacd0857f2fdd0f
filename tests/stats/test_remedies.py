"""Remedies: halves of matched sets, what they choose, and planted noise in one method."""

import numpy as np
import pytest

from exparity.stats.crossed import crossed_tests
from exparity.stats.remedies import Choice, Gap, choices_of, choosing_half, remedies_of

ORDER = ("a", "b")
SEEDS, TEXTS = 4, 80


def study(rng, loss, methods=3):
    """(s, n) values of methods for two groups, of which the first loses by the first method."""
    groups = np.array([ORDER[i % 2] for i in range(TEXTS)], dtype=object)
    difficulty = 0.2 * rng.normal(size=(SEEDS, TEXTS))
    values = {}
    for number in range(methods):
        of_method = 0.5 + difficulty + 0.05 * rng.normal(size=(SEEDS, TEXTS))
        of_method += 0.02 * rng.normal(size=(SEEDS, 1))
        values[f"m{number}"] = of_method - loss * (number == 0) * (groups == "a")
    return values, groups.tolist()


def tried(values, groups, sets=None, higher=True):
    ids = [f"t{i}" for i in range(len(groups))]
    chooses = choosing_half(ids, groups, sets or [None] * len(groups))
    of_texts = np.array(groups, dtype=object)
    levels = {
        name: np.array([own[:, chooses & (of_texts == group)].mean() for group in ORDER])
        for name, own in values.items()
    }
    rest = {name: np.where(chooses, np.nan, own) for name, own in values.items()}
    sign = 1 if higher else -1
    gaps = {}
    for choice in choices_of(levels, ORDER, higher_is_better=higher):
        pair = choice.other_group, choice.group
        (test,) = crossed_tests(rest[choice.method], groups, pair, sets, mean_only=True)
        gaps[choice] = Gap(sign * test.estimate, test.p_mean)
    return remedies_of(rest, gaps, groups, sets, higher_is_better=higher)


def test_sets_stay_together_and_each_half_has_as_many_texts_of_a_group():
    groups = [*"ab"] * 50
    sets = [f"s{i // 2}" for i in range(100)]
    chooses = choosing_half([f"t{i}" for i in range(100)], groups, sets)
    assert (chooses[::2] == chooses[1::2]).all()
    assert chooses.sum() == 50
    alone = choosing_half([f"t{i}" for i in range(100)], groups, [None] * 100)
    for group in ORDER:
        assert alone[np.array(groups) == group].sum() == 25


def test_a_half_depends_on_neither_order_nor_group_names_of_other_texts():
    groups, ids = [*"aabb"] * 5, [f"t{i}" for i in range(20)]
    chooses = dict(zip(ids, choosing_half(ids, groups, [None] * 20), strict=True))
    back = choosing_half(ids[::-1], groups[::-1], [None] * 20)
    assert dict(zip(ids[::-1], back, strict=True)) == chooses


@pytest.mark.parametrize(("higher", "sign"), [(True, 1), (False, -1)])
def test_the_best_method_of_the_worst_group_is_chosen(higher, sign):
    levels = {
        "poor": sign * np.array([0.1, 0.4]),
        "fair": sign * np.array([0.3, 0.2]),
        "good": sign * np.array([0.35, 0.5]),
        "unknown": np.array([np.nan, 0.9]),
    }
    assert choices_of(levels, ORDER, higher_is_better=higher) == [
        Choice("poor", "a", "b", "good"),
        Choice("fair", "b", "a", "good"),
    ]


def test_planted_noise_is_remedied_and_its_numbers_are_those_of_the_other_half():
    values, groups = study(np.random.default_rng(3), loss=0.25)
    remedy = next(one for one in tried(values, groups) if one.method == "m0")
    assert (remedy.group, remedy.other_group) == ("a", "b")
    assert remedy.helps
    assert remedy.n_texts == 20
    chooses = choosing_half([f"t{i}" for i in range(TEXTS)], groups, [None] * TEXTS)
    rest = ~chooses & (np.array(groups) == "a")
    assert remedy.level == pytest.approx(values["m0"][:, rest].mean())
    assert remedy.level_after == pytest.approx(values[remedy.replacement][:, rest].mean())
    assert remedy.gain == pytest.approx(remedy.level_after - remedy.level)
    assert remedy.ci_low < 0.25 < remedy.ci_high
    assert remedy.gap - remedy.gap_after == pytest.approx(remedy.gain)


def test_lower_values_are_turned():
    values, groups = study(np.random.default_rng(3), loss=0.25)
    higher = tried(values, groups)
    lower = tried({name: -own for name, own in values.items()}, groups, higher=False)
    for one, other in zip(higher, lower, strict=True):
        assert (one.method, one.replacement, one.helps) == (
            other.method, other.replacement, other.helps,
        )  # fmt: skip
        for name in ("gain", "ci_low", "ci_high", "gap", "gap_after", "p", "p_holm"):
            assert getattr(one, name) == pytest.approx(getattr(other, name))
        assert one.level == pytest.approx(-other.level)


def test_a_method_that_is_better_for_all_where_groups_are_alike_remedies_no_gap():
    values, groups = study(np.random.default_rng(5), loss=0.0)
    values["m0"] = values["m0"] - 0.3
    assert not any(one.helps for one in tried(values, groups))


def test_a_gap_that_no_method_narrows_has_no_remedy():
    values, groups = study(np.random.default_rng(6), loss=0.0)
    worse = {name: own - 0.3 * (np.array(groups) == "a") for name, own in values.items()}
    assert not any(one.helps for one in tried(worse, groups))


@pytest.mark.parametrize(("loss", "least", "most"), [(0.25, 0.9, 1.0), (0.0, 0.0, 0.05)])
def test_planted_noise_is_found_and_nothing_where_none_is(loss, least, most):
    rng = np.random.default_rng(9)
    runs = 200
    helped = sum(
        any(one.helps and one.method == "m0" for one in tried(*study(rng, loss)))
        for _ in range(runs)
    )
    assert least <= helped / runs <= most
