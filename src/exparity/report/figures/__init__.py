"""Figures for papers: vector graphics in two widths, the same bytes whenever they are drawn.

Wherever a figure is drawn, ``width`` is its width in inches and ``names`` says what things are
called. Importing this package loads matplotlib.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, product
from operator import attrgetter
from pathlib import Path

from matplotlib.figure import Figure

from exparity.artefacts.files import read_tables
from exparity.core.escaping import file_name
from exparity.core.grouping import grouped
from exparity.report.bias import RATES
from exparity.report.class_gaps import ClassGap
from exparity.report.failures import Failures
from exparity.report.figures.class_gaps import class_gaps_figure
from exparity.report.figures.distributions import Spreads, distributions_figure
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.fonts import quick_to_embed
from exparity.report.figures.roc import roc_figure
from exparity.report.figures.style import WIDTHS, house_style, save
from exparity.report.figures.verdicts import verdicts_figure
from exparity.report.gather import Study
from exparity.report.picture import picture_of
from exparity.report.quality import quality_tables
from exparity.report.spreads import score_spread
from exparity.report.tables import Table, as_it_stands, quantity_of

log = logging.getLogger(__name__)

Draw = Callable[[float], Figure]
"""Draws a figure at a width."""
Drawing = tuple[str, str, Callable[[], Draw | None]]
"""File name without width and suffix, title, and a function that reads what is drawn, if any."""


def write_figures(
    study: Study,
    tables: Sequence[Table],
    folder: Path,
    failures: Failures,
    gaps: Sequence[ClassGap] = (),
) -> list[str]:
    """Draw all figures of a study into a folder and return their names.

    Each figure is written for one and for two columns (``_1col``, ``_2col``), as SVG and PDF. A
    metric whose scores are not there has no distributions. A figure that fails is left out.
    ``gaps`` are those of the classes of the classifiers.
    """
    drawn = []
    with house_style(), quick_to_embed():
        for name, title, prepare in chain(_drawings(study, tables), _of_classes(study, gaps)):
            with failures.caught(f"Figure {name}"):
                draw = prepare()
                if draw is not None:
                    _write_figure(draw, folder / name, title)
                    drawn.append(name)
    log.info("%d figures", len(drawn))
    return drawn


def _write_figure(draw: Draw, path: Path, title: str) -> None:
    """Write a figure in every width once it is drawn in all of them."""
    figures = {columns: draw(width) for columns, width in WIDTHS.items()}
    for columns, figure in figures.items():
        save(figure, path.with_name(f"{path.name}_{columns}"), title)


def _drawings(study: Study, tables: Sequence[Table]) -> Iterator[Drawing]:
    yield "verdicts", "Verdicts", partial(_of_verdicts, study)
    for table in tables:
        ids = (table.dataset, table.group_a, table.group_b)
        pair = f"{table.group_a} − {table.group_b}"
        title = f"Effect sizes, {study.display('dataset', table.dataset)}, {pair}"
        yield file_name("effects", *ids), title, partial(_of_effects, study, table)
    for dataset in study.models:
        title = f"ROC curves, {study.display('dataset', dataset)}"
        yield file_name("roc", dataset), title, partial(_of_roc, study, dataset)
    for dataset in study.models:
        for metric in study.applying("metrics", dataset):
            shown = f"{study.display('metric', metric)}, {study.display('dataset', dataset)}"
            prepare = partial(_of_distributions, study, dataset, metric)
            yield file_name("distributions", dataset, metric), f"Distributions, {shown}", prepare


def _of_classes(study: Study, gaps: Sequence[ClassGap]) -> Iterator[Drawing]:
    """Yield a figure for each dataset, pair of groups and rate whose classes have gaps."""
    by_figure = grouped(gaps, attrgetter("dataset", "group", "group_b", "rate"))
    for (dataset, a, b, rate), points in by_figure.items():
        title = f"Gaps of classes, {RATES[rate]}, {study.display('dataset', dataset)}, {a} − {b}"
        prepare = partial(_of_gaps, study, points)
        yield file_name("class_gaps", dataset, a, b, rate), title, prepare


def _of_gaps(study: Study, gaps: Sequence[ClassGap]) -> Draw | None:
    if all(gap.statistical is None for gap in gaps):
        return None
    return partial(class_gaps_figure, gaps, names=study.name)


def _of_verdicts(study: Study) -> Draw | None:
    panels = picture_of(study)
    return partial(verdicts_figure, panels) if panels else None


def _of_effects(study: Study, table: Table) -> Draw:
    threshold = study.statistics.threshold
    return partial(
        effects_figure,
        as_it_stands(table, threshold),
        names=study.name,
        threshold=threshold,
        quantities={metric: quantity_of(table, metric) for metric in table.metrics},
    )


def _of_roc(study: Study, dataset: str) -> Draw | None:
    tables = (table for table in quality_tables(study) if table.dataset == dataset)
    drawn = [table for table in tables if table.is_drawn and table.curves]
    return partial(roc_figure, drawn[0], names=study.name) if drawn else None


def _of_distributions(study: Study, dataset: str, metric: str) -> Draw | None:
    spreads = _spreads(study, dataset, metric)
    if not any(spreads.values()):
        return None
    return partial(distributions_figure, spreads, names=study.name, metric=metric)


def _spreads(study: Study, dataset: str, metric: str) -> Spreads:
    """Summarise the scores by model, method and group, all seeds together."""
    methods = study.applying("methods", dataset)
    groups = study.declared(dataset).parts
    keys = product(study.models[dataset], methods, groups)
    files = (path for ids, path in study.files("scores") if (ids[0], ids[-1]) == (dataset, metric))
    table = read_tables([path for path in files if path.is_file()], "scores")
    ids = ["model", "method", "group"]
    cells = table.select([*ids, "score"]).to_pandas().groupby(ids)["score"]
    scores = {key: values.to_numpy() for key, values in cells}
    return {key: score_spread(scores.get(key, ())) for key in keys}
