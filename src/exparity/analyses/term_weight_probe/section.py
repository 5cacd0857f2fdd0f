"""Gaps of a bag of words by the weight of words (Chen et al. 2024, figures 3 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.artefacts.schemas import schema_of
from exparity.core.grouping import grouped
from exparity.report.gather import Study

NONE = "none"
"""No debiasing."""
ALL_GROUPS = "all"
"""The words of every group are scaled together."""


@dataclass(frozen=True)
class _Probed:
    """A quantity of a bag of words at a weight."""

    dataset: str
    debias: str
    terms: str
    weight: float
    quantity: str
    class_name: str
    group: str
    group_b: str
    value: float


def probes(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Arrange the term_weight_probe artefact: ``levels`` are quantities over classes by weight."""
    place = attrgetter("dataset", "debias", "terms", "weight")
    probed = records(_Probed, rows)
    accuracy = {place(row): row.value for row in probed if row.quantity == "accuracy"}
    names = ("dataset", "debias", "terms", "group", "group_b")
    over_classes = (row for row in probed if row.quantity != "accuracy" and not row.class_name)
    arranged = []
    for key, part in grouped(over_classes, attrgetter(*names)).items():
        levels = {
            weight: {
                "accuracy": accuracy[place(gaps[0])],
                **{gap.quantity: gap.value for gap in gaps},
            }
            for weight, gaps in sorted(grouped(part, attrgetter("weight")).items())
        }
        arranged.append({**dict(zip(names, key, strict=True)), "levels": levels})
    return arranged


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: gaps by weight, by class and over classes."""
    title = "Gaps of a bag of words by the weight of the groups' words"
    return Findings(
        {"probes": probes(rows)},
        [Export("term_weight_probe", title, schema_of("term_weight_probe"), list(rows))],
    )
