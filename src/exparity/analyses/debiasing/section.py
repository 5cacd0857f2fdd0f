"""Change of gaps under debiasing over all trainings, beside what changed in the classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from exparity.analyses.debiasing.changes import (
    KINDS,
    Change,
    ChangeCorrelation,
    ClassifierChange,
    Rows,
    change_tables,
)
from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export

if TYPE_CHECKING:
    from exparity.report.gather import Study


def findings(rows: Rows, study: Study, options: Mapping[str, Any]) -> Findings:
    """Return what the report says: changes, verdicts, classifiers and correlations."""
    tables = change_tables(rows, study)
    title = "Change of gaps under debiasing"
    changes = [
        change for table in tables for of in (table.cells, table.excess) for change in of.values()
    ]
    classifiers = [one for table in tables for one in table.classifiers]
    correlations = [one for table in tables for one in table.correlations.values()]
    return Findings(
        {"change_tables": tables, "kinds": KINDS},
        [
            Export.of("debiasing", title, Change, changes),
            Export.of(
                "debiased_classifiers", "Debiased classifiers", ClassifierChange, classifiers
            ),
            Export.of(
                "debiasing_correlations",
                "Changes of explanations' gaps and of classifiers' gaps",
                ChangeCorrelation,
                [one for one in correlations if one.n],
            ),
        ],
    )
