"""The typical gap of a training: its published numbers, integration, and properties."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from stats import loops

from exparity.stats.mean_gap import Estimate, mean_gap
from exparity.stats.typical_gap import typical_gap

NAN = math.nan
# D̄, V_S, V_I, V_E, S, ν_I; p_mean, p_large, p_small, R and its interval, at the threshold
TABLE = """
 0.5  0.03   0.004  0.002   3 119 0.103723   0.000329747 1          0.55136 0.3007 2.074
 0.02 0.0002 0.0003 0.0002  3 119 0.358805   1           0.00374184 0.01732 0      0.1021
 0    0.25   0.004  0.002   3 119 1          2.32494e-6  1          0.70285 0.3884 2.635
-0.9  0.02   0.006  0.004   5  95 0.00319339 3.3198e-11  1          0.93381 0.5676 2.309
 0.05 0.05   0.002  0.001   5  95 0.836018   0.000692495 1          0.44441 0.2687 1.101
 0.03 0.0004 0.0006 0.0004  5 119 0.280031   1           0.0022874  0.02646 0      0.1134
 0.1  0.01   0.003  0.0005 10 199 0.394826   0.0332437   0.977888   0.30496 0.1933 0.5488
 0.25 0.0001 0.01   0.0005 10  23 0.0202035  0.337091    0.706722   0.22226 0.0164 0.4491
 0    0.0005 0.0045 0.0005 20 199 1          0.99998     0.0064668  0       0      0.1596
 0.6  0.09   0.02   0.015   2  47 0.298188   0.00369704  0.999344   0.65574 0.2869 4.212
"""
ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = np.array([row[:6] for row in ROWS], dtype=float).T
NAMES = ("estimate", "v_seeds", "v_texts", "v_cells", "n_seeds", "dof_texts")
THRESHOLD = 0.2


def judged(cells, largest_gap=NAN, threshold=THRESHOLD):
    """Everything that is said of the cells of a table, by name."""
    gaps = np.full((*np.shape(cells[0]), 1), largest_gap)
    test = typical_gap(Estimate(*cells, gaps=gaps))
    low, high = test.interval(0.95, near=threshold)
    names = ("p_large", "p_small", "p_large_others")
    values = {name: getattr(test, name)(threshold) for name in names}
    of_cells = {name: getattr(test, name) for name in ("p_mean", "rms", "tau", "p_seeds")}
    return SimpleNamespace(**values, **of_cells, rms_low=low, rms_high=high)


@pytest.fixture(scope="module")
def table():
    return judged(CELLS)


def as_given(value, digits, units=0.5001):
    """Whether a value is within half a unit of a number's last digit, or within more."""
    _, *point = digits.partition("e")[0].partition(".")
    unit = 10.0 ** (int(digits.partition("e")[2] or 0) - len(point[-1]))
    return abs(value - float(digits)) <= units * unit


@pytest.mark.reference
@pytest.mark.parametrize("row", range(len(ROWS)))
def test_numbers_of_the_table(table, row):
    names = ("p_mean", "p_large", "p_small", "rms", "rms_low", "rms_high")
    for name, digits in zip(names, ROWS[row][6:], strict=True):
        units = 1.0 if name in ("rms_low", "rms_high") else 0.5001  # ends were looked for
        assert as_given(getattr(table, name)[row], digits, units), name


def p_of_size(cell, rms, **options):
    return loops.p_of_size(dict(zip(NAMES, cell, strict=True)), rms, **options)


@pytest.mark.reference
@pytest.mark.parametrize("row", [2, 4, 9])
def test_as_integrated_over_all_degrees(table, row):
    cell = CELLS[:, row]
    assert table.p_large[row] == pytest.approx(p_of_size(cell, 0.2, upper=True), rel=2e-5)
    assert table.p_small[row] == pytest.approx(p_of_size(cell, 0.2, upper=False), rel=2e-5)
    # at the ends of the interval, the claims are rejected at 2.5 %
    assert p_of_size(cell, table.rms_low[row], upper=True) == pytest.approx(0.025, rel=1e-4)
    assert p_of_size(cell, table.rms_high[row], upper=False) == pytest.approx(0.025, rel=1e-4)


@pytest.mark.reference
@pytest.mark.parametrize("seeds", [2, 3, 6])
def test_the_guard_leaves_the_largest_gap_out(seeds):
    cell = (0.6, 0.05, 0.004, 0.002, seeds, 95)
    expected = p_of_size(cell, 0.2, upper=True, largest=0.9)
    assert float(judged(cell, largest_gap=0.9).p_large_others) == pytest.approx(expected, rel=2e-5)


