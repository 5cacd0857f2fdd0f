"""Gaps of classifiers by a number of the data (Chen et al. 2024, figure 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.artefacts.schemas import schema_of
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd

SHOWN = ("selection_rate_gap", "causal_selection_rate_gap", "tpr_gap", "causal_tpr_gap")
"""The quantities of the page and the figure, statistical and causal in turn."""


@dataclass(frozen=True)
class RangeLine:
    """Gaps of one model and class in one range, means over seeds; None where undefined."""

    dataset: str
    model: str
    groups: str
    class_name: str
    by: str
    low: float
    high: float
    n: int
    means: dict[str, float | None]


@dataclass(frozen=True)
class _Gap:
    """A gap of a training among the texts of one range."""

    dataset: str
    model: str
    group: str
    group_b: str
    class_name: str
    by: str
    low: float
    high: float
    quantity: str
    n: int
    value: float


def range_lines(rows: Sequence[Row], study: Study) -> list[RangeLine]:
    """Return the lines of the table; of two classes those of the second."""
    names = ("dataset", "model", "group", "group_b", "class_name", "by", "low", "high")
    lines = []
    gaps = (gap for gap in records(_Gap, rows) if gap.quantity in SHOWN)
    for key, cell in grouped(gaps, attrgetter(*names)).items():
        dataset, model, group, group_b, class_name, by, low, high = key
        classes = study.declared(dataset).classes
        if len(classes) == 2 and class_name == classes[0]:
            continue
        by_quantity = grouped(cell, attrgetter("quantity"))
        means = {quantity: _mean(by_quantity.get(quantity, ())) for quantity in SHOWN}
        n = max(gap.n for gap in by_quantity.get("selection_rate_gap", cell))
        lines.append(
            RangeLine(dataset, model, f"{group} − {group_b}", class_name, by, low, high, n, means)
        )
    return lines


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: gaps by range, model and class."""
    title = "Gaps of classifiers by an attribute of the data"
    export = Export("gap_by_attribute", title, schema_of("gap_by_attribute"), list(rows))
    return Findings({"lines": range_lines(rows, study), "shown": SHOWN}, [export])


def _mean(gaps: Sequence[_Gap]) -> float | None:
    return mean_and_sd([gap.value for gap in gaps if gap.value == gap.value])[0]
