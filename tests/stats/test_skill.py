"""Skill: published numbers, loops written for it, and what each scale does not see."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import loops

from exparity.config.presets import preset
from exparity.core.errors import InputError
from exparity.metrics.limits import best_orders, reference_orders
from exparity.metrics.removal import TENTHS, Steps, top_sets
from exparity.stats.crossed import CrossedTest, crossed_tests
from exparity.stats.skill import (
    SCALES,
    Limits,
    linearised,
    of_constant,
    on_all_scales,
    share_below,
    step_among,
    tell_nothing,
    units_that_count,
)
from exparity.stats.verdicts import TWICE, judge
from exparity.types import Falls

pytestmark = pytest.mark.reference

WEIGHTS, BASE, N = (2.0, -0.5, 0.1, 1.2, 0.0, 0.3), -1.0, 6
E1, E2 = (1.5, 0.2, 0.3, 0.9, 0.1, 0.4), (0.1, 0.9, 0.2, 0.3, 0.0, 0.5)
DRAWS = [(0, 1, 2, 3, 4, 5), (5, 3, 1, 0, 2, 4), (2, 4, 0, 5, 1, 3), (3, 1, 4, 2, 5, 0)]
ALL = list(itertools.permutations(range(N)))
EVERY_SIZE = range(1, N + 1)


def logistic(kept):
    return 1 / (1 + math.exp(-BASE - sum(w for w, k in zip(WEIGHTS, kept, strict=True) if k)))


def pairs(kept):
    """Tokens 0 and 3 say the class together, whether both are there or both are gone."""
    others = sum(0.1 * WEIGHTS[i] for i in (1, 2, 4, 5) if kept[i])
    return 1 / (1 + math.exp(-(2.0 if kept[0] == kept[3] else -2.0) - others))


def halved_logit(kept):
    return 1 / (1 + math.exp(-(BASE + sum(w * k for w, k in zip(WEIGHTS, kept, strict=True))) / 2))


def log_odds(p):
    return math.log(p / (1 - p))


def by_score(scores):
    return sorted(range(len(scores)), key=lambda i: (-scores[i], -i))


def mask_of(order, size, keep):
    return [(token in order[:size]) == keep for token in range(len(order))]


def falls(p, order, sizes, keep=False):
    """Falls of one order by a loop."""
    full = p([True] * len(order))
    changed = [p(mask_of(order, size, keep)) for size in sizes]
    return Falls(
        np.array(sizes),
        np.array([full - one for one in changed]),
        np.array([log_odds(full) - log_odds(one) for one in changed]),
    )


def together(each):
    return Falls(each[0].sizes, *(np.array([one[i] for one in each]) for i in (1, 2)))


def answers(p):
    """Log odds of the sets of units that are left of each text."""
    return lambda sets: [np.array([log_odds(p(list(kept))) for kept in left]) for left in sets]


def searched(p, n, keep=False, stages=10):
    (order,) = reference_orders(answers(p), [n], stages, keep=keep)
    return order.tolist()


def best(p, n, keep=False, stages=10):
    (order,) = best_orders(answers(p), [n], stages, keep=keep)
    return order.tolist()


def measured(p, scores, orders, keep=False, sizes=EVERY_SIZE):
    random = together([falls(p, order, EVERY_SIZE, keep) for order in orders])
    reference = falls(p, searched(p, N, keep), EVERY_SIZE, keep)
    limits = Limits(random, reference, higher_is_better=not keep)
    own = falls(p, by_score(scores), sizes, keep)
    return limits, own


CASES = {
    "e1, all": (logistic, E1, ALL, False, 0.608763, 0.263642, 0.831481, 0.919127),
    "e1": (logistic, E1, DRAWS, False, 0.608763, 0.276765, 0.892361, 0.957627),
    "e2": (logistic, E2, DRAWS, False, 0.247746, -0.084251, 0.395833, -0.254237),
    "e1, 1/4 + p/2": (
        lambda kept: 0.25 + logistic(kept) / 2, E1, DRAWS, False,
        0.304381, 0.138383, 0.892361, 0.957627,
    ),
    "e1, logit/2": (halved_logit, E1, DRAWS, False, 0.359762, 0.154347, 0.892361, 0.957627),
    "e2, p³": (
        lambda kept: logistic(kept) ** 3, E2, DRAWS, False,
        0.305566, -0.144234, 0.395833, -0.254237,
    ),
    "kept e1, all": (logistic, E1, ALL, True, 0.012884, 0.228577, 0.168519, 0.919127),
    "kept e1": (logistic, E1, DRAWS, True, 0.012884, 0.222909, 0.107639, 0.957627),
    "kept e2": (logistic, E2, DRAWS, True, 0.354122, -0.118329, 0.604167, -0.254237),
    "pairs e1, all": (pairs, E1, ALL, False, 0.127831, -0.167734, 0.487731, -0.040990),
    "pairs e1": (pairs, E1, DRAWS, False, 0.127831, -0.283415, 0.420139, -0.280488),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_scores_excess_and_skill_are_those_worked_out_by_hand(case):
    p, scores, orders, keep, score, excess, in_shares, skill = CASES[case]
    limits, own = measured(p, scores, orders, keep)
    assert own.probability.mean() == pytest.approx(score, abs=6e-7)
    assert limits.steps(own)["probability"][0] == pytest.approx(excess, abs=6e-7)
    shares = share_below(limits.random.log_odds, own.log_odds)
    assert shares.mean() == pytest.approx(in_shares, abs=6e-7)
    gain, room = limits.steps(own)["ranks"]
    assert gain / room == pytest.approx(skill, abs=6e-7)


def test_reference_numbers_of_ratios():
    gain, room = np.array([0.1, 0.2, 0.3, 0.05, 0.1]), np.array([0.4, 0.3, 0.6, 0.1, 0.2])
    found = linearised(gain, room, list("aaabb"))
    assert found == pytest.approx([0.266272, 0.603550, 0.514793, 0.5, 0.5], abs=6e-7)
    for score, chance, best, skill in (
        (0.8, 0.25, 1.0, 0.733333),
        (0.5, 0.3125, 1.0, 0.272727),
    ):
        (value,) = linearised(np.array([score - chance]), np.array([best - chance]), ["a"])
        assert value == pytest.approx(skill, abs=6e-7)


def test_rows_of_gains_have_the_values_that_each_has_alone():
    rng = np.random.default_rng(0)
    gain = rng.normal(size=(4, 3, 60))
    room = rng.uniform(0, 0.2, size=(4, 3, 60))
    gain[2, 1, 5:20] = np.nan  # undefined elsewhere than the others
    groups = ["a"] * 25 + ["b"] * 35
    together = linearised(gain, room, groups, least_room=0.1)
    for place in np.ndindex(4, 3):
        alone = linearised(gain[place], room[place], groups, least_room=0.1)
        np.testing.assert_array_equal(together[place], alone)


def test_units_that_replace_each_other_come_first():
    """No single loss shows them: nothing falls until the last of them goes."""

    def either(kept):
        return 1 / (1 + math.exp(1 - 2 * (kept[0] or kept[1]) - 1.5 * kept[2]))

    assert set(searched(either, 10)[:3]) != {0, 1, 2}
    assert set(best(either, 10)[:3]) == {0, 1, 2}


@st.composite
def texts(draw, longest=24):
    """A text: a closed-form classifier, random orders, and an explanation at its own steps."""
    n = draw(st.integers(1, longest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights, crossed = rng.normal(0, 1, n), rng.normal(0, 0.3, n)

    def p(kept):
        at = np.flatnonzero(kept)
        # Neighbours that are both there add something: the best order is not that of weights.
        joint = sum(crossed[i] for i in at if i + 1 in set(at.tolist()))
        # Within ±6, so that no change of it ends at a p of 1, which has no log-odds.
        return 1 / (1 + math.exp(-6 * math.tanh((weights[at].sum() + joint) / 6)))

    sizes = list(range(1, n + 1))
    own = sorted(draw(st.lists(st.integers(1, n), min_size=1, max_size=10)))
    return n, p, sizes, own, rng


@given(texts(), st.booleans(), st.sampled_from([3, 5, 10, 50]))
def test_searched_orders_equal_naive_loops(text, keep, stages):
    n, p, sizes, at, rng = text
    order = searched(p, n, keep, stages)

    def odds_with(kept):
        return log_odds(p([token in kept for token in range(n)]))

    assert order == loops.searched(odds_with, n, stages, keep)
    assert best(p, n, keep, stages) == loops.reference(odds_with, n, stages, keep)
    reference = falls(p, order, sizes, keep)
    random = together([falls(p, rng.permutation(n).tolist(), sizes, keep) for _ in range(5)])
    own = falls(p, rng.permutation(n).tolist(), at, keep)
    limits = Limits(random, reference, higher_is_better=not keep)
    for scale in SCALES:
        column = "probability" if scale == "probability" else "log_odds"
        each = [getattr(one, column).tolist() for one in (random, reference, own)]
        gain, room = loops.skill(scale, sizes, *each, at)
        expected = (-gain, -room) if keep else (gain, room)
        assert limits.steps(own)[scale] == pytest.approx(expected, abs=1e-9)


LEAVES = {
    "ranks": [
        lambda p: p**3,
        lambda p: 0.25 + p / 2,
        lambda p: 1 / (1 + math.exp(-2.5 * log_odds(p) - 1)),
    ],
    "log_odds": [lambda p: 1 / (1 + math.exp(-log_odds(p) / 2)), lambda p: p / (p + 3 * (1 - p))],
    "probability": [lambda p: 0.25 + p / 2, lambda p: 0.1 + 0.6 * p],
}


@settings(max_examples=settings.default.max_examples // 2)
@given(texts(), st.booleans())
def test_each_scale_leaves_what_it_should(text, keep):
    n, p, sizes, at, rng = text
    orders = [rng.permutation(n).tolist() for _ in range(6)]

    def skills(change, scale):
        def changed(kept):
            return change(p(kept))

        each = [falls(changed, order, sizes, keep) for order in orders[:4]]
        # Its order is the same for every increasing change.
        reference = falls(changed, best(changed, n, keep), sizes, keep)
        limits = Limits(together(each), reference, higher_is_better=not keep)
        gain, room = limits.steps(falls(changed, orders[4], at, keep))[scale]
        return gain / room if abs(room) > 1e-6 else 0.0

    for scale, changes in LEAVES.items():
        plain = skills(lambda p: p, scale)
        for change in changes:
            assert skills(change, scale) == pytest.approx(plain, rel=1e-6, abs=1e-9), scale


@pytest.mark.parametrize(("weights", "count"), [
    ([2.0, 0, 0, 0], 1.0),
    ([0.5] * 7, 7.0),
    ([3.0, 1.0], 1.6),
    ([1.0, 0.0, -1.0], 2.0),  # words against the class count, too
    ([0.0, 0.0], math.nan),
])  # fmt: skip
@pytest.mark.parametrize("keep", [False, True])
def test_units_that_count_are_those_of_a_linear_classifier(weights, count, keep):
    """They are those of a linear classifier, whether the reference removes units or keeps them."""
    left_out = sum(weights) - np.cumsum([0, *weights]) if keep else np.cumsum(weights)
    sizes = np.arange(0 if keep else 1, len(weights) + 1)
    found = units_that_count(Falls(sizes, left_out / 10, left_out))
    assert found == pytest.approx(count, nan_ok=True)


def test_draws_against_those_of_random_explanations():
    pool = np.array([[0.1, 0.2], [0.3, 0.4]])
    own = np.array([0.3, 0.5])
    assert step_among(pool, own, higher_is_better=True) == pytest.approx((0.8125 - 0.5, 0.5))
    assert step_among(pool, own, higher_is_better=False) == pytest.approx((0.5 - 0.8125, 0.5))
    assert np.isnan(step_among(pool, np.zeros(0), higher_is_better=True)).all()


def test_what_has_no_step_has_neither_gain_nor_room():
    limits, _ = measured(logistic, E1, DRAWS)
    none = np.zeros(0)
    for own in (
        Falls(np.zeros(0, dtype=int), none, none),
        Falls(np.zeros(2, dtype=int), np.zeros(2), np.zeros(2)),
    ):
        assert np.isnan(limits.steps(own)["ranks"]).all()


def test_a_group_without_room_has_no_skill():
    gain, room = np.array([0.01, 0.02, 0.3, 0.4, np.nan]), np.array([0.03, 0.05, 0.5, 0.5, 0.2])
    found = linearised(gain, room, list("aabbb"), least_room=0.05)
    assert np.isnan(found).tolist() == [True, True, False, False, True]
    assert np.isnan(linearised(gain[:2], -room[:2], list("aa"))).all()


@given(st.integers(2, 40), st.integers(0, 2**32 - 1))
def test_values_have_the_mean_and_the_variance_of_the_ratio(n, seed):
    rng = np.random.default_rng(seed)
    gain, room = rng.normal(0.3, 0.2, n), rng.uniform(0.2, 1, n)
    values = linearised(gain, room, ["a"] * n)
    assert values.mean() == pytest.approx(gain.sum() / room.sum())
    # Of the ratio, by the infinitesimal jackknife: derivatives in each text's weight.
    step = 1e-6
    derivatives = [
        ((gain.sum() + step * g) / (room.sum() + step * b) - gain.sum() / room.sum()) / step
        for g, b in zip(gain, room, strict=True)
    ]
    assert (values - values.mean()) / n == pytest.approx(derivatives, abs=1e-4 / n)


def trained(*gaps, seed=0):
    """Scores of five trainings and two groups of 60, with a gap on each of several scales."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(5, 120))
    groups = ["a"] * 60 + ["b"] * 60
    first = np.arange(120) < 60
    return [crossed_tests(list(base + gap * first), groups, ("a", "b"))[0] for gap in gaps]


