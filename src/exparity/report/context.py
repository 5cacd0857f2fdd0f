"""The study as its page shows it, and the sections of the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ANALYSES, AnalysisFacts, Findings
from exparity.artefacts.columns import Export
from exparity.artefacts.schemas import schema_of
from exparity.core.registry import Entry
from exparity.costs.finished import JobCost
from exparity.costs.forecast import Total, totals
from exparity.published.cells import compare_results
from exparity.published.gaps import compare_gaps
from exparity.published.output import Comparison, comparison_tables
from exparity.published.study import KINDS
from exparity.report.bias import BiasTable, bias_tables
from exparity.report.class_gaps import ClassGap, class_gaps
from exparity.report.downloads import (
    bias_export,
    confusion_export,
    disparity_export,
    roc_export,
    verdicts_export,
)
from exparity.report.failures import Failures
from exparity.report.gather import Study
from exparity.report.means import MEANS, MeanLine
from exparity.report.paragraph import paragraph_of
from exparity.report.provenance import ArtefactOrigin, read_origins
from exparity.report.quality import QualityTable, quality_tables
from exparity.report.reading import read_analysis, read_costs
from exparity.report.scores import Scores, read_study_scores
from exparity.report.tables import Table, disparity_tables
from exparity.report.written import WRITTEN, WrittenLine, written_lines

_WORDS = frozenset(("text", "token", "tokens", "word", "word_a", "word_b", "words"))
"""Columns of texts, and of words of them."""


@dataclass(frozen=True)
class Content:
    """Content of a section.

    Attributes:
        values: variables of its template, beside ``study``.
        data: input of its script, in mappings, sequences, text and numbers; None without a script.
            NaN becomes ``null``, infinity the text ``inf`` or ``-inf``.
        unfolded: whether it is open when the page loads.
    """

    values: Mapping[str, object] = field(default_factory=dict)
    data: object = None
    unfolded: bool = False


@dataclass(frozen=True)
class Section:
    """One section.

    Attributes:
        id: its anchor.
        title: its heading.
        build: returns its content, or None to leave the section out.
        script: file under ``assets`` that makes it interactive, if any.
        template: returns the text of its template, that of ``templates/sections/{id}.html.j2`` if
            None.
        shows_texts: whether texts, or words of them, are among its content.
    """

    id: str
    title: str
    build: Callable[[Context], Content | None]
    script: str | None = None
    template: Callable[[], str] | None = None
    shows_texts: bool = False


@dataclass(frozen=True)
class Context:
    """A study, and all other data of its page.

    Without texts, sections and tables that show texts, or words of them, are left out.

    Each part is read where it is used first, so that an error in it fails the sections, tables and
    figures alone that need it.
    """

    study: Study
    folder: Path
    failures: Failures = field(default_factory=Failures)
    with_texts: bool = True

    @cached_property
    def scores(self) -> Scores:
        """Scores of the grid, summarised."""
        return read_study_scores(self.study)

    @cached_property
    def tables(self) -> Sequence[Table]:
        """Disparity tables."""
        return disparity_tables(self.study)

    @cached_property
    def bias_tables(self) -> Sequence[BiasTable]:
        """Tables of model bias."""
        return bias_tables(self.study)

    @cached_property
    def causal_tables(self) -> Sequence[BiasTable]:
        """Tables of causal bias."""
        return bias_tables(self.study, "causal_bias")

    @cached_property
    def class_gaps(self) -> Sequence[ClassGap]:
        """Statistical and causal gaps of every class."""
        return class_gaps(self.study, self.published)

    @cached_property
    def quality_tables(self) -> Sequence[QualityTable]:
        """Tables of the quality of classifiers."""
        return quality_tables(self.study)

    @cached_property
    def written(self) -> Sequence[WrittenLine]:
        """What models wrote to explain themselves, by group."""
        return written_lines(self.study)

    @cached_property
    def published(self) -> Mapping[str, Comparison]:
        """Results beside published ones, by kind of study; none if nothing is published."""
        study = self.study
        runs = {(*pair, str(seed)) for pair in study.pairs for seed in study.seeds}
        comparisons: dict[str, Comparison] = {}
        for name, kind in KINDS.items():
            if kind == "cells":
                cells = compare_results(study.rows, study.grid, study=name)
                comparisons |= {kind: cells} if cells.matches else {}
            elif kind == "gaps":
                gaps = compare_gaps(study.results, name, {}, runs)
                comparisons |= {kind: gaps} if gaps.gaps else {}
        return comparisons

    @cached_property
    def origins(self) -> Sequence[ArtefactOrigin]:
        """Provenance of the artefacts."""
        return read_origins(self.study.results, self.study.grid)

    @cached_property
    def costs(self) -> list[JobCost]:
        """Costs of the jobs."""
        return read_costs(self.study.results)

    @cached_property
    def analyses(self) -> Sequence[Entry[AnalysisFacts]]:
        """The analyses of the config that have a section."""
        entries = map(ANALYSES.get, self.study.grid.analyses)
        return [entry for entry in entries if entry.facts.section is not None]

    @cached_property
    def exports(self) -> Sequence[Export]:
        """Tables to download that have rows, without those that failed."""
        exports: list[Export] = []
        makers: dict[str, Callable[[], Iterable[Export]]] = {
            "disparity": self._disparity_exports,
            "verdicts": self._verdicts_exports,
            "levels": self._levels_exports,
            "bias": self._bias_exports,
            "causal bias": self._causal_bias_exports,
            "gaps of classes": self._class_gaps_exports,
            "confusion matrices": self._confusion_exports,
            "ROC curves": self._roc_exports,
            "cost": self._cost_exports,
            MEANS: self._means_exports,
            WRITTEN: self._written_exports,
            "published": self._published_exports,
            **{entry.id: partial(self._exports_of, entry) for entry in self.analyses},
        }
        for name, make in makers.items():
            with self.failures.caught(f"Tables, {name}"):
                exports += [export for export in make() if export.rows]
        return [export for export in exports if self.with_texts or not names_words(export)]

    @cached_property
    def paragraph(self) -> Sequence[str]:
        """Sentences for a paper; none where no groups are compared."""
        return paragraph_of(self.study)

    def _disparity_exports(self) -> list[Export]:
        return [disparity_export(self.study, table) for table in self.tables]

    def _verdicts_exports(self) -> list[Export]:
        return [verdicts_export(self.study)]

    def _levels_exports(self) -> list[Export]:
        rows = [*map(vars, self.study.levels)]
        return [Export("levels", "Levels of each group", schema_of("levels"), rows)]

    def _bias_exports(self) -> list[Export]:
        return [bias_export(self.study, table) for table in self.bias_tables]

    def _causal_bias_exports(self) -> list[Export]:
        return [bias_export(self.study, table) for table in self.causal_tables]

    def _class_gaps_exports(self) -> list[Export]:
        title = "Statistical and causal gaps of each class"
        return [Export.of("class_gaps", title, ClassGap, self.class_gaps)]

    def _confusion_exports(self) -> list[Export]:
        return [confusion_export(self.study, table) for table in self.quality_tables]

    def _roc_exports(self) -> list[Export]:
        return [roc_export(self.study, table) for table in self.quality_tables]

    def _cost_exports(self) -> list[Export]:
        rows = totals(self.costs) if self.costs else ()
        return [Export.of("cost", "Time and memory by stage", Total, rows)]

    def _means_exports(self) -> list[Export]:
        means = [line for line in self.scores.means if line.method]
        return [Export.of(MEANS, "Means of the scores", MeanLine, means)]

    def _written_exports(self) -> list[Export]:
        title = "Answers of self-explanations, by group"
        return [Export.of(WRITTEN, title, WrittenLine, self.written)]

    def _published_exports(self) -> Iterable[Export]:
        return chain.from_iterable(map(comparison_tables, self.published.values()))

    def _exports_of(self, entry: Entry[AnalysisFacts]) -> Sequence[Export]:
        findings = self.findings(entry)
        return findings.tables if findings is not None else ()

    def findings(self, entry: Entry[AnalysisFacts]) -> Findings | None:
        """Return what an analysis found; None if it found nothing."""
        if entry.id not in self._findings:
            self._findings[entry.id] = findings_of(entry, self.study)
        return self._findings[entry.id]

    def found_by(self, analysis: str) -> Mapping[str, Any]:
        """Return what an analysis found, by name; nothing if it was not run or found nothing."""
        entries = (entry for entry in self.analyses if entry.id == analysis)
        findings = next(map(self.findings, entries), None)
        return {} if findings is None else findings.values

    @cached_property
    def _findings(self) -> dict[str, Findings | None]:
        return {}


def names_words(export: Export) -> bool:
    """Return whether a table has words of the texts, by the names of its columns."""
    return bool(_WORDS & {*export.schema.names})


def findings_of(entry: Entry[AnalysisFacts], study: Study) -> Findings | None:
    """Return what an analysis found; None if it found nothing, or has no section."""
    rows = read_analysis(study.results, study.grid, entry.id)
    if not rows or entry.facts.section is None:
        return None
    with entry.running():
        return entry.facts.section(rows, study)


def section_of(entry: Entry[AnalysisFacts]) -> Section:
    """Return the section of an analysis."""

    def build(context: Context) -> Content | None:
        findings = context.findings(entry)
        if findings is None:
            return None
        if not context.with_texts and any(map(names_words, findings.tables)):
            return None
        return Content(findings.values)

    return Section(entry.id, entry.display, build, template=partial(template_text, entry))


def template_text(entry: Entry[AnalysisFacts]) -> str:
    """Return the template of an analysis's section."""
    text = entry.facts.template
    if text.endswith(".j2"):
        return (entry.source.parent / text).read_text(encoding="utf-8")
    return text
