"""What the report says of the analyses that a config asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ANALYSES, AnalysisFacts, Findings
from exparity.artefacts.exports import Export
from exparity.core.errors import InputError
from exparity.core.registry import Entry
from exparity.report.gather import Study
from exparity.report.reading import read_analysis
from exparity.report.sections.section import Content, Section


@dataclass(frozen=True)
class Reported:
    """An analysis and what the report says of it."""

    entry: Entry[AnalysisFacts]
    findings: Findings

    @property
    def section(self) -> Section:
        """Its section of the page.

        Raises:
            InputError: its template is not there.
        """
        text = self.entry.facts.template
        if text.endswith(".j2"):
            path = self.entry.source.parent / text
            if not path.is_file():
                raise InputError(f"analysis '{self.entry.id}': no template {path}")
            text = path.read_text(encoding="utf-8")
        content = Content(self.findings.values)
        return Section(self.entry.id, self.entry.display, lambda _: content, template=text)

    @property
    def exports(self) -> list[Export]:
        """Its tables as they are downloaded."""
        return [table for table in self.findings.tables if table.rows]


def reported(results: Path, study: Study, options: Mapping[str, Any]) -> list[Reported]:
    """Read the analyses of a config, those that have something to say.

    Args:
        results: folder of all results.
        study: the tests and what is needed to read them.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returned.

    Raises:
        InputError: an artefact is missing or damaged.
    """
    analyses: list[Reported] = []
    for name in options.get("analyses", {}):
        entry = ANALYSES.get(name)
        rows: Sequence[Mapping[str, Any]] = read_analysis(results, options, name)
        if entry.facts.section is None or not rows:
            continue
        with entry.running():
            findings = entry.facts.section(rows, study, options)
        if findings is not None:
            analyses.append(Reported(entry, findings))
    return analyses
