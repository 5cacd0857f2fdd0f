"""Tool show: verdicts, and means of data without groups, on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.artefacts.layout import read_grid
from exparity.config.command_line import results_of
from exparity.core.errors import InputError, require_known
from exparity.core.escaping import visible
from exparity.core.flags import ConfigFiles, Folder, Id, Overrides
from exparity.core.settings import DEFAULTS
from exparity.report.means import MEANS, MeanLine, mean_tables
from exparity.report.terminal import means_of, terminal_here, verdicts_of, write
from exparity.report.verdicts import is_random

_KINDS = ("dataset", "model", "method", "metric")


def show(
    results: Folder | None = None,
    /,
    *,
    dataset: Sequence[Id] = (),
    model: Sequence[Id] = (),
    method: Sequence[Id] = (),
    metric: Sequence[Id] = (),
    configfile: ConfigFiles = (),
    config: Overrides = (),
) -> None:
    """Print the verdicts of results.

    Each cell is a line. For data without groups it prints the means of the scores, once there is a
    report. The report's page and tables have single trainings.

    Args:
        results: folder of results; that of the config if None, or ``results``.
        dataset: show these datasets only.
        model: show these models only.
        method: show these methods only.
        metric: show these metrics only.
        configfile: the experiment; its results folder is read.
        config: values over those of the config file.
    """
    results = results_of(results, configfile, config)
    grid = read_grid(results) or {}
    # Where nothing is explained, verdicts are those of an earlier run.
    path, verdicts = results / layout.path_of("verdicts", {}), []
    if path.is_file() and grid.get("metrics", True):
        rows = read_artefact(path, "verdicts")[0].to_pylist()
        # Random explanations belong to every method.
        verdicts = [{**row, "method": ""} if is_random(row) else row for row in rows]
    compared = {row["dataset"] for row in verdicts}
    path = results / layout.path_of("tables", {}) / f"{MEANS}.parquet"
    lines = read_parquet(path)[0].to_pylist() if path.is_file() else []
    means = [line for line in lines if line["dataset"] not in compared]
    if not verdicts and not means:
        raise InputError(f"{results}: there are no verdicts yet; run the experiment first")
    for kind, ids in zip(_KINDS, (dataset, model, method, metric), strict=True):
        known = {row[kind] for row in (*verdicts, *means)} - {""}
        for id in ids:
            require_known(id, known, f"there is no {kind} '{id}' in the results shown")
        if ids:
            verdicts = [row for row in verdicts if row[kind] in ("", *ids)]
            means = [row for row in means if row[kind] in ids]
    statistics = {**DEFAULTS.whole, **grid.get("statistics", {})}
    parts = chain(
        verdicts_of(verdicts, statistics["threshold"], statistics["confidence"]),
        means_of(mean_tables([MeanLine(**row) for row in means]), statistics["confidence"]),
    )
    write(terminal_here(), chain([visible(grid["title"])] if grid.get("title") else (), parts))
