"""Stage report: all tests of a grid to tables and a page."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.artifacts import atomic_path, write_artefact
from exparity.report.bias import bias_csv, bias_tables
from exparity.report.gather import Study, gather
from exparity.report.published import (
    STUDIES,
    Comparison,
    compare_results,
    section_of,
    write_comparison,
)
from exparity.report.render import render_bias_latex, render_latex, render_page
from exparity.report.tables import disparity_tables, write_tables

log = logging.getLogger(__name__)


def report(results: Path, page: Path, options: Mapping[str, Any]) -> None:
    """Write the page, and ``disparity.parquet`` and ``tables/`` beside it.

    Where the grid, or part of it, was published, ``published/`` holds the comparison as tables.

    Args:
        results: folder of all results.
        page: the HTML file.
        options: what :meth:`exparity.config.Experiment.report_options` returns.

    Raises:
        InputError: an artefact of the grid is missing or damaged.
    """
    start = time.monotonic()
    study = gather(results, options)
    tables = disparity_tables(study)
    bias = bias_tables(study.bias, study.pairs)
    write_artefact(
        page.with_name("disparity.parquet"),
        "disparity",
        study.rows,
        {},
        stage="report",
        parameters={k: v for k, v in options.items() if k != "digest"},
        seconds=time.monotonic() - start,
    )
    others = {f"{t.name}.csv": bias_csv(t) for t in bias}
    others |= {f"{t.name}.tex": render_bias_latex(t) for t in bias}
    latex = {t.name: render_latex(study, t) for t in tables}
    write_tables(tables, page.with_name("tables"), latex, others)
    published = _published(results, study, options)
    if published is not None:
        write_comparison(published, page.with_name("published"))
    with atomic_path(page) as temporary:
        section = None if published is None else section_of(published)
        temporary.write_text(render_page(study, tables, bias, section), encoding="utf-8")
    _say(study)


def _published(results: Path, study: Study, options: Mapping[str, Any]) -> Comparison | None:
    """Return the results beside published ones; None if nothing of the grid was published."""
    for name in STUDIES:
        found = compare_results(results, study.rows, options, study=name)
        if found.matches:
            return found
    return None


def _say(study: Study) -> None:
    for a in study.accuracies:
        log.info("%s, %s, seed %d: test accuracy %.3f", a.dataset, a.model, a.seed, a.overall)
    significant = sum(row["significant"] for row in study.rows)
    log.info("%d of %d tests are significant", significant, len(study.rows))
