"""Quality of classifiers in the report: confusion matrices and ROC curves on page and exports."""

import csv
import io
import re
from functools import cache

import numpy as np
import pytest
from made_up import Results
from report.reading import Page, points_of
from sklearn.metrics import confusion_matrix, roc_auc_score

from exparity.artefacts.grid import Grid
from exparity.report.context import Context
from exparity.report.downloads import confusion_export, roc_export
from exparity.report.figures import roc_figure
from exparity.report.figures.style import house_style
from exparity.report.gather import gather
from exparity.report.quality import MOST_CLASSES, quality_tables
from exparity.report.render import template_of
from exparity.report.sections import SECTIONS
from exparity.report.templating import html_environment
from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import model_bias
from exparity.stats.predictions import predictions_of

SEEDS = (0, 1, 2)
MODELS = ("bert", "gpt_2")
GROUPS = ("m", "f & g")
N = 60


@cache
def drawn(dataset, model, seed):
    """Labels, predictions, probabilities and groups; in 'one' all texts of m are of one class."""
    classes = len(classes_of(dataset))
    rng = np.random.default_rng([seed, MODELS.index(model), classes])
    labels = np.random.default_rng(classes).integers(0, classes, N)
    groups = [GROUPS[i % 2] for i in range(N)]
    if dataset == "one":
        labels[::2] = 1
    logits = rng.normal(size=(N, classes))
    logits[np.arange(N), labels] += 1
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return labels, shares.argmax(axis=1), shares, groups


def classes_of(dataset):
    return {
        "two": ["no", "<b>yes</b>"],
        "one": ["no", "yes"],
        "three": ["a", "b", "c"],
        "many": [f"class {i}" for i in range(MOST_CLASSES + 1)],
    }[dataset]


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "results"
    datasets = ("two", "one", "three", "many")
    pairs = [(dataset, model) for dataset in datasets for model in MODELS]
    for dataset, model in pairs:
        for seed in SEEDS:
            data = predictions_of(*drawn(dataset, model, seed), GROUPS, classes_of(dataset))
            rows = [{**vars(row), "seed": seed} for row in model_bias(data, Draws(resamples=0))]
            facts = {"groups": GROUPS, "labels": classes_of(dataset), "attribute": "gender"}
            Results(folder).add_seed("bias", rows, dataset, model, **facts)
    grid = Grid(
        pairs=pairs,
        seeds=SEEDS,
        analyses={"bias": pairs},
        title="t",
        datasets=dict.fromkeys(datasets, "pairs_all"),
    )
    return gather(folder, grid)


@pytest.fixture(scope="module")
def tables(study):
    return {table.dataset: table for table in quality_tables(study)}


@pytest.fixture(scope="module")
def page(study):
    (section,) = (section for section in SECTIONS if section.id == "classifiers")
    content = section.build(Context(study, study.results))
    return template_of(html_environment(), section).render(content.values, study=study)


@pytest.fixture(scope="module")
def drawings(study):
    (section,) = (section for section in SECTIONS if section.id == "classifiers")
    return section.build(Context(study, study.results)).data


def members(dataset, model, seed, group):
    labels, predicted, shares, groups = drawn(dataset, model, seed)
    rows = np.array([group in ("", own) for own in groups])
    return labels[rows], predicted[rows], shares[rows]


def curves_of(shapes):
    return [path for style, path in shapes if style.startswith("curve-")]