class TestOnAllScales:
    def test_takes_the_largest_p_of_a_gap_and_describes_ranks(self):
        tests = dict(zip(SCALES, trained(1.0, 0.6, 0.5), strict=True))
        whole, columns = on_all_scales(tests)
        for name in ("p_mean", "p_large", "p_cross", "p_large_others"):
            assert getattr(whole, name) == max(getattr(test, name) for test in tests.values())
        ranks = tests["ranks"]
        for name in ("d", "estimate", "rms_gap", "ci_low"):
            assert getattr(whole, name) == getattr(ranks, name)
        assert columns.d_probability == tests["probability"].d
        assert columns.p_log_odds == tests["log_odds"].p_mean

    def test_a_small_gap_is_small_in_ranks_and_log_odds(self):
        ranks, log_odds, probability = trained(0.0, 0.1, 2.0)
        whole, columns = on_all_scales(
            {"ranks": ranks, "log_odds": log_odds, "probability": probability}
        )
        assert ranks.p_small < log_odds.p_small < probability.p_small
        assert whole.p_small == columns.p_small_log_odds == log_odds.p_small
        assert whole.equivalence_p == log_odds.equivalence_p
        assert columns.p_small_ranks == ranks.p_small
        assert columns.p_small_probability == probability.p_small
        whole, _ = on_all_scales({"ranks": ranks, "probability": probability})
        assert whole.p_small == probability.p_small
        whole, columns = on_all_scales({"ranks": ranks})
        assert whole.p_small == ranks.p_small
        assert math.isnan(columns.p_small_log_odds)

    def test_of_one_training_the_size_of_the_mean_gap_counts(self):
        rng = np.random.default_rng(0)
        groups = ["a"] * 60 + ["b"] * 60
        tests = {}
        for scale, gap in zip(SCALES, (0.0, 0.1, 2.0), strict=True):
            values = rng.normal(size=120) + gap * (np.arange(120) < 60)
            (tests[scale],) = crossed_tests([values], groups, ("a", "b"))
        whole, columns = on_all_scales(tests)
        assert math.isnan(whole.p_small)
        larger = max(tests["ranks"].equivalence_p, tests["log_odds"].equivalence_p)
        assert whole.equivalence_p == larger
        assert columns.p_small_log_odds == tests["log_odds"].equivalence_p

    def test_no_gap_where_signs_disagree(self):
        whole, _ = on_all_scales(dict(zip(SCALES, trained(1.0, 1.0, -1.0), strict=True)))
        assert whole.p_mean == 1.0
        assert whole.p_large < 0.05

    def test_a_scale_that_cannot_be_tested_shows_nothing(self):
        ranks, other = trained(1.0, 1.0)
        undefined = CrossedTest("a", "b")
        whole, _ = on_all_scales({"ranks": ranks, "log_odds": undefined, "probability": other})
        assert whole.p_mean == whole.p_large == 1.0
        whole, _ = on_all_scales({"ranks": undefined, "log_odds": ranks, "probability": other})
        assert math.isnan(whole.p_mean)

    def test_the_detectable_effect_comes_from_the_scale_that_finds_least(self):
        """A gap must show on each scale, so that the easiest one does not say what is found."""
        ranks, other = trained(0.5, 0.5)
        rng = np.random.default_rng(1)
        groups = ["a"] * 60 + ["b"] * 60
        trainings = rng.normal(size=(5, 1)) * (np.arange(120) < 60)
        (unsteady,) = crossed_tests(list(rng.normal(size=(5, 120)) + trainings), groups, ("a", "b"))
        assert unsteady.minimal_detectable_effect > 2 * ranks.minimal_detectable_effect
        whole, columns = on_all_scales({"ranks": ranks, "log_odds": other, "probability": unsteady})
        assert whole.minimal_detectable_effect == unsteady.minimal_detectable_effect
        ratio = unsteady.minimal_detectable_effect / ranks.minimal_detectable_effect
        assert columns.detectable_ratio == pytest.approx(ratio)
        alone, of_both = judge([vars(ranks), {**vars(whole), **vars(columns)}], [])
        for name in ("minimal_detectable_effect_corrected", *TWICE.values()):
            assert of_both[name] == pytest.approx(ratio * alone[name])
        assert of_both["text_share"] == alone["text_share"]

    @pytest.mark.parametrize(
        ("log_odds", "probability", "silent"),
        [
            ((1.0, 1.0), (0.3, 0.101), []),
            ((1.0, 1.0), (0.3, 0.099), ["probability"]),
            ((1.0, 1.0), (-0.01, 0.3), ["probability"]),
            ((0.5, 6.0), (0.3, 0.2), ["log_odds"]),
            ((0.5, 6.0), (0.3, 0.0), ["log_odds", "probability"]),
            ((1.0, 1.0), (0.3, math.nan), ["probability"]),
        ],
    )
    def test_scales_tell_nothing_where_one_group_has_hardly_any_room(
        self, log_odds, probability, silent
    ):
        rooms = {"ranks": (0.4, 0.01), "log_odds": log_odds, "probability": probability}
        assert tell_nothing(rooms) == silent

    def test_one_scale_claims_no_mean(self):
        (ranks,) = trained(1.0)
        whole, columns = on_all_scales({"ranks": ranks}, claims_means=False)
        untested = whole.p_mean, whole.p_cross, whole.minimal_detectable_effect
        assert all(map(math.isnan, untested))
        assert whole.p_large == ranks.p_large
        assert math.isnan(columns.d_log_odds)

    def test_a_gap_of_skill_stands_on_all_scales_or_not(self):
        """A gap stands on all scales, or not; one that turns with the scale is flagged."""
        gaps = {
            "different": (1.5, 1.5, 1.5),
            "equivalent": (0.0, 0.0, 0.0),
            "differs in log odds": (0.0, 2.0, 0.5),
            "differs by little": (0.0, 0.0, 0.5),
            "turns": (-1.5, 1.5, 0.0),
        }
        small = {"p_small": 0.001, "p_large": 1.0}
        among = {
            "equivalent": small,
            "differs in log odds": small,
            "differs by little": {**small, "p_small_probability": 0.001},
        }
        rows = []
        for name, each in gaps.items():
            tests = trained(*each, seed=3)
            whole, columns = on_all_scales(dict(zip(SCALES, tests, strict=True)))
            known = {**vars(whole), **vars(columns), **among.get(name, {})}
            rows.append({**known, "quantity": "skill"})
        judged = dict(zip(gaps, judge(rows, []), strict=True))
        expected = ["different", "equivalent", "undecided", "equivalent", "undecided"]
        assert [row["verdict"] for row in judged.values()] == expected
        flags = ["depends_on_scale" in row["flags"] for row in judged.values()]
        assert flags == [False, False, False, False, True]


