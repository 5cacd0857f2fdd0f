"""The study as its page shows it, and the sections of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ANALYSES, AnalysisFacts, Findings
from exparity.artefacts.columns import Export
from exparity.artefacts.schemas import schema_of
from exparity.core.registry import Entry
from exparity.costs.finished import JobCost
from exparity.costs.forecast import Total, totals
from exparity.published.output import Comparison, comparison_tables
from exparity.report.bias import BiasTable, bias_tables
from exparity.report.downloads import (
    bias_export,
    confusion_export,
    disparity_export,
    roc_export,
)
from exparity.report.gather import Study
from exparity.report.means import MEANS, MeanLine
from exparity.report.provenance import ArtefactOrigin, read_origins
from exparity.report.quality import QualityTable, quality_tables
from exparity.report.reading import read_analysis, read_costs
from exparity.report.scores import Scores, read_study_scores
from exparity.report.tables import Table, disparity_tables
from exparity.report.verdicts import is_random


@dataclass(frozen=True)
class Content:
    """Content of a section.

    Attributes:
        values: variables of its template, beside ``study``.
        data: input of its script, in mappings, sequences, text and numbers; None without a script.
            NaN becomes ``null``, infinity the text ``inf`` or ``-inf``.
        unfolded: whether it is open when the page loads.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    data: Any = None
    unfolded: bool = False


@dataclass(frozen=True)
class Section:
    """One section.

    Attributes:
        id: its anchor.
        title: its heading.
        build: returns its content, or None to leave the section out.
        script: file under ``assets`` that makes it interactive, if any.
        template: text of its template; ``templates/sections/{id}.html.j2`` if None.
    """

    id: str
    title: str
    build: Callable[[Context], Content | None]
    script: str | None = None
    template: str | None = None


@dataclass(frozen=True)
class Context:
    """A study, its tables and all other data of its page."""

    study: Study
    folder: Path
    tables: Sequence[Table]
    bias_tables: Sequence[BiasTable]
    causal_tables: Sequence[BiasTable]
    quality_tables: Sequence[QualityTable]
    published: Mapping[str, Comparison]
    scores: Scores
    origins: Sequence[ArtefactOrigin]
    costs: list[JobCost]
    exports: Sequence[Export]
    sections: Sequence[Section]


def build_context(
    study: Study,
    folder: Path,
    published: Mapping[str, Comparison] | None = None,
) -> Context:
    """Read all data of the page beside the tests."""
    scores = read_study_scores(study)
    tables = disparity_tables(study)
    means = [line for line in scores.means if line.method]
    judged = [row for row in study.judged if not is_random(row)]
    bias, causal = bias_tables(study), bias_tables(study, "causal_bias")
    quality = quality_tables(study)
    analyses = list(reported(study))
    costs = read_costs(study.results)
    exports = [
        *(disparity_export(study, table) for table in tables),
        Export("verdicts", "Verdicts", schema_of("verdicts"), judged),
        *(bias_export(study, table) for table in (*bias, *causal)),
        *(confusion_export(study, table) for table in quality),
        *(roc_export(study, table) for table in quality),
        Export.of("cost", "Time and memory by stage", Total, totals(costs) if costs else ()),
        Export.of(MEANS, "Means of the scores", MeanLine, means),
        *(table for one in (published or {}).values() for table in comparison_tables(one)),
        *(table for _, findings in analyses for table in findings.tables),
    ]
    return Context(
        study=study,
        folder=folder,
        tables=tables,
        bias_tables=bias,
        causal_tables=causal,
        quality_tables=quality,
        published=published or {},
        scores=scores,
        origins=read_origins(study.results, study.options),
        costs=costs,
        sections=[section_of(entry, findings) for entry, findings in analyses],
        exports=[export for export in exports if export.rows],
    )


def reported(study: Study) -> Iterator[tuple[Entry[AnalysisFacts], Findings]]:
    """Yield the analyses of a config and their findings, without those that found nothing."""
    for name in study.options.get("analyses", {}):
        entry = ANALYSES.get(name)
        if entry.facts.section is None:
            continue
        rows = read_analysis(study.results, study.options, name)
        if not rows:
            continue
        with entry.running():
            findings = entry.facts.section(rows, study)
        if findings is not None:
            yield entry, findings


def section_of(entry: Entry[AnalysisFacts], findings: Findings) -> Section:
    """Return the section of an analysis."""
    text = entry.facts.template
    if text.endswith(".j2"):
        text = (entry.source.parent / text).read_text(encoding="utf-8")
    content = Content(findings.values)
    return Section(entry.id, entry.display, lambda _: content, template=text)
