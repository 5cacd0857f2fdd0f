"""The section on remedies, and the sentence on what to do."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.report.gather import Study
from exparity.report.remedies import remedy_lines, remedy_sentences


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where there was nothing to try."""
    # A page may be of a part of the grid.
    shown = [
        row
        for row in rows
        if row["metric"] in study.metrics
        and {row["method"], row["replacement"]} <= {*study.methods}
    ]
    if not shown:
        return None
    values = {"lines": remedy_lines(shown, study), "sentences": remedy_sentences(shown, study)}
    export = Export("remedies", "Remedies", schema_of("remedies"), shown)
    return Findings(values, [export])