@pytest.fixture(scope="module")
def linear():
    """Chance and reference of 20 tokens, three of weight 1.5, at every size."""
    weights, rng = np.array([1.5] * 3 + [0.0] * 17), np.random.default_rng(0)

    def p(kept):
        return 1 / (1 + math.exp(1 - weights[np.array(kept)].sum()))

    random = together([falls(p, rng.permutation(20), range(1, 21)) for _ in range(40)])
    reference = falls(p, searched(p, 20), range(1, 21))
    return p, Limits(random, reference, higher_is_better=True)


@pytest.mark.parametrize("sizes", [[1], [2, 3], [5], [2, 4, 20]])
@pytest.mark.parametrize("scale", SCALES)
def test_perfect_explanations_have_a_skill_of_1_at_their_own_sizes(linear, sizes, scale):
    """Limits of two tokens and more would give one token 0.41, and two and three tokens 1.13."""
    p, limits = linear
    gain, room = limits.steps(falls(p, list(range(20)), sizes))[scale]
    assert gain / room == pytest.approx(1.0, abs=1e-9)


def test_chance_is_of_the_same_size(linear):
    """One of 20 tokens takes a weight of 1.5 away in three cases of 20."""
    p, limits = linear
    gain, _ = limits.steps(falls(p, list(range(20)), [1]))["log_odds"]
    assert 1.5 - gain == pytest.approx(limits.random.log_odds[:, 0].mean(), abs=1e-9)
    assert 1.5 - gain == pytest.approx(3 / 20 * 1.5, abs=0.2)


