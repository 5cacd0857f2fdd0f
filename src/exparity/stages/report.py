"""Stage report: all tests of a grid to tables and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

from exparity.artefacts.files import new_folder
from exparity.artefacts.grid import Grid
from exparity.core.flags import Folder, Output
from exparity.jobs.locks import job_lock
from exparity.published.output import write_comparison
from exparity.report.class_gaps import ClassGap
from exparity.report.context import Context
from exparity.report.downloads import write_tables
from exparity.report.gather import gather
from exparity.report.pages import write_pages


def report(results: Folder | None, page: Output, options: Mapping[str, object]) -> None:
    """Gather all tests into tables and a page.

    Beside the page lie ``tables/``, ``figures/``, a summary to print and a paragraph for a paper.
    Where the grid, or part of it, was published, ``published/`` holds the comparison as tables.

    Args:
        results: folder of all results; two above ``page`` if None.
        page: the page to write.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returns.

    Raises:
        InputError: an option is missing, or the tests, verdicts or bias of the grid are missing or
            damaged; nothing is written.
        IncompleteReport: a section, table or figure failed. All others are written, and the page
            says in its place why it failed.
    """
    grid = Grid.from_json(options, "--options")
    results = results or page.parent.parent
    # The job of a killed run may still be at it, in the same folders.
    lock = results / ".report.lock"
    with job_lock(lock):
        try:
            _write(results, page, grid)
        finally:
            lock.unlink(missing_ok=True)


def _write(results: Path, page: Path, grid: Grid) -> None:
    context = Context(gather(results, grid), page.parent)
    failures = context.failures
    with failures.caught("Tables, published"):
        for comparison in context.published.values():
            write_comparison(comparison, page.with_name("published"))
    write_tables(context.exports, page.parent, {"version": version("exparity")}, failures)
    # Before the page, which links them. Earlier figures may show other numbers than this page.
    with new_folder(page.with_name("figures")) as figures:
        if grid.report.figures:
            from exparity.report.figures import write_figures  # it loads matplotlib

            gaps: Sequence[ClassGap] = ()
            with failures.caught("Figures, gaps of classes"):
                gaps = context.class_gaps
            with failures.caught("Figures"):
                write_figures(context.study, context.tables, figures, failures, gaps)
    write_pages(context, page)
    failures.require_none(page)
