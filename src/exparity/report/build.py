"""From artefacts to the report: everything that the page and its tables are made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.published.comparison import Comparison
from exparity.report.analyses import reported
from exparity.report.bias import bias_tables
from exparity.report.context import Context
from exparity.report.costs import cost_by_part, cost_by_stage, read_costs
from exparity.report.downloads import table_exports
from exparity.report.gather import Study
from exparity.report.provenance import read_origins
from exparity.report.sample import read_samples
from exparity.report.scores import read_scores
from exparity.report.tables import disparity_tables


def build_context(
    results: Path,
    folder: Path,
    study: Study,
    options: Mapping[str, Any],
    published: Comparison | None = None,
) -> Context:
    """Read what the page shows beside the tests.

    Args:
        results: folder of all results.
        folder: folder of the page.
        study: the tests and what is needed to read them.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returned.
        published: the comparison with published numbers, if there is one.

    Raises:
        InputError: an artefact is damaged.
    """
    scores = read_scores(results, study, keep_seeds=study.seeds[:1])
    origins = read_origins(results, study, scores.metadata)
    tables = disparity_tables(study)
    bias = bias_tables(study.bias, study.pairs)
    analyses = reported(results, study, options)
    costs = read_costs(results)
    sums = [*cost_by_stage(costs), *cost_by_part(costs)]
    return Context(
        study=study,
        options=options,
        results=results,
        folder=folder,
        tables=tables,
        bias_tables=bias,
        published=published,
        scores=scores,
        samples=read_samples(results, study, scores),
        origins=origins,
        costs=costs,
        sections=[analysis.section for analysis in analyses],
        exports=[
            *table_exports(study, tables, bias, sums, published),
            *(export for analysis in analyses for export in analysis.exports),
        ],
    )
