"""A part of the report that fails: the others are as they were, and the report says so."""

import logging
import re
from dataclasses import replace

import numpy as np
import pytest
from made_up import config, make_study, options_of
from report.pages import page_of
from report.reading import Page, data_of

from exparity.artefacts.lineage import failed_parts, recorded_lineage
from exparity.core.errors import IncompleteReport, InputError
from exparity.report import context as contexts
from exparity.report import downloads, figures, render, sections
from exparity.report.figures import style
from exparity.report.scores import distribution
from exparity.report.spreads import POINTS, score_spread

SETTINGS = {
    **config(datasets=1, models=1, seeds=2, methods=2, metrics=2),
    "report": {"figures": False},
}
OPTIONS = options_of(SETTINGS)
EPSILON = 2.0**-53


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("failures") / "results", SETTINGS, pairs=8)


def sections_of(page):
    """The HTML of each section of a page, by its id."""
    text = page.read_text(encoding="utf-8")
    return {
        part.partition('"')[0]: part.partition("</section>")[0]
        for part in text.split('<section id="')[1:]
    }


@pytest.fixture(scope="module")
def undisturbed(results):
    return sections_of(page_of(results, OPTIONS))


def break_sections(monkeypatch, ids, build):
    broken = [replace(s, build=build) if s.id in ids else s for s in sections.SECTIONS]
    monkeypatch.setattr(render, "SECTIONS", tuple(broken))


def fail(*_, **__):
    raise KeyError("no such <b>thing</b>")


ABSENT = ("prompts", "accuracy", "classifiers", "causal_bias", "published", "published_gaps",
          "cost", "answers", "self_explanations")  # fmt: skip
"""Sections that this study has not."""
SHOWN = [section for section in sections.SECTIONS if section.id not in ABSENT]


@pytest.mark.parametrize("broken", [SHOWN[::2], SHOWN[1::2]], ids=["odd", "even"])
def test_sections_that_fail_leave_those_between_them(
    results, undisturbed, monkeypatch, caplog, broken
):
    ids = [section.id for section in broken]
    titles = "; ".join(section.title for section in broken)
    break_sections(monkeypatch, ids, fail)
    with pytest.raises(IncompleteReport, match=f"lacks parts that failed: {re.escape(titles)}$"):
        page_of(results, OPTIONS)
    page = results / "report" / "index.html"
    found = sections_of(page)
    assert list(found) == list(undisturbed)
    differ = {name for name, text in found.items() if text != undisturbed[name]}
    assert differ == set(ids)
    data = data_of(page.read_text(encoding="utf-8"))
    for id in ids:
        assert "This section failed: KeyError: " in found[id]
        assert "&lt;b&gt;thing&lt;/b&gt;" in found[id]
        assert id not in data
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    for line, section in zip(lines, broken, strict=True):
        reason = "failed: KeyError: 'no such <b>thing</b>' (test_failures.py"
        assert line.startswith(f"{section.title} {reason}")
    assert failed_parts(page) == titles
    assert recorded_lineage(page) == ""
    assert f"These parts of it failed, and the log of the report says why: {titles}." in " ".join(
        Page(page.read_text(encoding="utf-8")).text.split()
    )


def test_a_template_that_fails_and_data_that_is_none_of_json_are_failures(results, monkeypatch):
    content = contexts.Content({}, data={"a": object()})
    break_sections(monkeypatch, ["means"], lambda context: content)
    with pytest.raises(IncompleteReport, match="Explanation quality"):
        page_of(results, OPTIONS)
    found = sections_of(results / "report" / "index.html")
    assert "UndefinedError: " in found["means"]


def test_damaged_scores_fail_what_is_made_from_them(tmp_path, undisturbed):
    make_study(tmp_path, SETTINGS, pairs=8)
    path = next((tmp_path / "scores").rglob("*.parquet"))
    path.write_bytes(b"PAR1 damaged")
    with pytest.raises(IncompleteReport):
        page_of(tmp_path, OPTIONS)
    page = tmp_path / "report" / "index.html"
    found = sections_of(page)
    for id in ("distributions", "means"):
        assert f"This section failed: {path}: " in found[id]
    assert found["disparity"] == undisturbed["disparity"]
    assert "Tables, means" in failed_parts(page)
    assert not (tmp_path / "report" / "tables" / "means.csv").exists()
    assert (tmp_path / "report" / "tables" / "verdicts.csv").is_file()


