"""The section on remedies, and the sentence on what to do."""

from __future__ import annotations

from collections.abc import Sequence

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.report.gather import Study
from exparity.report.remedies import (
    Tried,
    remedy_lines,
    remedy_sentences,
    temperature_lines,
    tried_in,
)


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where there was nothing to try."""
    several = zip(rows, tried_in(rows), strict=True)
    shown = [(row, tried) for row, tried in several if _is_shown(tried, study)]
    if not shown:
        return None
    remedies = [tried for _, tried in shown]
    values = {
        "lines": remedy_lines(remedies, study),
        "sentences": remedy_sentences(remedies, study),
        "temperatures": temperature_lines(remedies, study),
    }
    export = Export("remedies", "Remedies", schema_of("remedies"), [row for row, _ in shown])
    return Findings(values, [export])


def _is_shown(tried: Tried, study: Study) -> bool:
    """Return whether a page, which may be of a part of the grid, has all that a remedy names."""
    methods = {tried.remedy.method, *tried.methods_after}
    is_there = tried.models <= {*study.models.get(tried.on.dataset, ())} and methods <= {
        *study.methods
    }
    return is_there and tried.on.metric in study.metrics
