"""Tool show: verdicts, and means of data without groups, on the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from rich.console import RenderableType

from exparity.artefacts import layout
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.artefacts.grid import Grid, read_grid
from exparity.config.command_line import results_of
from exparity.core.errors import InputError, require_known
from exparity.core.escaping import visible
from exparity.core.flags import ConfigFiles, Folder, Id, Overrides
from exparity.core.settings import DEFAULTS
from exparity.report.context import Context
from exparity.report.failures import Failures
from exparity.report.gather import Study, gather
from exparity.report.means import MEANS, MeanLine, mean_tables
from exparity.report.raters import rater_sentences
from exparity.report.rows import VerdictRow
from exparity.report.sections.findings import in_plain_words
from exparity.report.terminal import (
    means_of,
    plain_text,
    terminal_here,
    verdicts_of,
    write,
)

_KINDS = ("dataset", "model", "method", "metric")


def show(
    results: Folder | None = None,
    /,
    *,
    dataset: Sequence[Id] = (),
    model: Sequence[Id] = (),
    method: Sequence[Id] = (),
    metric: Sequence[Id] = (),
    cells: bool = False,
    configfile: ConfigFiles = (),
    config: Overrides = (),
) -> None:
    """Print what results say: five questions and their answers, and on request every verdict.

    For data without groups it prints the means of the scores, once there is a report. The report's
    page and tables have single trainings.

    Args:
        results: folder of results; if None, the config's, or ``results``.
        dataset: show these datasets only.
        model: show these models only.
        method: show these methods only.
        metric: show these metrics only.
        cells: print the verdict of each comparison, a line each; so it does where some datasets,
            models, methods or metrics are chosen, or the run has not ended.
        configfile: the experiment; its results folder is read.
        config: values over those of the config file.
    """
    results = results_of(results, configfile, config)
    grid = read_grid(results)
    # Where nothing is explained, verdicts are those of an earlier run.
    path = results / layout.path_of("verdicts", {})
    verdicts: list[VerdictRow] = []
    if path.is_file() and (grid is None or grid.metrics):
        rows = records(VerdictRow, read_artefact(path, "verdicts")[0])
        # Random explanations belong to every method.
        verdicts = [replace(row, method="") if row.is_random else row for row in rows]
    compared = {row.dataset for row in verdicts}
    path = results / layout.path_of("tables", {}) / f"{MEANS}.parquet"
    lines = records(MeanLine, read_parquet(path)[0]) if path.is_file() else []
    means = [line for line in lines if line.dataset not in compared]
    if not verdicts and not means:
        raise InputError(f"{results}: there are no verdicts yet; run the experiment first")
    for kind, ids in zip(_KINDS, (dataset, model, method, metric), strict=True):
        ids_shown = {getattr(row, kind) for row in (*verdicts, *means)} - {""}
        for name in ids:
            require_known(name, ids_shown, f"there is no {kind} '{name}' in the results shown")
        if ids:
            verdicts = [row for row in verdicts if getattr(row, kind) in ("", *ids)]
            means = [line for line in means if getattr(line, kind) in ids]
    statistics = grid.statistics if grid else DEFAULTS
    is_chosen = any((dataset, model, method, metric))
    answers = _answers(results, grid) if grid and verdicts and not is_chosen else []
    parts: list[Iterable[RenderableType]] = [[visible(grid.title)]] if grid and grid.title else []
    parts.append(answers)
    if cells or not answers:
        parts.append(
            verdicts_of(verdicts, statistics.threshold, statistics.confidence, statistics.alpha)
        )
    elif verdicts:
        parts.append(["", "With --cells, the verdict of each comparison is printed."])
    parts.append(means_of(mean_tables(means), statistics.confidence))
    if grid and not is_chosen:
        parts.append(_of_raters(results, grid))
    write(terminal_here(), chain.from_iterable(parts))


def _of_raters(results: Path, grid: Grid) -> list[RenderableType]:
    """Return whose rationale explanations agree with, a line each; nothing where nobody marked."""
    study = Study(results, grid, bias=(), facts={})
    paths = layout.paths_of(results, grid, "whose_rationale")
    rows = [
        row
        for path in paths
        if path.is_file()
        for row in read_artefact(path, "whose_rationale")[0].to_pylist()
    ]
    return [plain_text(sentence) for sentence in rater_sentences(rows, study)]


def _answers(results: Path, grid: Grid) -> list[RenderableType]:
    """Return what a study says, a line each; nothing of one that has not ended."""
    needed = ("disparity", "bias", "levels", "ranking", "positive_control", "remedies")
    inputs = (path for name in needed for path in layout.paths_of(results, grid, name))
    if not all(path.is_file() for path in inputs):
        return []
    lines: list[RenderableType] = []
    with Failures().caught("The summary"):
        context = Context(gather(results, grid), results / "report")
        lines += [plain_text(line) for line in in_plain_words(context)]
    return lines
