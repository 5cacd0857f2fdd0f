"""Stage compare-published: results of a grid beside the numbers of a published study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from exparity.artefacts.files import read_artefact
from exparity.core.escaping import say
from exparity.published.comparison import compare_results, nothing_to_compare
from exparity.published.summary import summary
from exparity.published.tables import write_comparison


def compare_published(
    results: Path, study: str, models: Mapping[str, str], output: Path | None = None
) -> None:
    """Print how results agree with a published study, and write the tables behind it.

    Args:
        results: folder of all results; the report must have been made.
        study: id of the study.
        models: our model ids to published ones, for models with other ids.
        output: folder for the tables as CSV and Parquet; none are written if None.

    Raises:
        InputError: there is no report, an unknown study or model, or nothing that was published.
    """
    table, metadata = read_artefact(results / "report" / "disparity.parquet", "disparity")
    comparison = compare_results(
        results,
        table.to_pylist(),
        metadata.get("parameters", {}),
        study=study,
        models=models,
    )
    if not comparison.matches:
        raise nothing_to_compare(comparison)
    say(summary(comparison))
    if output is not None:
        write_comparison(comparison, output)
        say(f"\nTables, cell by cell too, are in {output}")
