"""Figures for papers: vector graphics in two widths, the same bytes whenever they are drawn.

Wherever a figure is drawn, ``width`` is its width in inches and ``names`` says what things are
called. Importing this package loads matplotlib.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

from matplotlib.figure import Figure

from exparity.artefacts.files import read_tables
from exparity.core.escaping import file_name
from exparity.report.figures.distributions import Spreads, distributions_figure, score_spread
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.roc import roc_figure
from exparity.report.figures.style import WIDTHS, house_style, save
from exparity.report.figures.verdicts import verdicts_figure
from exparity.report.gather import Study
from exparity.report.picture import picture_of
from exparity.report.quality import quality_tables
from exparity.report.tables import Table

log = logging.getLogger(__name__)

Drawing = tuple[str, str, Callable[[float], Figure]]
"""File name without width and suffix, title, and the function that draws it at a width."""


def write_figures(study: Study, tables: Sequence[Table], folder: Path) -> list[str]:
    """Draw all figures of a study into a folder and return their names.

    Each figure is written for one and for two columns (``_1col``, ``_2col``), as SVG and PDF. A
    metric whose scores are not there has no distributions.
    """
    drawn = []
    with house_style():
        for name, title, draw in _drawings(study, tables):
            for columns, width in WIDTHS.items():
                save(draw(width), folder / f"{name}_{columns}", title)
            drawn.append(name)
    log.info("%d figures", len(drawn))
    return drawn


def _drawings(study: Study, tables: Sequence[Table]) -> Iterator[Drawing]:
    if panels := picture_of(study):
        yield "verdicts", "Verdicts", partial(verdicts_figure, panels)
    threshold = study.statistics["threshold"]
    for table in tables:
        dataset, a, b = table.dataset, table.group_a, table.group_b
        title = f"Effect sizes, {study.display('dataset', dataset)}, {a} − {b}"
        draw = partial(effects_figure, table, names=study.name, threshold=threshold)
        yield file_name("effects", dataset, a, b), title, draw
    for quality in quality_tables(study):
        if quality.is_drawn and quality.curves:
            title = f"ROC curves, {study.display('dataset', quality.dataset)}"
            draw = partial(roc_figure, quality, names=study.name)
            yield file_name("roc", quality.dataset), title, draw
    for dataset in study.models:
        for metric in study.applying("metrics", dataset):
            spreads = _spreads(study, dataset, metric)
            if any(spreads.values()):
                kinds = {"metric": metric, "dataset": dataset}
                shown = ", ".join(study.display(kind, id) for kind, id in kinds.items())
                draw = partial(distributions_figure, spreads, names=study.name, metric=metric)
                yield file_name("distributions", dataset, metric), f"Distributions, {shown}", draw


def _spreads(study: Study, dataset: str, metric: str) -> Spreads:
    """Summarise the scores by model, method and group, all seeds together."""
    methods, groups = study.applying("methods", dataset), study.declared(dataset).parts
    keys = product(study.models[dataset], methods, groups)
    files = (path for ids, path in study.files("scores") if (ids[0], ids[-1]) == (dataset, metric))
    table = read_tables([path for path in files if path.is_file()], "scores")
    ids = ["model", "method", "group"]
    cells = table.select([*ids, "score"]).to_pandas().groupby(ids)["score"]
    scores = {key: of_cell.to_numpy() for key, of_cell in cells}
    return {key: score_spread(scores.get(key, ())) for key in keys}
