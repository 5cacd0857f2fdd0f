"""The publication figures: what they say is what the tables say, and their bytes never change."""

import dataclasses
import itertools
import math
import os
import re
import zlib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from made_up import GROUPS, config, grid_of, make_study
from support import run_code

from exparity.artefacts.files import read_results
from exparity.report import figures
from exparity.report.failures import Failures
from exparity.report.figures import write_figures
from exparity.report.figures.distributions import distributions_figure
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.style import FORMATS, MARKERS, WIDTHS, house_style, save
from exparity.report.figures.verdicts import verdicts_figure
from exparity.report.gather import gather
from exparity.report.names import fitted
from exparity.report.picture import RANDOM, RANDOM_SCORES, picture_of
from exparity.report.spreads import score_spread
from exparity.report.tables import as_it_stands, disparity_tables, quantity_of

SETTINGS = config(datasets=1, models=2, seeds=3, methods=3, metrics=2)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_study(tmp_path_factory.mktemp("study"), SETTINGS, pairs=25)


@pytest.fixture(scope="module")
def study(results):
    return gather(results, grid_of(SETTINGS))


@pytest.fixture(scope="module")
def table(study):
    return disparity_tables(study)[0]


@pytest.fixture(scope="module")
def names(study):
    return study.name


@pytest.fixture(scope="module")
def small(results):
    """Part of the study, for tests that save figures."""
    return gather(results, grid_of(config(datasets=1, models=1, seeds=3, methods=2, metrics=1)))


@pytest.fixture(scope="module")
def written(small, tmp_path_factory):
    """The folder of figures, and their names."""
    folder = tmp_path_factory.mktemp("figures")
    return folder, write_figures(small, disparity_tables(small), folder, Failures())


def test_every_tile_says_its_verdict_its_side_and_its_size(small):
    """As the verdicts artefact has them: in words where a tile is alone in its cell."""
    (panel,) = picture_of(small)
    (model,) = panel.models
    judged = {k[2:4]: cell.excess for k, cell in small.verdicts.items() if k[1] == model}
    judged |= {
        (line, row.metric): row
        for line, quantity in ((RANDOM, "random_excess"), (RANDOM_SCORES, "random_score"))
        for row in small.judged
        if (row.quantity, row.model) == (quantity, model)
    }
    assert [line.name for line in panel.lines][-2:] == [RANDOM, RANDOM_SCORES]
    with house_style():
        figure = verdicts_figure([panel], WIDTHS["2col"])
    said = texts(figure.axes[0])
    for method, line in zip([*small.methods, RANDOM, RANDOM_SCORES], panel.lines, strict=True):
        for metric, (tile,) in zip(small.metrics, line.cells, strict=True):
            row = judged[method, metric]
            assert tile.verdict.id == row.verdict
            assert tile.size == f"gap {row.rms_low:.2f}–{row.rms_high:.2f}"
            words = f"{tile.verdict.label}: {tile.favoured}".removesuffix(": ")
            assert words in said
            said.remove(tile.size)


def texts(axes):
    return [text.get_text() for text in axes.texts]


