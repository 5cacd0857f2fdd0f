"""A test of all groups at once, and pairs of groups behind it."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from exparity.stats.crossed import crossed_tests
from exparity.stats.multiplicity import Gate, behind_gates, benjamini_hochberg, holm
from exparity.stats.omnibus import any_differs, omnibus_test
from exparity.stats.parts import Parts
from exparity.stats.samples import GroupedTexts
from exparity.stats.verdicts import judge

ORDER = ("a", "b", "c", "d")


def drawn(rng, *, seeds=5, sizes=(20, 20, 20, 20), means=(0, 0, 0, 0), tau=0.3, sets=False):
    """Return (s, n) scores, groups and sets, whose trainings change groups."""
    scores, groups, names = [], [], []
    of_sets = rng.normal(size=max(sizes))
    for group, n, mean in zip(ORDER, sizes, means, strict=False):
        part = mean + tau * rng.normal(size=(seeds, 1)) + rng.normal(size=(1, n))
        scores.append(part + rng.normal(size=(seeds, n)) + sets * of_sets[:n])
        groups += [group] * n
        names += [f"{i}" if sets else None for i in range(n)]
    return np.hstack(scores), groups, names


def omnibus(scores, groups, names=None, order=ORDER, **options):
    tests = crossed_tests(list(scores), groups, order, names, only="mean", **options)
    return omnibus_test(scores, GroupedTexts.of(groups, order, names), tests, **options), tests


@pytest.mark.reference
@pytest.mark.parametrize("seeds", [1, 3, 8])
@pytest.mark.parametrize("sets", [False, True])
@pytest.mark.parametrize("mean", [0.0, 0.6])
def test_of_two_groups_it_is_the_crossed_test_of_their_gap(seeds, sets, mean):
    sizes = (20, 20) if sets else (12, 40)
    scores, groups, names = drawn(
        np.random.default_rng(seeds), seeds=seeds, sizes=sizes, means=(0, mean), sets=sets
    )
    (test,) = crossed_tests(list(scores), groups, ORDER[:2], names)
    parts = [scores[:, np.array(groups) == group] for group in ORDER[:2]]
    assert any_differs(Parts(parts, sets)) == pytest.approx(test.p_mean, rel=1e-4)


@pytest.mark.reference
@pytest.mark.parametrize("sizes", [(12, 30, 80, 200), (9, 9, 9), (40, 15, 25, 60, 8)])
def test_of_one_training_it_is_welchs_test(sizes):
    """Welch (1951), written out: groups of different sizes and variances."""
    rng = np.random.default_rng(3)
    parts = [rng.normal(0.2 * i, 1 + i, size=(1, n)) for i, n in enumerate(sizes)]
    k = len(sizes)
    weights = np.array([n / part.var(ddof=1) for n, part in zip(sizes, parts, strict=True)])
    means = np.array([part.mean() for part in parts])
    centre = weights @ means / weights.sum()
    spread = float(((1 - weights / weights.sum()) ** 2 / (np.array(sizes) - 1)).sum())
    statistic = weights @ (means - centre) ** 2 / (k - 1)
    statistic /= 1 + 2 * (k - 2) / (k**2 - 1) * spread
    p = stats.f.sf(statistic, k - 1, (k**2 - 1) / (3 * spread))
    assert any_differs(Parts(parts, False)) == pytest.approx(p, rel=1e-4)


def test_what_trainings_do_to_all_groups_alike_cancels():
    rng = np.random.default_rng(4)
    scores, groups, _ = drawn(rng)
    moved = scores + 9 * rng.normal(size=(len(scores), 1))
    assert omnibus(moved, groups)[0].omnibus_p == pytest.approx(
        omnibus(scores, groups)[0].omnibus_p
    )


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_order_shift_and_scale_change_nothing(seed, sets):
    rng = np.random.default_rng(seed)
    scores, groups, names = drawn(rng, seeds=3, sizes=(8, 8, 8, 8), sets=sets)
    p = omnibus(scores, groups, names)[0].omnibus_p
    assert 0 < p <= 1
    assert omnibus(5 - 3 * scores, groups, names)[0].omnibus_p == pytest.approx(p, rel=1e-6)
    assert omnibus(scores, groups, names, order=ORDER[::-1])[0].omnibus_p == pytest.approx(p)


def test_groups_that_cannot_be_compared_at_once_have_the_smallest_pair_times_their_number():
    """Sets of two groups each: no set has all four."""
    rng = np.random.default_rng(5)
    scores, groups, names = drawn(rng, sizes=(30, 30, 30, 30), means=(0, 0, 0, 2), sets=True)
    pairs = [*combinations(range(4), 2)]
    kept = [j for j, (g, i) in enumerate(zip(groups, names, strict=True))
            if ORDER.index(g) in pairs[int(i) % 6]]  # fmt: skip
    found, tests = omnibus(
        scores[:, kept], [groups[j] for j in kept], [names[j] for j in kept]
    )  # fmt: skip
    assert found.omnibus_p == pytest.approx(min(1, 6 * min(test.p_mean for test in tests)))


def test_groups_of_other_lengths_are_compared_like_with_like():
    rng = np.random.default_rng(6)
    lengths = np.concatenate([rng.integers(4 + shift, 20 + shift, 200) for shift in (0, 2, 4, 6)])
    groups = [group for group in ORDER for _ in range(200)]
    scores = lengths / 6 + rng.normal(size=(4, 800))
    plain, _ = omnibus(scores, groups)
    alike, _ = omnibus(scores, groups, covariate=lengths.astype(float))
    assert plain.omnibus_p < 1e-6
    assert alike.omnibus_p > 0.01


@pytest.mark.parametrize("scores", [np.full((3, 40), 0.5), np.full((3, 40), np.nan)])
def test_equal_or_unknown_values_are_not_tested(scores):
    found, _ = omnibus(scores, [group for group in ORDER for _ in range(10)])
    assert np.isnan(found.omnibus_p)


def test_two_groups_have_no_test_of_all():
    scores, groups, _ = drawn(np.random.default_rng(7), sizes=(20, 20))
    found, _ = omnibus(scores, groups, order=ORDER[:2])
    assert (found.n_groups, np.isnan(found.omnibus_p)) == (2, True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_single_pairs_are_corrected_as_by_the_methods_of_their_names(p):
    p = np.array(p)
    found = behind_gates(p, [Gate([i], value, 2) for i, value in enumerate(p.tolist())])
    np.testing.assert_allclose(found["bh"][0], benjamini_hochberg(p), atol=1e-12)
    np.testing.assert_allclose(found["holm"][0], holm(p), atol=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(3, 5))
def test_no_pair_counts_before_its_gate_does(seed, n_cells, n_groups):
    rng = np.random.default_rng(seed)
    n_pairs = n_groups * (n_groups - 1) // 2
    p = rng.uniform(size=n_cells * n_pairs) ** 3
    gates = [
        Gate(range(i * n_pairs, (i + 1) * n_pairs), float(rng.uniform() ** 3), n_groups)
        for i in range(n_cells)
    ]
    for pairs, gate_p in behind_gates(p, gates).values():
        assert (pairs >= np.repeat(gate_p, n_pairs) - 1e-12).all()
        assert (pairs >= p - 1e-12).all()


def test_of_three_groups_a_single_pair_can_be_alike_if_any_differ():
    pairs, gate = behind_gates(np.array([0.01, 0.02, 0.04]), [Gate(range(3), 0.005, 3)])["holm"]
    assert pairs.tolist() == pytest.approx([0.01, 0.02, 0.04])
    assert gate.tolist() == [0.005]
    pairs, _ = behind_gates(np.array([0.01, 0.02, 0.04]), [Gate(range(3), 0.3, 3)])["holm"]
    assert pairs.tolist() == [0.3, 0.3, 0.3]


def test_a_pair_is_no_finding_where_no_group_differs():
    row = {"dataset": "d", "model": "m", "method": "x", "metric": "y", "quantity": "score",
           "n_seeds": 5, "p_large": 1.0, "p_small": 1.0, "p_cross": 1.0, "n_groups": 3}  # fmt: skip
    pairs = [("a", "b", 0.004), ("a", "c", 0.5), ("b", "c", 0.5)]
    for omnibus_p, verdict in ((0.2, "undecided"), (0.01, "different")):
        rows = [{**row, "group_a": a, "group_b": b, "p_mean": p, "omnibus_p": omnibus_p}
                for a, b, p in pairs]  # fmt: skip
        judged = judge(rows)
        assert judged[0]["verdict"] == verdict
        assert [row["omnibus_p_bh"] for row in judged] == [omnibus_p] * 3


def simulated(rng, sizes, tau):
    """Return the values of four groups in four trainings, each of which changes groups by tau."""
    return [
        rng.normal(size=(1, n)) + rng.normal(size=(4, n)) + t * rng.normal(size=(4, 1))
        for n, t in zip(sizes, tau, strict=True)
    ]


@pytest.mark.parametrize(
    ("sizes", "tau"), [((24,) * 4, (0.4,) * 4), ((10, 20, 40, 60), (0.8, 0, 0, 0))]
)
def test_it_errs_as_rarely_as_it_should(sizes, tau):
    """Trainings that change one group alone are no difference of groups."""
    rng = np.random.default_rng(8)
    p = [any_differs(Parts(simulated(rng, sizes, tau), False)) for _ in range(400)]
    assert np.mean(np.array(p) <= 0.05) <= 0.072  # two standard errors above 5 %


def test_it_finds_more_than_the_pairs():
    rng = np.random.default_rng(9)
    found = []
    for _ in range(60):
        parts = simulated(rng, (24,) * 4, (0.4,) * 4)
        parts = [part + shift for part, shift in zip(parts, (0, 0, 1, 1), strict=True)]
        of_all, tests = omnibus(np.hstack(parts), np.repeat(ORDER, 24).tolist())
        by_pairs = 6 * min(test.p_mean for test in tests)
        found.append((of_all.omnibus_p <= 0.05, by_pairs <= 0.05))
    by_all, by_pairs = np.mean(found, axis=0)
    assert by_all > by_pairs + 0.1