def test_of_a_single_training_there_is_no_guard():
    test = judged((0.9, NAN, 0.004, NAN, 1, 95), largest_gap=0.9)
    # Q = (μ + √B·Z)²: at φ = π/2 the texts' noise and the training's own add up
    assert float(test.p_large) < 0.05
    assert test.p_large_others == 1
    assert float(test.p_mean) == pytest.approx(2 * sp.stdtr(95, -0.9 / math.sqrt(0.004)))
    assert math.isnan(test.p_seeds)


def test_gaps_that_are_all_zero_are_small():
    test = judged((0.0, 0.0, 0.0, 0.0, 3, 20), largest_gap=0.0)
    assert (test.p_small, test.p_large, test.p_mean, test.rms_low, test.rms_high) == (0, 1, 1, 0, 0)


def test_no_gap_is_below_a_threshold_of_zero():
    assert (typical_gap(Estimate(*CELLS)).p_small(0.0) == 1).all()


def test_what_is_not_known_is_not_judged():
    cells = np.array([NAN, 0.5]), np.full(2, 0.03), np.array([0.004, NAN]), 0.002, 3, 9
    for name, column in vars(judged(cells)).items():
        assert np.isnan(column).all(), name


@pytest.mark.reference
def test_of_crossing_by_hand():
    gaps, errors = np.array([0.3, -0.2, 0.1]), np.array([0.1, 0.1, 0.1])
    dof = np.full(3, 50.0)

    def p_cross(*of_trainings):
        return float(Estimate(*CELLS[:, 0], *of_trainings).p_cross)

    # 3 × the p-value of −0.2, which is the weaker of the two sides
    assert p_cross(gaps, errors, dof) == pytest.approx(3 * sp.stdtr(50, -2.0))
    assert p_cross(gaps[::2], errors[::2], dof[::2]) == 1
    assert p_cross(np.array([1.0, -1.0]), np.array([0.1, NAN]), np.array([9.0, 0.0])) == 1


cells = st.tuples(
    st.floats(-1, 1),
    st.floats(1e-4, 0.3),
    st.floats(1e-4, 0.1),
    st.floats(1e-4, 0.1),
    st.integers(2, 20),
    st.integers(2, 300),
)


@pytest.mark.property
class TestProperties:
    @given(cells)
    @settings(max_examples=15)
    def test_p_values_and_interval_of_a_cell_agree(self, cell):
        test = judged(cell)
        ps = [float(p) for p in (test.p_mean, test.p_large, test.p_small)]
        assert all(0 <= p <= 1 for p in ps)
        assert not (test.p_large <= 0.05 and test.p_small <= 0.05)
        # the interval holds every R that neither p rejects
        sizes = np.geomspace(0.02, 3, 9)
        at = judged([np.full(9, float(x)) for x in cell], threshold=sizes)
        kept = (at.p_large > 0.0251) & (at.p_small > 0.0251)
        assert ((test.rms_low <= sizes) & (sizes <= test.rms_high))[kept].all()
        beyond = (sizes > test.rms_high * 1.001) | (sizes < test.rms_low * 0.999)
        assert ((at.p_large <= 0.02501) | (at.p_small <= 0.02501))[beyond].all()

    @given(st.lists(cells, min_size=2, max_size=6))
    @settings(max_examples=8)
    def test_many_are_each_by_itself(self, several):
        together = vars(judged(np.array(several).T, largest_gap=0.1))
        for i, cell in enumerate(several):
            alone = vars(judged(cell, largest_gap=0.1))
            for one, other in zip(together.values(), alone.values(), strict=True):
                assert one[i] == pytest.approx(float(other), rel=1e-5, abs=1e-12)


@pytest.mark.property
def test_sizes_and_coverage_at_the_threshold():
    """R is the threshold; the whole table is made by benchmarks/calibration.py."""
    rng, runs, seeds, sets, delta = np.random.default_rng(0), 400, 3, 48, THRESHOLD
    tau = 0.7 * delta
    of_seed = math.sqrt(delta**2 - tau**2) + tau * rng.normal(size=(runs, seeds, 1))
    noise = rng.normal(size=(runs, 1, sets)) + rng.normal(size=(runs, seeds, sets))
    test = judged(mean_gap(of_seed + noise)[:6])
    for p in (test.p_large, test.p_small):
        for level, most in ((0.05, 0.065), (0.005, 0.008), (0.0006, 0.0015)):
            error = 3 * np.sqrt(most / runs)  # of the simulation
            assert (p <= level).mean() <= most + error
    covered = (test.rms_low <= delta) & (test.rms_high >= delta)
    assert covered.mean() >= 0.94 - 3 * np.sqrt(0.05 / runs)
