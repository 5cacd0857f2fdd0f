"""Stage compare-published: comparison of a grid with the numbers of a published study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from exparity.artefacts import layout
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact
from exparity.artefacts.grid import Grid, read_grid
from exparity.core.escaping import say
from exparity.core.flags import Flag, Folder, Id, Output
from exparity.published.cells import compare_results, nothing_to_compare
from exparity.published.gaps import compare_gaps
from exparity.published.output import Comparison, comparison_summary, write_comparison
from exparity.published.study import KINDS, load_study
from exparity.stats.seeds import SeedTest


def compare_published(
    results: Folder = Path("results"),
    /,
    *,
    study: Id = "dhaini2025",
    models: Annotated[Mapping[str, str] | None, Flag("map", "MODEL=PUBLISHED")] = None,
    output: Output | None = None,
) -> None:
    """Compare results with the numbers of a published study.

    Args:
        results: folder of results; for a study of classifiers, with their bias.
        study: id of the study.
        models: published model to compare one of yours with, where ids differ.
        output: folder for the tables as CSV and Parquet; none is written if None.

    Raises:
        InputError: nothing is judged yet, an unknown study or model, or nothing was published.
    """
    comparison: Comparison
    load_study(study)
    if KINDS[study] == "gaps":
        comparison = compare_gaps(results, study, models or {})
    else:
        table, _ = read_artefact(results / layout.path_of("disparity", {}), "disparity")
        grid = read_grid(results) or Grid()
        tests = records(SeedTest, table)
        comparison = compare_results(tests, grid, study=study, models=models or {})
        if not comparison.matches:
            raise nothing_to_compare(comparison)
    say(comparison_summary(comparison))
    if output is not None:
        write_comparison(comparison, output)
        say(f"\nTables, cell by cell too, are in {output}")
