"""From artefacts to the report: everything that the page and its tables are made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from exparity.artefacts.analyses import ANALYSES, AnalysisFacts, Findings
from exparity.artefacts.columns import Export
from exparity.core.registry import Entry
from exparity.published.output import Comparison, comparison_tables
from exparity.report.bias import bias_tables
from exparity.report.context import Content, Context, Section
from exparity.report.costs import cost_by_part, cost_by_stage, read_costs
from exparity.report.downloads import table_exports
from exparity.report.gather import Study
from exparity.report.means import MEANS, MeanLine, mean_tables
from exparity.report.provenance import read_origins
from exparity.report.reading import read_analysis
from exparity.report.scores import read_study_scores
from exparity.report.tables import disparity_tables


def build_context(
    study: Study,
    folder: Path,
    published: Mapping[str, Comparison] | None = None,
) -> Context:
    """Read what the page shows beside the tests."""
    scores = read_study_scores(study, keep_seeds=study.seeds[:1])
    origins = read_origins(study.results, study.options, scores.metadata)
    tables = disparity_tables(study)
    directions = {m: study.metric_facts(m).direction for m in study.metrics}
    means = mean_tables(scores.means, directions)
    of_methods = [line for line in scores.means if line.method]
    bias = bias_tables(study.bias, study.pairs)
    causal = bias_tables(study.bias, study.pairs, "causal_bias")
    analyses = list(reported(study))
    costs = read_costs(study.results)
    sums = [*cost_by_stage(costs), *cost_by_part(costs)]
    return Context(
        study=study,
        folder=folder,
        tables=tables,
        means=means,
        bias_tables=bias,
        causal_tables=causal,
        published=published or {},
        scores=scores,
        origins=origins,
        costs=costs,
        sections=[section_of(entry, findings) for entry, findings in analyses],
        exports=[
            *table_exports(study, tables, [*bias, *causal], sums),
            *([Export.of(MEANS, "Means of the scores", MeanLine, of_methods)] if means else []),
            *(table for one in (published or {}).values() for table in comparison_tables(one)),
            *(table for _, findings in analyses for table in findings.tables if table.rows),
        ],
    )


def reported(study: Study) -> Iterator[tuple[Entry[AnalysisFacts], Findings]]:
    """Read the analyses of a config; yield those that have something to say."""
    for name in study.options.get("analyses", {}):
        entry = ANALYSES.get(name)
        if entry.facts.section is None:
            continue
        rows = read_analysis(study.results, study.options, name)
        if not rows:
            continue
        with entry.running():
            findings = entry.facts.section(rows, study, study.options)
        if findings is not None:
            yield entry, findings


def section_of(entry: Entry[AnalysisFacts], findings: Findings) -> Section:
    """Return the section of an analysis."""
    text = entry.facts.template
    if text.endswith(".j2"):
        text = (entry.source.parent / text).read_text(encoding="utf-8")
    content = Content(findings.values)
    return Section(entry.id, entry.display, lambda _: content, template=text)
