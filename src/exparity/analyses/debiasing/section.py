"""Change of gaps under debiasing over all trainings: the verdicts on it."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Row
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.rows import VerdictRow
from exparity.report.verdicts import judgement_of
from exparity.stages.judge import CHANGES

_QUANTITIES = {change: quantity for quantity, change in CHANGES.items()}


def outcome_of(change: VerdictRow) -> str:
    """Return the verdict on a change, with the direction of a difference."""
    judgement = judgement_of(change)
    if judgement is None:
        return "not tested"
    if judgement.favours:
        return f"{judgement.id}, {'smaller' if change.d < 0 else 'larger'}"
    return judgement.id


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section; its numbers are rows of the verdicts."""
    changes = [row for row in study.judged if row.quantity in _QUANTITIES]
    return Findings(
        {
            "changes": grouped(changes, attrgetter("dataset", "group_a", "group_b")),
            "base": rows[0]["base"],
            "quantities": _QUANTITIES,
            "outcome_of": outcome_of,
        }
    )
