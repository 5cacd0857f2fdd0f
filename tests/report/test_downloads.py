"""The LaTeX table of verdicts: a line for each comparison, with what may be concluded."""

import math
from dataclasses import replace

import pytest
from made_up import config, grid_of, make_study

from exparity.report.downloads import verdict_lines, verdicts_export
from exparity.report.gather import gather


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    settings = config(datasets=2, models=2, seeds=2, methods=2, metrics=2)
    folder = make_study(tmp_path_factory.mktemp("downloads"), settings, pairs=8)
    return gather(folder, grid_of(settings))


def test_a_line_for_each_comparison_that_stands(study):
    standing = [row for row in study.judged if row.stands and not row.is_random]
    lines = verdict_lines(study)
    assert len(lines) == len(standing) == 16
    for line, row in zip(lines, standing, strict=True):
        assert line.level_a == f"${row.mean_a:.2f}$"
        assert line.verdict.startswith(row.verdict)
        assert line.groups == "male, female"


def test_favoured_groups_unbounded_intervals_and_reasons_are_written(study):
    place = next(i for i, r in enumerate(study.judged) if r.stands and not r.is_random)

    def line(**changes):
        rows = list(study.judged)
        rows[place] = replace(rows[place], **changes)
        return verdict_lines(replace(study, judged=rows))[0]

    different = line(verdict="different", better_group="male", rms_low=0.3, rms_high=math.inf)
    assert different.verdict == "different: male"
    assert different.interval == "0.30--$\\infty$"
    untested = line(verdict=None, flags=["too_few"], rms_low=math.nan, rms_high=math.nan)
    assert untested.verdict == "not tested: a group has fewer than two texts with a score"
    assert untested.interval == "--"


def test_the_table_has_as_many_columns_in_each_line_as_it_declares(study):
    latex = verdicts_export(study).latex
    lines = [line for line in latex.splitlines() if line.endswith("\\\\")]
    assert len(lines) == 1 + len(verdict_lines(study))
    assert {line.count(" & ") for line in lines} == {8}
    assert "\\begin{tabular}{lllllrrll}" in latex
    assert "model\\_0" in latex
