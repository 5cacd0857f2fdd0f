"""What a gap comes from: parts that add up, and what moves which part."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from exparity.core.settings import DEFAULTS
from exparity.stats.crossed import crossed_tests
from exparity.stats.samples import GroupedTexts
from exparity.stats.sources import SOURCES, Divided, gap_parts, gap_sources

pytestmark = pytest.mark.property
PAIR = ("female", "male")
UNKNOWN = np.nan
few = settings(max_examples=25)
"""Of each property: a crossed test takes milliseconds."""


def drawn(seed, n=24, trainings=3, matched=False, sign=1):
    """Return trainings with chance, room and gain of n texts, groups and sets."""
    rng = np.random.default_rng(seed)
    groups = [PAIR[i % 2] for i in range(n)]
    sets = [str(i // 2) for i in range(n)] if matched else None
    is_first = np.array(groups) == PAIR[0]
    divided = []
    for _ in range(trainings):
        chance = rng.normal(0.2, 0.05, n) + 0.1 * is_first
        room = sign * (rng.uniform(0.1, 0.6, n) + 0.2 * is_first)
        gain = room * rng.uniform(0, 1, n)
        divided.append(Divided(chance + gain, gain, room))
    return divided, groups, sets


def sources(divided, groups, sets=None, pair=PAIR):
    return gap_sources(divided, GroupedTexts.of(groups, pair, sets), DEFAULTS)[pair]


def parts(found):
    return np.array([getattr(found, f"gap_{source}") for source in SOURCES])


def gap_of(divided, groups, sets=None):
    (test,) = crossed_tests([one.score for one in divided], groups, PAIR, sets)
    return test.estimate


def by_hand(divided, groups):
    """Return the three parts, straight from the definition, training by training."""
    is_first = np.array(groups) == PAIR[0]
    found = []
    for score, gain, room in divided:
        a, b = (
            {"C": (score - gain)[own].mean(), "B": room[own].mean(),
             "S": gain[own].sum() / room[own].sum()}
            for own in (is_first, ~is_first)
        )  # fmt: skip
        found.append([
            a["C"] - b["C"],
            (a["S"] + b["S"]) / 2 * (a["B"] - b["B"]),
            (a["B"] + b["B"]) / 2 * (a["S"] - b["S"]),
        ])  # fmt: skip
    return np.mean(found, axis=0)


@few
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([1, -1]))
def test_the_parts_add_up_to_the_gap(seed, matched, sign):
    divided, groups, sets = drawn(seed, matched=matched, sign=sign)
    found = parts(sources(divided, groups, sets))
    assert found.sum() == pytest.approx(gap_of(divided, groups, sets), abs=1e-12)


@few
@given(st.integers(0, 10_000))
def test_the_parts_are_those_of_the_definition(seed):
    divided, groups, _ = drawn(seed)
    assert parts(sources(divided, groups)) == pytest.approx(by_hand(divided, groups), abs=1e-12)


@few
@given(st.integers(0, 10_000), st.booleans())
def test_the_parts_of_one_training_are_those_of_the_definition(seed, with_undefined):
    (training,), groups, _ = drawn(seed, trainings=1)
    kept = np.ones(len(groups), dtype=bool)
    if with_undefined:
        kept[[0, 5]] = False
        training.gain[~kept] = UNKNOWN
    known = training._replace(**{name: part[kept] for name, part in training._asdict().items()})
    expected = by_hand(
        [known], [group for group, is_kept in zip(groups, kept, strict=True) if is_kept]
    )
    assert parts(gap_parts(training, GroupedTexts.of(groups, PAIR, None), PAIR)) == pytest.approx(
        expected, abs=1e-12
    )


def test_one_training_without_texts_of_a_group_has_no_parts():
    (training,), _, _ = drawn(0, trainings=1)
    assert np.isnan(
        parts(gap_parts(training, GroupedTexts.of([PAIR[0]] * 24, PAIR, None), PAIR))
    ).all()


@few
@given(st.integers(0, 10_000), st.booleans())
def test_undefined_scores_leave_the_parts_a_sum(seed, matched):
    divided, groups, sets = drawn(seed, matched=matched)
    rng = np.random.default_rng(seed)
    for one in divided:
        for part in one:
            part[rng.random(len(groups)) < 0.15] = UNKNOWN
    known = [np.isfinite(np.array(one)).all(axis=0) for one in divided]
    kept = [
        one._replace(score=np.where(k, one.score, UNKNOWN))
        for one, k in zip(divided, known, strict=True)
    ]
    found = parts(sources(divided, groups, sets))
    assume(np.isfinite(found).all())  # where a group has no room left, only chance is known
    assert found.sum() == pytest.approx(gap_of(kept, groups, sets), abs=1e-12)


@few
@given(st.integers(0, 10_000))
def test_swapped_groups_change_every_sign(seed):
    divided, groups, _ = drawn(seed)
    swapped = sources(divided, groups, pair=PAIR[::-1])
    assert parts(swapped) == pytest.approx(-parts(sources(divided, groups)), abs=1e-12)


@few
@given(st.integers(0, 10_000), st.floats(-1, 1))
def test_a_constant_added_in_one_group_is_chance(seed, constant):
    divided, groups, _ = drawn(seed)
    more = constant * (np.array(groups) == PAIR[0])
    moved = [one._replace(score=one.score + more) for one in divided]
    change = parts(sources(moved, groups)) - parts(sources(divided, groups))
    assert change == pytest.approx([constant, 0, 0], abs=1e-12)


@few
@given(st.integers(0, 10_000), st.floats(0.1, 10))
def test_a_factor_scales_every_part(seed, factor):
    divided, groups, _ = drawn(seed)
    scaled = [Divided(*(factor * part for part in one)) for one in divided]
    expected = factor * parts(sources(divided, groups))
    assert parts(sources(scaled, groups)) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_explanations_of_one_skill_have_no_part():
    divided, groups, _ = drawn(3)
    of_one_skill = [Divided(m - a + 0.4 * b, 0.4 * b, b) for m, a, b in divided]
    found = sources(of_one_skill, groups)
    assert found.gap_explanations == pytest.approx(0, abs=1e-12)
    assert abs(found.gap_room) > 0.05


def test_without_room_only_chance_is_known():
    divided, groups, _ = drawn(5)
    nowhere = [one._replace(room=np.full(len(groups), UNKNOWN)) for one in divided]
    found = sources(nowhere, groups)
    assert found.gap_chance == pytest.approx(sources(divided, groups).gap_chance)
    assert np.isnan([found.gap_room, found.gap_explanations]).all()


def test_without_a_control_no_source_is_known():
    assert np.isnan(parts(sources([], ["female", "male"]))).all()


def test_the_interval_of_a_part_covers_it_in_most_samples():
    """The true part of the explanations is that of very many texts."""
    truth = parts(sources(*drawn(1, n=200_000, trainings=1)[:2]))[2]
    found = [sources(*drawn(seed, n=120, trainings=1)[:2]) for seed in range(200)]
    covered = [f.gap_explanations_low <= truth <= f.gap_explanations_high for f in found]
    assert 0.90 <= np.mean(covered) <= 0.99
