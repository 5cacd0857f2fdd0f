"""Figures for papers: vector graphics in two widths, the same bytes whenever they are drawn.

matplotlib loads when the first figure is drawn.
"""

from __future__ import annotations

import logging
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.artefacts.files import read_artefact, read_tables
from exparity.core.escaping import file_name, visible
from exparity.report.cells import artefact_paths
from exparity.report.figures import captions
from exparity.report.figures.bias import bias_figure
from exparity.report.figures.disparity import disparity_figure
from exparity.report.figures.distributions import (
    Spread,
    distributions_figure,
    spread_of,
    wants_log,
)
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.names import names_of
from exparity.report.figures.significance import significance_figure, significance_lines
from exparity.report.figures.style import WIDTHS, house_style, save
from exparity.report.gather import Study
from exparity.report.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from exparity.interface import FloatArray

log = logging.getLogger(__name__)

FORMATS = ("svg", "pdf")


@dataclass(frozen=True)
class Drawn:
    """A figure in the folder.

    Attributes:
        name: file name without width and suffix: files are ``{name}_{width}.{format}``.
        kind: ``disparity``, ``effects``, ``distributions``, ``significance`` or ``bias``.
        title: what it shows, in a few words.
        caption: what it shows, in full.
    """

    name: str
    kind: str
    title: str
    caption: str

    def files(self) -> list[str]:
        """Return the names of its files."""
        return [f"{self.name}_{width}.{suffix}" for width in WIDTHS for suffix in FORMATS]


Draw = Callable[[float], "Figure"]


def write_figures(
    study: Study, tables: Sequence[Table], results: Path, folder: Path
) -> list[Drawn]:
    """Draw all figures of a study into a folder, in place of what it held.

    Each figure is written for one and for two columns (``_1col``, ``_2col``), as SVG and PDF.
    ``captions.txt`` says what each shows. A metric whose scores are not there has no distributions.

    Args:
        study: the study.
        tables: its disparity tables.
        results: folder of all results, for scores and controls.
        folder: where to.

    Returns:
        The figures, in the order of the text.

    Raises:
        InputError: an artefact is damaged, or a control is missing.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    drawn = []
    for figure, draw in _figures(study, tables, results):
        for name, width in WIDTHS.items():
            with house_style():
                picture = draw(width)
            save(picture, temporary / f"{figure.name}_{name}", figure.title)
        drawn.append(figure)
    text = "\n".join(f"{figure.name}\n{figure.caption}\n" for figure in drawn)
    (temporary / "captions.txt").write_text(visible(text, keep="\n"), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)
    log.info("%d figures", len(drawn))
    return drawn


def leave_out_figures(folder: Path) -> None:
    """Leave an empty folder: earlier figures show other numbers than the page of this report."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _figures(study: Study, tables: Sequence[Table], results: Path) -> Iterator[tuple[Drawn, Draw]]:
    """Yield each figure and how to draw it at a width."""
    yield _significance(study, results)
    for table in tables:
        yield from _of_table(study, table)
    for dataset in dict.fromkeys(dataset for dataset, _ in study.pairs):
        for metric in study.metrics:
            yield from _distributions(study, tables, results, dataset, metric)
        yield _bias(study, dataset)


def _significance(study: Study, results: Path) -> tuple[Drawn, Draw]:
    controls: list[Mapping[str, Any]] = []
    if study.controls:
        paths = [path for _, path in artefact_paths(results, study, "controls")]
        controls = read_tables(paths, "controls").to_pylist()
    alpha = study.statistics["alpha"]
    lines = significance_lines(study.rows, controls, names_of(study), alpha=alpha)
    caption = captions.significance_caption(study, controls=bool(controls))
    figure = Drawn("significance", "significance", "Share of significant tests", caption)
    return figure, lambda width: significance_figure(lines, width, alpha=alpha)


def _of_table(study: Study, table: Table) -> Iterator[tuple[Drawn, Draw]]:
    names, threshold = names_of(study), study.statistics["threshold"]
    about = f"{study.display('dataset', table.dataset)}, {table.group_a} − {table.group_b}"
    parts = (table.dataset, table.group_a, table.group_b)
    yield (
        Drawn(
            table.name, "disparity", f"Disparity, {about}",
            captions.disparity_caption(study, table),
        ),
        lambda width: disparity_figure(table, width, names),
    )  # fmt: skip
    yield (
        Drawn(
            file_name("effects", *parts), "effects", f"Effect sizes, {about}",
            captions.effects_caption(study, table),
        ),
        lambda width: effects_figure(table, width, names, threshold=threshold),
    )  # fmt: skip


def _distributions(
    study: Study, tables: Sequence[Table], results: Path, dataset: str, metric: str
) -> Iterator[tuple[Drawn, Draw]]:
    scores = _scores(study, results, dataset, metric)
    if not scores:
        return
    upper = study.metric_facts(metric).bounds[1]
    on_log = wants_log(np.concatenate(list(scores.values())), upper)
    spreads: dict[tuple[str, str, str], Spread | None] = {
        key: spread_of(values, log=on_log) for key, values in scores.items()
    }
    own = [table for table in tables if table.dataset == dataset]
    notes = {
        (model, method): (f"{cell.significant}/{cell.total}", cell.considerable)
        for table in own
        if len(own) == 1
        for (model, method, m), cell in table.cells.items()
        if m == metric
    }
    name = f"{study.display('metric', metric)}, {study.display('dataset', dataset)}"
    yield (
        Drawn(
            file_name("distributions", dataset, metric), "distributions", f"Distributions, {name}",
            captions.distributions_caption(study, dataset, metric, log=on_log),
        ),
        lambda width: distributions_figure(
            spreads,
            width,
            names_of(study),
            metric=metric,
            models=[m for d, m in study.pairs if d == dataset],
            methods=list(study.methods),
            groups=study.declared(dataset).groups,
            notes=notes,
            log=on_log,
        ),
    )  # fmt: skip


def _scores(
    study: Study, results: Path, dataset: str, metric: str
) -> dict[tuple[str, str, str], FloatArray]:
    """Return the scores by model, method and group, all seeds together."""
    parts: dict[tuple[str, str, str], list[FloatArray]] = defaultdict(list)
    for ids, path in artefact_paths(results, study, "scores"):
        if (ids[0], ids[4]) != (dataset, metric) or not path.is_file():
            continue
        table = read_artefact(path, "scores")[0]
        values = table["score"].to_numpy()
        groups = np.array(table["group"].to_pylist())
        for group in study.declared(dataset).groups:
            parts[ids[1], ids[3], group].append(values[groups == group])
    return {key: np.concatenate(of_key) for key, of_key in parts.items()}


def _bias(study: Study, dataset: str) -> tuple[Drawn, Draw]:
    rows = [row for row in study.bias.rows if row["dataset"] == dataset]
    models = [m for d, m in study.pairs if d == dataset]
    figure = Drawn(
        file_name("bias", dataset), "bias", f"Model bias, {study.display('dataset', dataset)}",
        captions.bias_caption(study, dataset),
    )  # fmt: skip
    declared = study.declared(dataset)
    return figure, lambda width: bias_figure(rows, declared, models, width, names_of(study))