def test_a_size_without_limits_is_no_skill(linear):
    p, limits = linear
    tenths = limits.random.sizes[1::2]
    of_tenths = [
        Falls(tenths, *(column[..., 1::2] for column in each[1:]))
        for each in (limits.random, limits.reference)
    ]
    few = Limits(*of_tenths, higher_is_better=True)
    with pytest.raises(InputError, match=r"an explanation takes \[3\]; run again"):
        few.steps(falls(p, list(range(20)), [2, 3]))["ranks"]


NAMES = ("code", "ferret", "gecobench", "text")
PRESETS = [
    blocks.get(metric) or {}
    for blocks in (preset(name).get("metrics", {}) for name in NAMES)
    for metric in ("comprehensiveness", "sufficiency")
]


@given(
    n=st.integers(2, 60),
    seed=st.integers(0, 2**32 - 1),
    keep=st.booleans(),
    options=st.sampled_from([*PRESETS, {"only_positive": False}, {"average_over": "all"}]),
    based_on=st.sampled_from(["fraction", "threshold"]),
    sparse=st.integers(0, 3),
)
def test_the_true_weights_have_a_skill_of_1(n, seed, keep, options, based_on, sparse):
    rng = np.random.default_rng(seed)
    weights = rng.normal(0.2, 1, n)

    def p(kept):
        return 1 / (1 + math.exp(-6 * math.tanh(weights[np.array(kept)].sum() / 6)))

    every = range(1, n + 1)
    random = together([falls(p, rng.permutation(n), every, keep) for _ in range(5)])
    reference = falls(p, searched(p, n, keep), every, keep)
    limits = Limits(random, reference, higher_is_better=not keep)
    shown = weights / np.abs(weights).sum()
    if sparse:
        shown[np.argsort(-shown)[sparse:]] = 0.0
    steps = Steps(**{"thresholds": TENTHS, "only_positive": True, **options, "based_on": based_on})
    sizes = [int(taken.sum()) for taken in top_sets(shown, np.ones(n, dtype=bool), steps)]
    own = falls(p, by_score(weights), sizes, keep)
    for scale in SCALES:
        gain, room = limits.steps(own)[scale]
        assert gain == pytest.approx(room, abs=1e-9, nan_ok=True)
        if room > 1e-6:
            assert gain / room == pytest.approx(1.0, abs=1e-9)


