"""Estimates from made-up jobs: exact arithmetic, and what is nearest where nothing is the same."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exparity.costs.estimate import Estimator, fit
from exparity.costs.finished import JobCost
from exparity.costs.kinds import Kind

LIME = Kind(("explain", "lime"), "of bert on pairs", True)

TEST = Kind(("test",), "on pairs")


def job(kind=LIME, examples=10, seconds=7.0, work=2.0, **facts):
    return JobCost(kind, examples, seconds=seconds, work_seconds=work, **facts)


def estimate(jobs, kind=LIME, examples=100, device="cpu"):
    return Estimator(jobs, device).estimate(kind, examples)


class TestFit:
    @pytest.mark.parametrize(
        ("points", "proportional", "line"),
        [
            # One size grows in proportion: starts of 4 and 6, work of 2 + 4 on 10 + 20 examples.
            ([(10, 4.0, 2.0), (20, 6.0, 4.0)], True, (5.0, 0.2)),
            ([(2, 0.0, 2.0), (6, 0.0, 4.0)], True, (0.0, 6 / 8)),
            # Short jobs take the same for any number.
            ([(8, 0.0, 2.0), (9, 0.0, 4.0)], False, (3.0, 0.0)),
            # An unknown number of examples counts where there is no other.
            ([(None, 1.0, 3.0)], True, (4.0, 0.0)),
            ([(None, 1.0, 3.0), (10, 2.0, 5.0)], True, (2.0, 0.5)),
            ([(0, 1.0, 0.5)], True, (1.5, 0.0)),
            ([(0, 1.0, 1.0), (4, 1.0, 3.0)], True, (1.0, 1.0)),
        ],
    )
    def test_by_hand(self, points, proportional, line):
        assert fit(points, proportional=proportional) == pytest.approx(line)

    @pytest.mark.property
    @given(
        st.lists(
            st.tuples(st.integers(0, 5000), st.floats(0, 100), st.floats(0, 1e5)),
            min_size=1,
            max_size=12,
        ),
        st.booleans(),
    )
    def test_amounts_add_up_and_are_never_negative(self, points, proportional):
        start, each = fit(points, proportional=proportional)
        assert start >= 0
        assert each >= 0
        measured = sum(fixed + growing for _, fixed, growing in points)
        estimated = sum(start + each * examples for examples, *_ in points)
        assert estimated == pytest.approx(measured, abs=1e-6)


class TestCost:
    def test_start_and_work_are_told_apart(self):
        found = estimate([job(examples=10, seconds=7.0, work=2.0)])
        assert found.level == "the same kind"
        assert found.divided
        assert found.cost.seconds == pytest.approx(5.0 + 100 * 0.2)

    def test_without_that_everything_grows(self):
        found = estimate([job(examples=10, seconds=7.0, work=None)])
        assert not found.divided
        assert found.cost.seconds == pytest.approx(70.0)

    def test_short_jobs_are_like_those_of_about_as_many_examples(self):
        # p-values of a few scores are exact, and take longer
        sizes = {8: 5.0, 100: 1.0, 200: 1.5}
        jobs = [job(TEST, examples=n, seconds=s, work=None) for n, s in sizes.items()]
        assert estimate(jobs, TEST, 150).cost.seconds == pytest.approx(1.25)
        assert estimate(jobs, TEST, 600).cost.seconds == pytest.approx(1.5)
        assert estimate(jobs, TEST, 10).cost.seconds == pytest.approx(5.0)
        assert estimate(jobs, TEST, 9000).cost.seconds == pytest.approx(2.5)

    def test_cpu_time_of_those_that_have_it(self):
        jobs = [job(examples=10, cpu_seconds=None), job(examples=10, work=7.0, cpu_seconds=1.0)]
        assert estimate(jobs).cost.cpu_seconds == pytest.approx(10.0)
        assert estimate(jobs[:1]).cost.cpu_seconds is None

    def test_memory_is_the_most_of_any(self):
        jobs = [job(max_rss_mb=300.0), job(max_rss_mb=None), job(max_rss_mb=500.0)]
        assert estimate(jobs).cost.max_rss_mb == 500.0
        assert estimate(jobs[1:2]).cost.max_rss_mb is None

    def test_rows_grow_and_the_rest_of_a_file_does_not(self):
        found = estimate([job(examples=10, bytes=5200, data_bytes=200)])
        assert found.cost.bytes == pytest.approx(5000 + 100 * 20)

    @pytest.mark.property
    @given(st.lists(st.tuples(st.integers(1, 900), st.floats(0.1, 9e4), st.floats(0, 1))))
    def test_estimates_of_finished_jobs_add_up_to_what_they_took(self, rows):
        assume(rows)
        jobs = [job(examples=n, seconds=s, work=s * share) for n, s, share in rows]
        estimator = Estimator(jobs, "cpu")
        planned = [estimator.estimate(j.kind, j.examples).cost.seconds for j in jobs]
        assert sum(planned) == pytest.approx(sum(j.seconds for j in jobs), abs=1e-6)


class TestNearest:
    @pytest.mark.parametrize(
        ("change", "level"),
        [
            ({}, "the same kind"),
            ({"made_of": "of bert on others"}, "the same work"),
            ({"work": ("explain", "shap")}, None),
            ({"work": ("evaluate", "lime")}, None),
        ],
    )
    def test_by_what_differs(self, change, level):
        other = LIME._replace(**change)
        assert estimate([job(other)]).level == level

    def test_the_nearest_wins(self):
        near = job(seconds=5.0, work=0.0)
        assert estimate([job(LIME._replace(made_of=""), seconds=900.0), near]).cost.seconds == 5.0

    def test_a_metric_that_explains_again_is_of_its_method(self):
        of_lime, of_shap = (
            Kind(("evaluate", "sensitivity", method), "of bert", True)
            for method in ("lime", "shap")
        )
        assert estimate([job(of_lime)], of_lime._replace(made_of="")).level == "the same work"
        assert estimate([job(of_shap)], of_lime).level is None

    def test_of_jobs_that_run_a_model_those_on_the_device_count(self):
        jobs = [
            job(device="cpu", seconds=900.0),
            job(device="cuda:1", seconds=9.0, work=0.0),
            job(Kind(("test",)), device="cpu", seconds=1.0, work=0.0),
        ]
        assert estimate(jobs, device="cuda").cost.seconds == 9.0
        assert estimate(jobs[:1], device="cuda").cost is None
        assert estimate(jobs, Kind(("test",)), device="cuda").cost.seconds == 1.0
