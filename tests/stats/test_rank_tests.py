"""Rank tests against loops in float64 and against scipy, on whatever hypothesis thinks of."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from exparity.stats.rank_tests import friedman, kruskal_wallis, mann_whitney, signed_rank

pytestmark = pytest.mark.reference

# Few different values make many ties; others are all different, also next to zero.
TIED = st.integers(-3, 3).map(float)
FREE = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 9))
VALUES = st.one_of(TIED, FREE)


def samples(smallest, largest, values=VALUES):
    return st.one_of(
        st.lists(values, min_size=smallest, max_size=largest),
        st.lists(TIED, min_size=smallest, max_size=largest),
        st.floats(-5, 5).flatmap(
            lambda x: st.integers(smallest, largest).map(lambda n: [x] * n)  # constant
        ),
    )


def naive_ranks(values):
    """One plus how many are smaller, plus half of how many others are equal."""
    return [1 + sum(v < x for v in values) + (values.count(x) - 1) / 2 for x in values]


def exact_signed_rank(differences):
    """All patterns of signs of the differences that are not zero."""
    kept = [x for x in differences if x != 0]
    ranks = naive_ranks([abs(x) for x in kept])
    middle = sum(ranks) / 2
    observed = abs(sum(r for r, x in zip(ranks, kept, strict=True) if x > 0) - middle)
    sums = np.array(list(product([0, 1], repeat=len(ranks)))) @ ranks
    return np.mean(np.abs(sums - middle) >= observed)


def array(values):
    return np.array(values, dtype=np.float64)


class TestMannWhitney:
    @given(samples(2, 40), samples(2, 40))
    def test_mann_whitney_equals_scipys(self, a, b):
        u, p = mann_whitney(array(a), array(b))
        if len({*a, *b}) == 1:
            assert (float(u), float(p)) == (len(a) * len(b) / 2, 1.0)  # scipy divides by zero
            return
        expected = scipy.stats.mannwhitneyu(a, b, alternative="two-sided")
        assert float(u) == expected.statistic
        assert float(p) == pytest.approx(expected.pvalue, rel=1e-9, abs=1e-300)

    def test_samples_with_and_without_ties_have_the_p_that_each_has_alone(self):
        rng = np.random.default_rng(0)
        a = np.concatenate([rng.normal(size=(4, 6)), rng.integers(3, size=(4, 6))])
        b = np.concatenate([rng.normal(size=(4, 9)), rng.integers(3, size=(4, 9))])
        _, p = mann_whitney(a, b)
        assert p.tolist() == [float(mann_whitney(*pair)[1]) for pair in zip(a, b, strict=True)]
        assert p.tolist() == [
            scipy.stats.mannwhitneyu(*pair).pvalue for pair in zip(a, b, strict=True)
        ]

    @pytest.mark.parametrize("size", [(8, 8), (8, 300), (300, 8), (9, 9), (2, 2), (1, 5)])
    def test_on_both_sides_of_the_exact_limit(self, size):
        rng = np.random.default_rng(1)
        a, b = (rng.normal(size=n) for n in size)
        expected = scipy.stats.mannwhitneyu(a, b)
        assert float(mann_whitney(a, b)[1]) == pytest.approx(expected.pvalue, rel=1e-9)
        exact = scipy.stats.mannwhitneyu(a, b, method="exact").pvalue
        assert (float(mann_whitney(a, b)[1]) == pytest.approx(exact, rel=1e-9)) == (min(size) <= 8)


class TestSignedRank:
    @given(samples(14, 90))
    def test_signed_ranks_equal_scipys(self, differences):
        found = float(signed_rank(array(differences)))
        if not any(differences):
            assert found == 1.0  # scipy divides by zero
            return
        expected = scipy.stats.wilcoxon(differences).pvalue
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)

    @pytest.mark.parametrize("n", [13, 14, 50, 51])
    @pytest.mark.parametrize("zeros", [0, 1])
    def test_on_both_sides_of_the_exact_limits(self, n, zeros):
        differences = np.random.default_rng(7).normal(size=n) + 0.3
        differences[:zeros] = 0
        found = float(signed_rank(differences))
        expected = scipy.stats.wilcoxon(differences).pvalue if n > 13 else None
        assert found == pytest.approx(expected or exact_signed_rank(differences.tolist()), rel=1e-9)

    @given(samples(1, 9).filter(any))
    def test_exact_form_counts_patterns_of_signs(self, differences):
        expected = exact_signed_rank(differences)
        assert float(signed_rank(array(differences))) == pytest.approx(expected, rel=1e-12)


SEVERAL = {
    "kruskal_wallis": lambda *samples: kruskal_wallis(samples),
    "friedman": lambda *samples: friedman(np.stack(samples, axis=-1)),
}


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        *((mann_whitney, sizes) for sizes in ((4, 7), (30, 20))),
        *((signed_rank, (n,)) for n in (9, 50, 51, 80)),
        (SEVERAL["kruskal_wallis"], (6, 9, 3)),
        (SEVERAL["friedman"], (7, 7, 7)),
    ],
)
def test_many_rows_equal_each_alone(function, sizes):
    rng = np.random.default_rng(2)
    samples = [rng.normal(size=(4, n)) for n in sizes]
    for sample in samples:
        sample[1] = np.round(sample[1])  # ties among exact ones
        sample[3] = 0
    at_once = np.array(function(*samples))
    for i in range(4):
        alone = function(*(sample[i] for sample in samples))
        np.testing.assert_array_equal(at_once[..., i], alone)


@pytest.mark.parametrize("name", SEVERAL)
def test_equal_values_of_several_groups(name):
    """Sums of squares that differ by rounding."""
    statistic, p = SEVERAL[name](*np.ones((6, 11)))
    assert (float(statistic), float(p)) == (0.0, 1.0)
