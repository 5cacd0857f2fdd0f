"""The section on which method to use."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.methods.facts import RANDOM
from exparity.report.gather import Study
from exparity.report.ranking import rankings_of


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where nothing was compared."""
    shown = {*study.methods, RANDOM}
    # A page may be of a part of the grid.
    compared = [
        row
        for row in rows
        if row["metric"] in study.metrics and {row["method_a"], row["method_b"]} <= shown
    ]
    if not compared:
        return None
    export = Export("methods", "Methods, two at a time", schema_of("ranking"), compared)
    return Findings({"rankings": rankings_of(compared, study)}, [export])
