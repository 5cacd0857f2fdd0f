"""Change of gaps under debiasing over all trainings, beside what changed in the classifiers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from exparity.analyses.debiasing.changes import (
    KINDS,
    Change,
    ChangeCorrelation,
    ChangeTable,
    ClassifierChange,
    Rows,
    change_tables,
)
from exparity.analyses.debiasing.figure import change_forest
from exparity.artefacts.analyses import Findings, Picture
from exparity.artefacts.exports import Export
from exparity.report.figures.names import names_of

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
        [_picture(table, study, title) for table in tables],
    )


def _picture(table: ChangeTable, study: Study, title: str) -> Picture:
    name = study.display("dataset", table.dataset)
    pair = f"{table.group_a} − {table.group_b}"
    confidence = f"{100 * study.statistics['confidence']:g} %"
    return Picture(
        ("debiasing", table.dataset, table.group_a, table.group_b),
        f"{title}, {name}, {pair}",
        f"{title} on {name}, {pair}: |d| of each model minus that of {table.base}, mean over "
        f"trainings. Mark: a method, filled where the verdict is a gap; line: "
        f"{confidence} interval over trainings and texts. Cross: random explanations. Below zero "
        "the gap is smaller. Last panel: what the same models change in accuracy and in the "
        "statistical and the causal gap of the classifier.",
        change_forest(table, names_of(study)).draw,
    )
