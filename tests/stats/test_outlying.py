"""Runs that stand out: a planted prompt is found, and chance is not."""

import numpy as np
import pytest

from exparity.stats.crossed import crossed_tests
from exparity.stats.outlying import OUTLYING, deviations
from exparity.stats.seeds import SeedTest
from exparity.stats.verdicts import judge

IDS = {"dataset": "bios", "model": "lm", "group_a": "male", "group_b": "female"}


def gaps_as_rows(gaps):
    """A test a cell and run of (cells, runs) gaps."""
    return [
        SeedTest(**IDS, seed=run, method=f"m{cell}", metric="gini", cohens_d=float(d))
        for cell, of_runs in enumerate(gaps)
        for run, d in enumerate(of_runs)
    ]


@pytest.mark.reference
def test_equals_a_naive_loop():
    gaps = np.random.default_rng(1).normal(size=(5, 6))
    found = deviations(gaps_as_rows(gaps))
    for run in range(6):
        each = []
        for row in gaps.tolist():
            middle = sorted(row)[2:4]
            distances = [abs(d - sum(middle) / 2) for d in row]
            usual = sum(sorted(distances)[2:4]) / 2
            each.append(0.6745 * distances[run] / usual)
        assert found["bios", "lm", run] == pytest.approx(sorted(each)[2])


def test_chance_stands_out_in_few_studies():
    rng = np.random.default_rng(2)
    found = [deviations(gaps_as_rows(rng.normal(scale=0.3, size=(30, 8)))) for _ in range(300)]
    assert np.mean([max(of.values()) >= OUTLYING for of in found]) < 0.01


def test_few_runs_or_equal_ones_say_nothing():
    assert deviations(gaps_as_rows([[0.1, 0.2, 5.0]])) == {}
    assert deviations(gaps_as_rows([[0.1] * 4 + [3.0]])) == {}
    assert deviations(gaps_as_rows([[float("nan")] * 8])) == {}


def test_a_planted_prompt_is_a_run_that_stands_out_and_no_gap_of_the_model():
    """Seven prompts treat the groups alike, the eighth scores one of them higher by 2 d."""
    rng = np.random.default_rng(3)
    groups, sets = ["male", "female"] * 60, [str(i // 2) for i in range(120)]
    rows, tests = [], []
    for cell in range(12):
        of_texts = rng.normal(size=60).repeat(2)
        scores = of_texts + rng.normal(scale=0.5, size=(8, 120))
        scores[5, ::2] += 2.0
        (crossed,) = crossed_tests(list(scores), groups, ("male", "female"), sets)
        rows.append({**IDS, **vars(crossed), "method": f"m{cell}", "metric": "gini"})
        gaps = scores[:, ::2].mean(1) - scores[:, 1::2].mean(1)
        tests.append(gaps / scores.std())
    assert {row["verdict"] for row in judge(rows)} <= {"unstable", "undecided", "considerable"}
    found = deviations(gaps_as_rows(np.array(tests)))
    assert [run for (*_, run), score in found.items() if score >= OUTLYING] == [5]
