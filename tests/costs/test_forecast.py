"""Estimates from made-up jobs, by hand, and their sums."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exparity.costs.finished import JobCost
from exparity.costs.forecast import at_trainings, estimated, table, totals

CELL = {"dataset": "pairs", "model": "bert", "seed": 0, "method": "lime"}
PLANNED = JobCost("explain", CELL, 100, finished=False, runs_model=True)


def job(seconds=7.0, work=2.0, examples=10, stage="explain", runs_model=True, **changes):
    facts = {name: changes.pop(name) for name in ("device", "bytes", "max_rss_mb", "cpu_seconds")
             if name in changes}  # fmt: skip
    return JobCost(stage, {**CELL, **changes}, examples, runs_model=runs_model, seconds=seconds,
                   work_seconds=work, **facts)  # fmt: skip


def estimate(jobs, planned=PLANNED, device="cpu"):
    (made,) = estimated([planned], jobs, device)
    return made


class TestEstimated:
    @pytest.mark.parametrize(
        ("jobs", "seconds"),
        [
            # The rest takes the same time for any number of examples: 5 + 100 * 0.2.
            ([job(examples=10, seconds=7.0, work=2.0)], 25.0),
            # Mean rests of 2 and 4, work of 6 on 30 examples.
            ([job(4.0, 2.0, 10), job(8.0, 4.0, 20)], 3.0 + 100 * 6 / 30),
            # A job that does not measure its work takes the same for any number.
            ([job(work=None), job(9.0, work=None)], 8.0),
            ([job(3600.0, device="cuda:0")], None),
            ([job(None)], None),
            ([job(stage="evaluate")], None),
            ([job(method="shap")], None),
            ([], None),
            # Those of the same dataset and model, where there are any.
            ([job(900.0, model="gpt2"), job(seed=5)], 25.0),
            ([job(7.0, model="gpt2")], 25.0),
        ],
    )
    def test_an_estimate_is_that_worked_out_by_hand(self, jobs, seconds):
        assert estimate(jobs).seconds == (None if seconds is None else pytest.approx(seconds))

    def test_cpu_time_bytes_and_memory_are_estimated_too(self):
        jobs = [
            job(cpu_seconds=3.5, bytes=20, max_rss_mb=300.0),
            job(cpu_seconds=3.5, bytes=40, max_rss_mb=None),
        ]
        found = estimate(jobs)
        assert found.cpu_seconds == pytest.approx(found.seconds / 2)
        assert (found.bytes, found.max_rss_mb, found.finished) == (30, 300.0, False)

    def test_of_jobs_that_run_a_model_those_on_the_device_count(self):
        jobs = [job(900.0), job(9.0, work=None, device="cuda:1")]
        assert estimate(jobs, device="cuda").seconds == 9.0
        without = replace(PLANNED, runs_model=False)
        assert estimate([job(1.0, None, runs_model=False)], without, "cuda").seconds == 1.0

    @pytest.mark.property
    @given(
        st.lists(st.tuples(st.integers(1, 900), st.floats(0.1, 9e4), st.floats(0, 1)), min_size=1)
    )
    def test_estimates_of_finished_jobs_add_up_to_what_they_took(self, rows):
        jobs = [job(seconds, seconds * share, n) for n, seconds, share in rows]
        planned = [replace(one, seconds=None) for one in jobs]
        seconds = sum(one.seconds for one in estimated(planned, jobs, "cpu"))
        assert seconds == pytest.approx(sum(one.seconds for one in jobs), abs=1e-6)


def test_totals_are_sums_of_their_jobs():
    jobs = [
        job(3600.0, cpu_seconds=1800.0, max_rss_mb=500.0, bytes=3000),
        replace(PLANNED, seconds=5400.0, bytes=4000),
        JobCost("compare", {}, finished=False),
    ]
    explain, compare, total = totals(jobs)
    assert (explain.jobs, explain.finished, explain.unknown) == (2, 1, 0)
    assert (explain.seconds, explain.seconds_to_go, explain.model_seconds) == (9000, 5400, 9000)
    assert (explain.cpu_seconds, explain.max_rss_mb, explain.bytes) == (1800, 500, 7000)
    assert (compare.seconds, compare.unknown, total.stage) == (0, 1, "total")
    rows = [line.split() for line in table([explain, compare, total]).splitlines()]
    assert " ".join(rows[1]) == "explain 2 1 2.5 1.5 0.5 2.5 524 MB 7 kB"
    assert rows[2][3:] == ["unknown"] * 6
    assert rows[3][:5] == ["total", "3", "1", "2.5+", "1.5+"]


def test_other_numbers_of_trainings():
    jobs = [job(10.0), job(20.0, seed=1), JobCost("report", {}, seconds=5.0)]
    assert at_trainings(jobs, 2, 8) == (9, 4 * 30.0 + 5.0)