class TestFiles:
    @pytest.mark.parametrize("width", WIDTHS.values())
    @pytest.mark.parametrize("times", [1, 4])
    def test_names_of_columns_do_not_overlap(self, small, width, times):
        (panel,) = picture_of(small)
        lines = [dataclasses.replace(line, cells=[*line.cells] * times) for line in panel.lines]
        panel = dataclasses.replace(panel, metrics=[*panel.metrics] * times, lines=lines)
        with house_style():
            figure = verdicts_figure([panel], width)
            figure.canvas.draw()
        labels = figure.axes[0].get_xticklabels()
        assert len(labels) == len(panel.metrics)
        boxes = [label.get_window_extent() for label in labels]
        for (label, box), (_, other) in itertools.pairwise(zip(labels, boxes, strict=True)):
            gap = (other.x0 - box.x0) * math.sin(math.radians(label.get_rotation()))
            assert box.x1 <= other.x0 or gap >= 0.8 * label.get_fontsize()

    def test_every_figure_in_both_widths_and_formats(self, written):
        folder, drawn = written
        kinds = ["verdicts", "effects", "roc", "distributions"]
        assert [name.split("-")[0] for name in drawn] == kinds
        expected = {f"{name}_{w}.{s}" for name in drawn for w in WIDTHS for s in FORMATS}
        assert {p.name for p in folder.iterdir()} == expected

    def test_svg_is_all_shapes_and_asks_for_nothing(self, written):
        for path in written[0].glob("*.svg"):
            source = path.read_text(encoding="utf-8")
            for element in ("text", "image", "style type", "script", "foreignObject", "dc:date"):
                assert f"<{element}" not in source.replace('<style type="text/css">', ""), path.name
            links = re.findall(r'href="([^"]*)"', source)
            assert all(link.startswith("#") for link in links)
            assert "<title>" in source

    def test_pdf_has_its_fonts_inside_and_no_date(self, written):
        for path in written[0].glob("*.pdf"):
            source = path.read_bytes()
            for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", source, re.S):
                try:
                    source += zlib.decompress(stream)
                except zlib.error:
                    continue
            assert b"/FontFile2" in source
            assert b"/Type3" not in source
            assert not re.search(rb"/(CreationDate|ModDate|Producer)", source)

    def test_bytes_depend_on_nothing_but_the_data(self, written, tmp_path):
        """Not on the process, its settings, or the user's style of matplotlib."""
        (tmp_path / "matplotlibrc").write_text(
            "font.size: 20\nsvg.fonttype: none\nlines.color: r\n"
        )
        code = (
            "import sys, exparity\n"
            "from pathlib import Path\n"
            "from exparity.report.figures.style import house_style, save\n"
            "scores, groups = [1.0, 2.0, 4.0, 7.0] * 2, ['male', 'female'] * 4\n"
            "figure = exparity.plot_distributions(scores, groups, label='−½ ↑')\n"
            "with house_style(): save(figure, Path(sys.argv[1]), 'title')\n"
        )
        for name, seed, zone in (("one", "1", "UTC"), ("two", "2", "Asia/Tokyo")):
            environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}
            environment |= {"MATPLOTLIBRC": str(tmp_path)} if name == "two" else {}
            run_code(code, tmp_path / name, env=environment)
        for suffix in FORMATS:
            one, two = (tmp_path / f"{name}.{suffix}" for name in ("one", "two"))
            assert one.read_bytes() == two.read_bytes()

    def test_scores_that_are_not_there_have_no_figure(self, small, tmp_path, monkeypatch):
        monkeypatch.setattr(figures, "save", lambda *_: None)
        few = dataclasses.replace(small, results=tmp_path / "none")
        drawn = write_figures(few, [], tmp_path, Failures())
        assert drawn == ["verdicts", "roc-data_0"]

    def test_no_mark_or_word_sticks_out_of_a_figure(self, table, names, tmp_path):
        """Measured with letters in 20 times their size, whose widths are not rounded."""
        for width in WIDTHS.values():
            with house_style():
                figure = effects_figure(table, width, names, threshold=0.2)
            save(figure, tmp_path / "x", "x")
            figure.set_dpi(1440)
            box = figure.get_tightbbox()
            assert box.x0 > -0.01
            assert box.y0 > -0.01
            assert box.x1 < width + 0.01
            assert box.y1 < figure.get_size_inches()[1] + 0.01