def test_without_the_tests_nothing_is_written(tmp_path):
    make_study(tmp_path, SETTINGS, pairs=8)
    (tmp_path / "disparity.parquet").write_bytes(b"PAR1 damaged")
    with pytest.raises(InputError, match=r"disparity\.parquet"):
        page_of(tmp_path, OPTIONS)
    assert not (tmp_path / "report" / "index.html").exists()


def test_a_table_and_a_figure_that_fail_are_named_where_they_would_be(tmp_path, monkeypatch):
    make_study(tmp_path, SETTINGS, pairs=8)
    monkeypatch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
    monkeypatch.delitem(style.FORMATS, "pdf")
    monkeypatch.setattr(figures, "effects_figure", fail)
    save = downloads.save_export

    def save_others(export, *more):
        return fail() if export.name == "verdicts" else save(export, *more)

    monkeypatch.setattr(downloads, "save_export", save_others)
    effects, table = "Figure effects-data_0-male-female", "Table verdicts"
    with pytest.raises(IncompleteReport, match=f"{table}; {effects}"):
        page_of(tmp_path, {**OPTIONS, "report": {"figures": True}})
    page = tmp_path / "report" / "index.html"
    found = sections_of(page)["downloads"].replace("&#39;", "'")
    for part in (effects, table):
        assert f"<li>{part}: KeyError: 'no such" in found
    assert "verdicts.csv" not in found
    assert "verdicts_1col" in found
    assert "effects-data_0-male-female_1col" not in found
    assert (tmp_path / "report" / "tables" / "means.csv").is_file()


def test_a_section_of_an_analysis_that_fails(tmp_path, monkeypatch):
    options = {**OPTIONS, "analyses": {**OPTIONS["analyses"], "dataset_bias": {}}}
    make_study(tmp_path, SETTINGS, pairs=8)
    monkeypatch.setattr(contexts, "read_analysis", fail)
    with pytest.raises(IncompleteReport):
        page_of(tmp_path, options)
    found = sections_of(tmp_path / "report" / "index.html")
    assert "This section failed: KeyError: " in found["dataset_bias"]
    assert "disparity" in found


STEPS = np.tile([-1.0, 0.0, 1.0, 0.0], 10)
ROUNDING = {
    "one half": 0.5 + STEPS * EPSILON,
    "minus one": -1 + STEPS * 2 * EPSILON,
    "a share": 0.1 * (1 + STEPS * 1e-10),
    "huge": 1e300 * (1 + STEPS * 4 * EPSILON),
    "tiny": 1e-300 * (1 + STEPS * 4 * EPSILON),
}
DRAWN = ("minus one", "tiny")
"""Of which a whole report is made."""


class TestRanges:
    """Scores that differ by rounding alone, and those at the ends of what floats hold."""

    @pytest.mark.parametrize("scores", ROUNDING.values(), ids=ROUNDING)
    def test_scores_that_differ_by_rounding_are_constant(self, scores):
        found = distribution(scores, np.array(["a", "b"] * 20), ("a", "b"))
        assert found.numbers == [(20, [np.median(scores)] * 5)] * 2
        assert all(spread.is_flat for spread in found.spreads)
        assert score_spread(scores).is_flat

    @pytest.mark.parametrize("scale", [1.0, 1e300, 1e-300])
    def test_a_density_is_the_same_on_any_scale(self, scale):
        rng = np.random.default_rng(0)
        scores = rng.normal(size=40)
        spreads = [score_spread(x) for x in (scores, scale * scores)]
        assert len(spreads[0].density) == POINTS
        assert spreads[1].density == pytest.approx(spreads[0].density)
        assert spreads[1].at == pytest.approx(spreads[0].at * scale)

    @pytest.mark.parametrize(
        "scores",
        [
            pytest.param(scores, id=name, marks=() if name in DRAWN else pytest.mark.exhaustive)
            for name, scores in ROUNDING.items()
        ],
    )
    def test_a_report_of_such_scores_is_whole(self, tmp_path, monkeypatch, scores):
        monkeypatch.setattr(figures, "WIDTHS", {"1col": figures.WIDTHS["1col"]})
        monkeypatch.delitem(style.FORMATS, "pdf")

        def scored(method, metric, drawn):
            return np.resize(scores, drawn.shape) if metric == "sufficiency" else drawn

        with np.errstate(over="ignore", invalid="ignore"):
            make_study(tmp_path, SETTINGS, pairs=8, scored=scored)
        page = page_of(tmp_path, {**OPTIONS, "report": {"figures": True}})
        assert failed_parts(page) == ""
        drawn = tmp_path / "report" / "figures" / "distributions-data_0-sufficiency_1col.svg"
        assert not re.search(r"\dE[+-]1[5-9]", drawn.read_text(encoding="utf-8"))
