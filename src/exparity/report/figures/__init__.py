"""Figures for papers: vector graphics in two widths, the same bytes whenever they are drawn.

matplotlib loads when the first figure is drawn. Wherever a figure is drawn, ``width`` is its width
in inches and ``names`` says what things are called.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.artefacts.analyses import Picture
from exparity.core.escaping import visible
from exparity.report.figures.distributions import (
    TAILS,
    WHISKERS,
    distributions_figure,
    score_spread,
    wants_log,
)
from exparity.report.figures.effects import effects_figure
from exparity.report.figures.style import WIDTHS, house_style, save
from exparity.report.figures.verdicts import verdicts_figure
from exparity.report.gather import Study
from exparity.report.picture import is_controlled, picture_of
from exparity.report.scores import read_columns
from exparity.report.tables import Table
from exparity.report.templating import text_environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from exparity.types import FloatArray

log = logging.getLogger(__name__)


def write_figures(study: Study, tables: Sequence[Table], folder: Path) -> list[Picture]:
    """Draw all figures of a study into a folder and replace its content.

    Each figure is written for one and for two columns (``_1col``, ``_2col``), as SVG and PDF.
    ``captions.txt`` says what each shows. A metric whose scores are not there has no distributions.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    drawn = []
    for picture in _figures(study, tables):
        for name, width in WIDTHS.items():
            with house_style():
                figure = picture.draw(width)
            save(figure, temporary / f"{picture.name}_{name}", picture.title)
        drawn.append(picture)
    text = "\n".join(f"{picture.name}\n{picture.caption}\n" for picture in drawn)
    (temporary / "captions.txt").write_text(visible(text, keep="\n"), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    temporary.replace(folder)
    log.info("%d figures", len(drawn))
    return drawn


def leave_out_figures(folder: Path) -> None:
    """Empty the folder: earlier figures may show other numbers than the new page."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _figures(study: Study, tables: Sequence[Table]) -> Iterator[Picture]:
    if panels := picture_of(study):
        draw = partial(verdicts_figure, panels)
        yield _picture(study, draw, ("verdicts",), "Verdicts", controlled=is_controlled(study))
    for table in tables:
        yield _effects(study, table)
    for dataset in dict.fromkeys(dataset for dataset, _ in study.pairs):
        for metric in study.applying("metrics", dataset):
            yield from _distributions(study, dataset, metric)


def _picture(
    study: Study, draw: Callable[[float], Figure], parts: tuple[str, ...], title: str, **facts: Any
) -> Picture:
    """Return a figure with its caption."""
    template = text_environment().get_template("caption.txt.j2")
    caption = template.render(study=study, s=study.statistics, kind=parts[0], **facts)
    return Picture(parts, title, caption, draw)


def _effects(study: Study, table: Table) -> Picture:
    a, b = table.group_a, table.group_b
    examples = []
    for key, group in (("n_a", a), ("n_b", b)):
        counts = sorted({row[key] for cell in table.cells.values() for row in cell.tests["score"]})
        examples.append(f"{' to '.join(map(str, dict.fromkeys((counts[0], counts[-1]))))} {group}")
    title = f"Effect sizes, {study.display('dataset', table.dataset)}, {a} − {b}"
    facts = {"table": table, "examples": " and ".join(examples)}
    draw = partial(effects_figure, table, names=study.name, threshold=study.statistics["threshold"])
    return _picture(study, draw, ("effects", table.dataset, a, b), title, **facts)


def _distributions(study: Study, dataset: str, metric: str) -> Iterator[Picture]:
    scores = _scores(study, dataset, metric)
    if not any(map(len, scores.values())):
        return
    upper = study.metric_facts(metric).bounds[1]
    on_log = wants_log(np.concatenate(list(scores.values())), upper)
    spreads = {key: score_spread(values, log=on_log) for key, values in scores.items()}
    draw = partial(distributions_figure, spreads, names=study.name, metric=metric, log=on_log)
    title = f"Distributions, {study.display('metric', metric)}, {study.display('dataset', dataset)}"
    facts = {"dataset": dataset, "metric": metric, "log": on_log}
    facts |= {"tails": TAILS, "whiskers": WHISKERS}
    yield _picture(study, draw, ("distributions", dataset, metric), title, **facts)


def _scores(study: Study, dataset: str, metric: str) -> dict[tuple[str, str, str], FloatArray]:
    """Return the scores by model, method and group, all seeds together."""
    models = [m for d, m in study.pairs if d == dataset]
    methods, order = study.applying("methods", dataset), study.declared(dataset).parts
    keys = product(models, methods, order)
    parts: dict[tuple[str, str, str], list[FloatArray]] = {key: [np.empty(0)] for key in keys}
    for model, method, seed in product(models, methods, study.seeds):
        cell: dict[str, str | int] = {"dataset": dataset, "model": model, "seed": seed}
        path = study.path("scores", **cell, method=method, metric=metric)
        if path.is_file():
            table = read_columns(path, "group", "score")
            groups = np.array(table["group"].to_pylist())
            for group in order:
                parts[model, method, group].append(table["score"].to_numpy()[groups == group])
    return {key: np.concatenate(of_key) for key, of_key in parts.items()}