class TestEffects:
    @pytest.fixture
    def figure(self, study, table, names):
        with house_style():
            return effects_figure(table, WIDTHS["2col"], names, threshold=0.2)

    def test_marks_are_means_lines_span_intervals_and_ticks_are_seeds(self, figure, table):
        for axes, metric in zip(figure.axes, table.metrics, strict=False):
            found = sorted(
                (line.get_ydata()[0], line.get_xdata()[0], line.get_markerfacecolor() != "white")
                for line in axes.lines
                if line.get_marker() in MARKERS
            )
            lines = [x for x in axes.lines if len(x.get_xdata()) == 2 and x.get_marker() == "None"]
            spans = [tuple(x.get_xdata()) for x in lines if x.get_linewidth() == 0.5]
            ticks = [tuple(x.get_xdata()) for x in axes.lines if x.get_marker() == "|"]
            expected = []
            for method, model in itertools.product(table.methods, table.models):
                rows = table.cells[model, method, metric].tests["score"]
                effects = [row.cohens_d for row in rows]
                expected.append(
                    (sum(effects) / len(rows), 2 * sum(row.significant for row in rows) > 3)
                )
                low = min(row.d_ci_low for row in rows)
                assert (low, max(row.d_ci_high for row in rows)) in spans
                assert tuple(effects) in ticks
            assert [x for _, x, _ in found] == pytest.approx([d for d, _ in expected])
            assert [filled for *_, filled in found] == [filled for _, filled in expected]

    def test_the_report_draws_what_verdicts_stand_on(self, study, table, names):
        standing = as_it_stands(table, 0.2)
        quantities = {metric: quantity_of(table, metric) for metric in table.metrics}
        assert set(quantities.values()) == {"excess"}
        for key, cell in standing.cells.items():
            excess = [row.cohens_d for row in table.cells[key].tests["excess"]]
            assert [row.cohens_d for row in cell.tests["score"]] == excess
            assert cell.mean_d_all == pytest.approx(sum(excess) / len(excess))
            assert cell.mean_d_all != table.cells[key].mean_d_all
        with house_style():
            figure = effects_figure(
                standing, WIDTHS["2col"], names, threshold=0.2, quantities=quantities
            )
        titles = [axes.get_title(loc="left") for axes in figure.axes]
        assert len(titles) == len(table.metrics)
        assert all(title.endswith(", excess") for title in titles)

    def test_infinite_and_undefined_effects(self, study, table, names):
        keys = list(table.cells)[:2]
        cells = dict(table.cells)
        for key, d in zip(keys, (math.inf, math.nan), strict=True):
            odd = {"cohens_d": d, "d_ci_low": d, "d_ci_high": d}
            tests = [dataclasses.replace(row, **odd) for row in cells[key].tests["score"]]
            cells[key] = dataclasses.replace(cells[key], tests={"score": tests})
        with house_style():
            odd = dataclasses.replace(table, cells=cells)
            figure = effects_figure(odd, 6.9, names, threshold=0.2)
        metric = table.metrics.index(keys[0][2])
        axes = figure.axes[metric]
        (arrow,) = [line for line in axes.lines if line.get_marker() == ">"]
        assert arrow.get_xdata()[0] == axes.get_xlim()[1]
        assert sum(texts(a).count("undefined") for a in figure.axes) == 1


class TestDistributions:
    @given(st.lists(st.floats(-1e6, 1e6) | st.just(math.nan), max_size=60))
    @example([3.7019829832259747e-68] * 3)  # whose standard deviation is a rounding error
    def test_numbers_are_quantiles_of_what_is_defined(self, values):
        defined = sorted(v for v in values if not math.isnan(v))
        found = score_spread(values)
        if not defined:
            assert found is None
            return
        for got, q in zip(found.numbers, (5, 25, 50, 75, 95), strict=True):
            assert got == pytest.approx(naive_quantile(defined, q / 100), abs=1e-6)
        assert found.density.max() == pytest.approx(1)
        assert (found.density >= 0).all()
        assert found.at[0] >= defined[0] - 1e-6
        assert found.at[-1] <= defined[-1] + 1e-6

    def test_medians_are_those_of_the_scores(self, results, table, names):
        scores = read_results(results, "scores")
        scores = scores[scores["metric"] == "comprehensiveness"]
        groups = list(GROUPS)
        parts = scores.groupby(["model", "method", "group"], observed=True)
        keys = itertools.product(table.models, table.methods, groups)
        spreads = {key: score_spread(parts.get_group(key)["score"].to_numpy()) for key in keys}
        with house_style():
            figure = distributions_figure(spreads, 6.9, names, metric="comprehensiveness")
        for axes, model in zip(figure.axes, table.models, strict=True):
            bars = [line for line in axes.lines if line.get_linewidth() == 1.2]
            drawn = [line.get_ydata()[0] for line in sorted(bars, key=lambda x: x.get_xdata()[0])]
            cells = itertools.product(table.methods, groups)
            expected = [parts.get_group((model, *cell))["score"].median() for cell in cells]
            assert drawn == pytest.approx(expected)

    def test_three_groups_stand_side_by_side(self, names):
        spreads = {
            ("m", "gradient", g): score_spread([i, i + 1.0, i]) for i, g in enumerate("abc", 1)
        }
        with house_style():
            figure = distributions_figure(spreads, 3.3, names, metric="comprehensiveness")
        bars = [line for line in figure.axes[0].lines if line.get_linewidth() == 1.2]
        places = [np.mean(line.get_xdata()) for line in bars]
        assert places == sorted(places)
        assert places[1] == pytest.approx(0)


def naive_quantile(ordered, q):
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


@given(st.text("abc_ ×↑", max_size=60), st.integers(4, 30))
def test_folded_names_keep_their_letters(text, width):
    assert re.sub(r"\s", "", fitted(text, width)) == re.sub(r"\s", "", text)
