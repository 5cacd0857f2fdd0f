"""Stage report: all tests of a grid to tables and a page."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from exparity.artefacts.files import atomic_path, new_folder
from exparity.core.errors import InputError
from exparity.core.flags import Folder, Output
from exparity.jobs.locks import job_lock
from exparity.published.cells import compare_results
from exparity.published.gaps import compare_gaps
from exparity.published.output import Comparison, write_comparison
from exparity.published.study import KINDS
from exparity.report.context import build_context
from exparity.report.downloads import write_tables
from exparity.report.gather import Study, gather
from exparity.report.render import render_page


def report(results: Folder | None, page: Output, options: Mapping[str, Any]) -> None:
    """Gather all tests into tables and a page.

    Beside the page lie ``tables/`` and ``figures/``. Where the grid, or part
    of it, was published, ``published/`` holds the comparison as tables.

    Args:
        results: folder of all results; two above ``page`` if None.
        page: the page to write.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returns.

    Raises:
        InputError: an option is missing, or an artefact of the grid is missing or damaged.
    """
    if not {"title", "statistics", "methods", "analyses"} <= options.keys():
        raise InputError("--options: some are missing; run `snakemake`, which passes all of them")
    results = results or page.parent.parent
    # The job of a killed run may still be at it, in the same folders.
    lock = results / ".report.lock"
    with job_lock(lock):
        try:
            _write(results, page, options)
        finally:
            lock.unlink(missing_ok=True)


def _write(results: Path, page: Path, options: Mapping[str, Any]) -> None:
    study = gather(results, options)
    published = _published(results, study, options)
    context = build_context(study, page.parent, published)
    for comparison in published.values():
        write_comparison(comparison, page.with_name("published"))
    write_tables(context.exports, page.parent, {"version": version("exparity")})
    # Before the page, which links them. Earlier figures may show other numbers than this page.
    with new_folder(page.with_name("figures")) as figures:
        if options["report"]["figures"]:
            from exparity.report.figures import write_figures  # it loads matplotlib

            write_figures(study, context.tables, figures)
    with atomic_path(page) as temporary:
        temporary.write_text(render_page(context), encoding="utf-8")


def _published(results: Path, study: Study, options: Mapping[str, Any]) -> dict[str, Comparison]:
    """Return the results beside published ones, by kind of study; none if nothing is published."""
    runs = {(*pair, str(seed)) for pair in study.pairs for seed in study.seeds}
    comparisons: dict[str, Comparison] = {}
    for name, kind in KINDS.items():
        if kind == "cells":
            cells = compare_results(study.rows, options, study=name)
            comparisons |= {kind: cells} if cells.matches else {}
        elif kind == "gaps":
            gaps = compare_gaps(results, name, {}, runs)
            comparisons |= {kind: gaps} if gaps.gaps else {}
    return comparisons