class TestConstant:
    """A skill that is the same for all texts."""

    GROUPS = ["a"] * 10 + ["b"] * 10

    def over_all(self, gains, rooms):
        rows = [linearised(g, r, self.GROUPS) for g, r in zip(gains, rooms, strict=True)]
        tests = crossed_tests(rows, self.GROUPS, ("a", "b"))
        whole, _ = on_all_scales({scale: of_constant(tests[0]) for scale in SCALES})
        return whole

    @pytest.mark.parametrize("trainings", [1, 3])
    def test_of_both_groups_is_equivalent(self, trainings):
        rooms = np.random.default_rng(0).uniform(0.2, 0.5, (trainings, 20))
        whole = self.over_all(rooms, rooms)
        assert whole.d == 0.0
        (row,) = judge([{**vars(whole), "quantity": "skill"}], [])
        assert row["verdict"] == row["verdict_strict"] == "equivalent"
        assert "constant" not in row["flags"]

    def test_of_another_size_in_each_group_is_not_tested(self):
        rooms = np.random.default_rng(0).uniform(0.2, 0.5, (3, 20))
        gains = rooms * np.where(np.array(self.GROUPS) == "a", 1.0, 0.5)
        whole = self.over_all(gains, rooms)
        assert math.isnan(whole.p_small)
        assert "no_variance" in whole.flags
