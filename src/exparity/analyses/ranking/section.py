"""The section on which method to use."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.report.gather import Study
from exparity.report.ranking import of_page, rankings_of


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was compared."""
    shown = of_page(rows, study)
    if not shown:
        return None
    export = Export("methods", "Methods, two at a time", schema_of("ranking"), shown)
    return Findings({"rankings": rankings_of(shown, study)}, [export])
