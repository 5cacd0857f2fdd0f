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
from exparity.report.published import STUDIES, compare_results, section_of
from exparity.report.render import render_bias_latex, render_latex, render_page
from exparity.report.tables import disparity_tables, write_tables

log = logging.getLogger(__name__)


def report(results: Path, page: Path, options: Mapping[str, Any]) -> None:
    """Write the page, and ``disparity.parquet`` and ``tables/`` beside it.

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
    with atomic_path(page) as temporary:
        text = render_page(study, tables, bias, _published(results, study, options))
        temporary.write_text(text, encoding="utf-8")
    _say(study)


def _published(
    results: Path, study: Study, options: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return what the page says of published numbers; None if nothing of ours was published."""
    for name in STUDIES:
        section = section_of(compare_results(results, study.rows, options, study=name))
        if section is not None:
            return section
    return None


def _say(study: Study) -> None:
    for a in study.accuracies:
        log.info("%s, %s, seed %d: test accuracy %.3f", a.dataset, a.model, a.seed, a.overall)
    significant = sum(row["significant"] for row in study.rows)
    log.info("%d of %d tests are significant", significant, len(study.rows))