@pytest.mark.reference
@pytest.mark.parametrize("dataset", ["two", "one", "three", "many"])
class TestTables:
    def test_confusion_matrices_are_means_of_those_of_scikit_learn(self, tables, dataset):
        table = tables[dataset]
        classes = range(len(classes_of(dataset)))
        assert len(table.matrices) == len(MODELS) * 3
        for matrix in table.matrices:
            of_seeds = [members(dataset, matrix.model, seed, matrix.group)[:2] for seed in SEEDS]
            expected = [confusion_matrix(y, yhat, labels=classes) for y, yhat in of_seeds]
            assert matrix.counts == pytest.approx(np.mean(expected, axis=0))
            for counts, shares in zip(matrix.counts, matrix.shares, strict=True):
                if counts.sum():
                    assert shares == pytest.approx(counts / counts.sum())
                else:
                    assert np.isnan(shares).all()

    def test_curves_have_the_areas_of_scikit_learn(self, tables, dataset):
        table = tables[dataset]
        names = classes_of(dataset)
        for model in MODELS:
            for name in names:
                if dataset == "one":
                    assert table.drawn(model, name) == ["f & g", ""]
                for curve in table.plot(model, name):
                    y, _, shares = members(dataset, model, curve.seed, curve.group)
                    c = names.index(name)
                    assert curve.auc == pytest.approx(roc_auc_score(y == c, shares[:, c]))
                    assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(curve.auc)

    def test_exports_hold_every_number(self, study, tables, dataset):
        table = tables[dataset]
        export = confusion_export(study, table)
        rows = list(csv.DictReader(io.StringIO(export.as_csv())))
        classes = classes_of(dataset)
        assert len(rows) == len(MODELS) * 3 * len(classes) ** 2
        for row in rows:
            (matrix,) = (
                m for m in table.matrices if (m.model, m.group) == (row["model"], row["group"])
            )
            place = classes.index(row["true_class"]), classes.index(row["predicted_class"])
            assert float(row["texts"]) == pytest.approx(matrix.counts[place], rel=1e-5)
        lines = [line for line in export.latex.splitlines() if line.endswith(r"\\")]
        assert len(lines) == 1 + len(MODELS) * 3 * len(classes)
        points = list(csv.DictReader(io.StringIO(roc_export(study, table).as_csv())))
        assert len(points) == sum(len(curve.fpr) for curve in table.curves)


class TestPage:
    def test_a_matrix_for_every_model_and_group(self, page, tables):
        drawn_tables = [table for table in tables.values() if table.is_drawn]
        shown = Page(page).tables
        matrices = [m for t in drawn_tables for model in t.models for m in t.of_model(model)]
        assert len(shown) == len(matrices)
        for found, matrix in zip(shown, matrices, strict=True):
            body = [[texts for texts, _ in row] for row in found["rows"]][1:]
            for texts, counts, shares in zip(body, matrix.counts, matrix.shares, strict=True):
                for cell, count, share in zip(texts[1:], counts, shares, strict=True):
                    share_text = "no text" if share != share else f"{100 * share:.1f}\u00a0%"
                    assert "".join(cell) == f"{count:.4g}{share_text}"

    def test_a_frame_for_every_drawing_in_the_order_of_the_data(self, page, drawings):
        frames = re.findall(r'data-drawing="(\d+)"></svg>', page)
        assert [*map(int, frames)] == [
            place for place, (*_, shapes, _) in enumerate(drawings) if curves_of(shapes)
        ]

    def test_a_curve_for_every_training_group_and_class(self, drawings):
        curves = [path for *_, shapes, _ in drawings for path in curves_of(shapes)]
        assert len(curves) == len(MODELS) * (3 + 2 + 3 * 3)
        for path in curves:
            by_training = [points_of(f"M{part}") for part in path.split("M")[1:]]
            assert len(by_training) == len(SEEDS)
            for points in by_training:
                assert points[0] == (30, 234)
                assert points[-1] == (248, 16)

    def test_what_has_no_curve_or_no_room_says_so(self, page):
        assert "No curve for m: all texts are of this class, or none is." in page
        assert f"{MOST_CLASSES + 1} classes: confusion matrices and curves are among" in page

    def test_names_of_classes_and_groups_are_escaped(self, page):
        assert "<b>yes" not in page
        assert "f &amp; g" in page


def test_a_figure_has_a_panel_for_every_model_and_class(tables):
    with house_style():
        figure = roc_figure(tables["three"], 6.9, names=lambda kind, id: id)
        panels = [axes for axes in figure.axes if axes.get_visible()]
        assert len(panels) == len(MODELS) * 3
        # The diagonal, a curve for each training and part, and three entries of the legend.
        assert {len(axes.lines) for axes in panels} == {1 + len(SEEDS) * 3 + 3}
