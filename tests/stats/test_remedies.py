"""Remedies: halves of matched sets, what they choose, and planted noise in one method."""

import numpy as np
import pytest

from exparity.stats.crossed import crossed_tests
from exparity.stats.means import mean_of_finite
from exparity.stats.remedies import (
    Choice,
    Gap,
    Instead,
    choices_of,
    choosing_half,
    remedies_of,
)

ORDER = ("a", "b")
SEEDS, TEXTS, WORDS = 4, 80, 16


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


def others(values):
    """What each method may be replaced by: every other one."""
    return {
        method: {Instead("method", name): own for name, own in values.items() if name != method}
        for method in values
    }


def tried(values, groups, sets=None, higher=True, instead=None):
    ids = [f"t{i}" for i in range(len(groups))]
    chooses = choosing_half(ids, groups, sets or [None] * len(groups))
    of_texts = np.array(groups, dtype=object)
    instead = others(values) if instead is None else instead

    def levels(own):
        return np.array([mean_of_finite(own[:, chooses & (of_texts == group)]) for group in ORDER])

    def reported(own):
        return np.where(chooses, np.nan, own)

    choices = choices_of(
        {name: levels(own) for name, own in values.items()},
        {m: {one: levels(own) for one, own in several.items()} for m, several in instead.items()},
        ORDER,
        higher_is_better=higher,
    )
    sign = 1 if higher else -1
    gaps = {}
    for choice in choices:
        pair = choice.other_group, choice.group
        (test,) = crossed_tests(reported(values[choice.method]), groups, pair, sets, only="mean")
        gaps[choice.method] = Gap(sign * test.estimate, test.p_mean)
    return remedies_of(
        {name: reported(own) for name, own in values.items()},
        {choice: reported(instead[choice.method][choice.instead]) for choice in choices},
        gaps,
        groups,
        sets,
        higher_is_better=higher,
    )


def foreseen(attributions, effects):
    """(s, n) correlations of (s, n, t) attributions with effects."""
    a = attributions - attributions.mean(axis=-1, keepdims=True)
    b = effects - effects.mean(axis=-1, keepdims=True)
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def standardised(attributions):
    return attributions / attributions.std(axis=-1, keepdims=True)


def planted_study(rng, noise):
    """Values of three methods, and of all that may replace them: methods, means, debiasing.

    The first method has ``noise`` for the first group, in all trainings, debiased ones too. Half of
    an error is the same in all trainings; methods differ in the size of their errors.
    """
    groups = np.array([ORDER[i % 2] for i in range(TEXTS)], dtype=object)
    shape = SEEDS, TEXTS, WORDS

    def trained():
        effects = rng.normal(size=(1, TEXTS, WORDS)) + 0.3 * rng.normal(size=shape)
        attributions = {}
        for number, error in enumerate((0.7, 0.7, 0.9)):
            errors = 0.7 * rng.normal(size=(1, TEXTS, WORDS)) + 0.7 * rng.normal(size=shape)
            size = np.full((TEXTS, 1), error)
            size[groups == "a"] += noise * (number == 0)
            attributions[f"m{number}"] = effects + size * errors
        return effects, attributions

    effects, attributions = trained()
    debiased_effects, debiased = trained()
    values = {name: foreseen(own, effects) for name, own in attributions.items()}
    instead = others(values)
    for method, own in attributions.items():
        for name, other in attributions.items():
            if name != method:
                pair = "+".join(sorted((method, name)))
                mean = standardised(own) + standardised(other)
                instead[method][Instead("mean", pair)] = foreseen(mean, effects)
        instead[method][Instead("debiasing", "cda")] = foreseen(debiased[method], debiased_effects)
    return values, groups.tolist(), instead


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
    good = Instead("method", "good")
    assert choices_of(levels, others(levels), ORDER, higher_is_better=higher) == [
        Choice("poor", "a", "b", good),
        Choice("fair", "b", "a", good),
    ]


def test_the_best_of_each_kind_is_chosen_if_it_is_better():
    levels = {"poor": np.array([0.1, 0.4])}
    instead = {
        "poor": {
            Instead("method", "fair"): np.array([0.2, 0.2]),
            Instead("method", "good"): np.array([0.3, 0.2]),
            Instead("mean", "fair+poor"): np.array([0.15, 0.3]),
            Instead("debiasing", "us"): np.array([0.05, 0.9]),
        }
    }
    kinds = [choice.instead for choice in choices_of(levels, instead, ORDER, higher_is_better=True)]
    assert kinds == [Instead("method", "good"), Instead("mean", "fair+poor")]


def debiased(after, seeds=SEEDS):
    """The remedy of a method by debiasing, whose groups' values change to ``after``."""
    rng = np.random.default_rng(2)
    groups = [*ORDER] * (TEXTS // 2)
    is_first = np.array(groups) == "a"
    noise = 0.05 * rng.normal(size=(2, seeds, TEXTS))
    before = np.where(is_first, 0.2, 0.5) + noise[0]
    values_after = np.where(is_first, *after) + noise[1]
    instead = {"m0": {Instead("debiasing", "us"): values_after}}
    (remedy,) = tried({"m0": before}, groups, instead=instead)
    return remedy


def test_debiasing_changes_the_other_group_as_well():
    remedy = debiased((0.4, 0.45))
    assert remedy.helps
    assert (remedy.kind, remedy.replacement) == ("debiasing", "us")
    assert remedy.other_level == pytest.approx(0.5, abs=0.02)
    assert remedy.other_level_after == pytest.approx(0.45, abs=0.02)
    assert remedy.gap_after == pytest.approx(0.05, abs=0.03)
    assert not debiased((0.4, 0.45), seeds=1).helps  # one training may be better by chance


def test_remedies_are_ranked_by_who_is_worse_off_afterwards():
    values, groups = study(np.random.default_rng(3), loss=0.25)
    is_first = np.array(groups) == "a"
    harms = np.where(is_first, 0.6, 0.1) + 0.0 * values["m0"]
    instead = others(values)
    instead["m0"][Instead("debiasing", "harmful")] = harms
    remedies = [one for one in tried(values, groups, instead=instead) if one.method == "m0"]
    ranked = sorted(remedies, key=lambda one: one.rank)
    assert [one.kind for one in ranked] == ["method", "debiasing"]
    assert ranked[1].gain > ranked[0].gain


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


@pytest.mark.parametrize("runs", [40, pytest.param(200, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize(("noise", "least", "most"), [(0.5, 0.9, 1.0), (0.0, 0.0, 0.05)])
def test_planted_noise_is_found_and_nothing_where_none_is(noise, least, most, runs):
    rng = np.random.default_rng(9)
    helped = 0
    for _ in range(runs):
        values, groups, instead = planted_study(rng, noise)
        remedies = tried(values, groups, instead=instead)
        helped += any(one.helps and (one.method == "m0" or not noise) for one in remedies)
    print(f"{helped} of {runs} studies with a noise of {noise}: a remedy")  # pytest -rP shows it
    assert least <= helped / runs <= most
