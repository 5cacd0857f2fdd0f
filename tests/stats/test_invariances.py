"""What holds for every statistic: the order of groups is the sign, and that of rows nothing."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from compared import near
from hypothesis import given, settings
from hypothesis import strategies as st
from stats.drawn import causal, counterfactuals, predictions, scores, statistical

from exparity.core.settings import DEFAULTS
from exparity.stats.adjusted import adjusted_gaps
from exparity.stats.compare import compare_all, compare_groups
from exparity.stats.crossed import crossed_tests
from exparity.stats.gap_change import gap_changes
from exparity.stats.jackknife import interval_of_d
from exparity.stats.samples import GroupedTexts

pytestmark = pytest.mark.property
# Of each of eight statistics, a quarter of the examples of others.
FEWER = settings(max_examples=settings.default.max_examples // 4)
Row = dict[str, Any]


@dataclass(frozen=True)
class Statistic:
    """A statistic as rows of columns by key, and what the other order of two groups does to one."""

    columns: st.SearchStrategy
    rows: Callable[[Mapping[str, Any]], dict[Any, Row]]
    flips: Sequence[str] = ()  # names whose sign turns
    swaps: Sequence[tuple[str, str]] = ()  # names that change places
    ends: Sequence[tuple[str, str]] = ()  # of signed intervals
    units: Sequence[str] = ()  # names in the unit of the scores
    squares: Sequence[str] = ()  # and in its square
    places: Sequence[str] = ()  # and those that move with the scores
    left_out: Sequence[str] = ()  # what has a test of its own
    other_key: Callable[[Any], Any] = lambda key: key
    is_signed: Callable[[Any], bool] = lambda key: True
    near: float = 1e-7

    def mirrored(self, key: Any, row: Row) -> Row:
        found = dict(row)
        for one, other in self.swaps:
            if row[other] != "":  # else it is of one group alone
                found[one], found[other] = row[other], row[one]
        if self.is_signed(key):
            found |= {name: -row[name] for name in self.flips}
            for low, high in self.ends:
                found[low], found[high] = -row[high], -row[low]
        return found


def given_of(columns):
    return columns["values"], columns["groups"], columns["order"], columns["pairs"]


def of_two(columns):
    return {"": vars(compare_groups(*given_of(columns), resamples=0))}


def of_all(columns):
    row = vars(compare_all(*given_of(columns), resamples=0)[0])
    at_once = ("n_groups", "n_sets", "omnibus", "friedman", "epsilon_squared")
    return {"": {name: value for name, value in row.items() if name.startswith(at_once)}}


def of_trainings(columns):
    return {"": vars(crossed_tests(*given_of(columns))[0])}


def of_changes(columns):
    values, *grouping = given_of(columns)
    (found,) = gap_changes(*values, GroupedTexts.of(*grouping), DEFAULTS)
    own = {seed: vars(row) for seed, row in enumerate(found.by_training)}
    return {"over": vars(found.over_trainings)} | (own if columns["trainings"] is None else {})


def of_adjusted(columns):
    values, *grouping = given_of(columns)
    covariates = {"length": np.asarray(columns["lengths"]), "class": np.asarray(columns["kinds"])}
    texts = GroupedTexts.of(*grouping)
    found = adjusted_gaps(np.asarray(values, dtype=float), texts, covariates=covariates)
    return {gap.adjustment: vars(gap) for gap in found}


def of_interval(columns):
    values, groups, (first, _), sets = given_of(columns)
    is_first = np.array([group == first for group in groups])
    low, high, flags = interval_of_d(values, is_first, sets, ddof=1, confidence=0.95)
    return {"": {"low": low, "high": high, "flags": flags}}


def of_predictions(columns):
    return {key: vars(row) for key, row in statistical(columns).items()}


def of_causes(columns):
    return {key: vars(row) for key, row in causal(columns).items()}


def swapped_pair(key):
    quantity, a, b, name = key
    return (quantity, b, a, name) if b else key


@st.composite
def normal(draw, shape=(), missing=0.0):
    """Normal scores of forty pairs, as sets or as rows."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    values = rng.normal(size=(*shape, 80))
    values[..., ::2] += rng.normal(size=(*shape[:1], *[1] * len(shape)))
    values[rng.random(values.shape) < missing] = math.nan
    pairs = draw(st.sampled_from([None, np.arange(80) // 2]))
    return {"values": values, "groups": [*"ba"] * 40, "order": ("b", "a"), "pairs": pairs,
            "trainings": None}  # fmt: skip


@st.composite
def with_covariates(draw):
    columns = draw(scores(least=8))
    n = len(columns["groups"])
    some = st.lists(st.integers(0, 2), min_size=n, max_size=n)
    return {**columns, "kinds": draw(some), "lengths": draw(some)}


GROUP = [("group_a", "group_b")]
COUNTS = [*GROUP, ("n_a", "n_b")]
BIAS_ROW = {"flips": ("value",), "ends": [("ci_low", "ci_high")], "swaps": [("group", "group_b")],
            "other_key": swapped_pair}  # fmt: skip
STATISTICS = {
    "compare_groups": Statistic(
        scores(), of_two,
        flips=("mean_difference", "cohens_d", "rank_biserial", "direction", "d_z"),
        swaps=[*COUNTS, ("mean_a", "mean_b"), ("sd_a", "sd_b")], left_out=("U",),
        units=("mean_difference", "sd_a", "sd_b"), places=("mean_a", "mean_b"),
    ),
    "compare_all": Statistic(scores(3), of_all),
    "crossed_tests": Statistic(
        scores(seeds=5), of_trainings, flips=("estimate", "d"), ends=[("ci_low", "ci_high")],
        swaps=[*COUNTS, ("seeds_above", "seeds_below"), ("mean_a", "mean_b")],
        units=("estimate", "standard_error", "ci_low", "ci_high", "pooled_sd"),
        squares=("v_seeds", "v_texts", "v_cells"), places=("mean_a", "mean_b"),
    ),
    "gap_changes": Statistic(
        normal((2, 3), 0.05), of_changes, flips=("d", "base_d"), swaps=COUNTS,
        near=1e-6,
    ),
    "adjusted_gaps": Statistic(
        with_covariates(), of_adjusted, flips=("estimate",), ends=[("low", "high")], swaps=GROUP,
        units=("estimate", "standard_error", "low", "high"), near=1e-5,
    ),
    "interval_of_d": Statistic(normal(), of_interval, ends=[("low", "high")]),
    "model_bias": Statistic(
        predictions(), of_predictions, **BIAS_ROW,
        is_signed=lambda key: key[0].endswith("_gap") and key[0] != "equalised_odds_gap",
    ),
    "causal_bias": Statistic(
        counterfactuals(), of_causes, **BIAS_ROW,
        is_signed=lambda key: key[0].endswith(("_gap", "_by_code")),
    ),
}  # fmt: skip


def assert_same(expected: Row, found: Row, statistic: Statistic, key: Any) -> None:
    for name, value in expected.items():
        if name not in statistic.left_out:
            assert found[name] == near(value, rel=statistic.near, least=1e-8), (key, name)


def moved(columns, random):
    """The same rows in another order, and trainings too."""
    size = len(columns["groups"])
    places = list(range(size))
    random.shuffle(places)
    found = dict(columns)
    for name, column in columns.items():
        if name in ("order", "classes", "counterfactuals"):
            continue
        if isinstance(column, np.ndarray):
            found[name] = column[..., places]
        elif isinstance(column, list):
            found[name] = [column[i] for i in places]
    if "counterfactuals" in columns:
        of = columns["counterfactuals"]
        found["counterfactuals"] = [replace(one, index=places.index(one.index)) for one in of[::-1]]
    return found


@pytest.mark.parametrize("name", STATISTICS)
@FEWER
@given(data=st.data())
def test_the_order_of_groups_is_the_sign(name, data):
    statistic = STATISTICS[name]
    columns = data.draw(statistic.columns)
    there = statistic.rows(columns)
    back = statistic.rows({**columns, "order": columns["order"][::-1]})
    assert there
    for key, row in there.items():
        other = statistic.other_key(key)
        assert_same(statistic.mirrored(key, row), back[other], statistic, key)


@pytest.mark.parametrize("name", STATISTICS)
@FEWER
@given(data=st.data(), random=st.randoms(use_true_random=False))
def test_the_order_of_rows_is_irrelevant_and_they_stay_as_they_are(name, data, random):
    statistic = STATISTICS[name]
    columns = data.draw(statistic.columns)
    before = repr(columns)
    there = statistic.rows(columns)
    assert repr(columns) == before
    found = statistic.rows(moved(columns, random))
    for key, row in there.items():
        assert_same(row, found[key], statistic, key)


@pytest.mark.parametrize("name", ["crossed_tests", "gap_changes"])
@FEWER
@given(data=st.data())
def test_the_order_of_trainings_is_irrelevant(name, data):
    statistic = STATISTICS[name]
    columns = {**data.draw(statistic.columns), "trainings": "mixed"}
    mixed = {**columns, "values": columns["values"][..., ::-1, :]}
    for key, row in statistic.rows(columns).items():
        assert_same(row, statistic.rows(mixed)[key], statistic, key)


@pytest.mark.parametrize("name", [name for name in STATISTICS if "bias" not in name])
@FEWER
@given(data=st.data(), scale=st.sampled_from([0.25, 2.0, 1024.0]), shift=st.integers(-100, 100))
def test_scale_and_shift_leave_all_that_has_no_unit(name, data, scale, shift):
    statistic = STATISTICS[name]
    columns = data.draw(statistic.columns)
    moved = statistic.rows({**columns, "values": columns["values"] * scale + shift})
    for key, row in statistic.rows(columns).items():
        expected = row | {name: row[name] * scale for name in statistic.units}
        expected |= {name: row[name] * scale**2 for name in statistic.squares}
        expected |= {name: row[name] * scale + shift for name in statistic.places}
        assert_same(expected, moved[key], replace(statistic, left_out=()), key)


OF_SEVERAL = {
    "crossed_tests": lambda values, *of: crossed_tests(values, *of),
    "adjusted_gaps": lambda values, *of: adjusted_gaps(
        values[0], GroupedTexts.of(*of), covariates={"length": values[1], "class": values[2] > 0}
    ),
    "gap_changes": lambda values, *of: [
        change.over_trainings
        for change in gap_changes(values, values**2, GroupedTexts.of(*of), DEFAULTS)
    ],
}


@pytest.mark.parametrize("name", OF_SEVERAL)
def test_every_two_of_three_groups_are_compared_as_if_alone(name):
    values, groups = np.random.default_rng(12).normal(size=(4, 90)), np.array([*"abc"] * 30)
    sets, compare = np.arange(90) // 3, OF_SEVERAL[name]
    alone = []
    for pair in (("c", "a"), ("c", "b"), ("a", "b")):
        kept = np.isin(groups, pair)
        alone += compare(values[:, kept], groups[kept], pair, sets[kept])
    # As text: from Python 3.13 on, a NaN makes a dataclass unequal to itself.
    assert repr(compare(values, groups, ("c", "a", "b"), sets)) == repr(alone)


@given(columns=scores())
def test_u_is_the_rest_of_the_pairs(columns):
    one = of_two(columns)[""]
    two = of_two({**columns, "order": columns["order"][::-1]})[""]
    assert math.isnan(one["U"]) or one["U"] + two["U"] == one["n_a"] * one["n_b"]
