"""Gaps of a bag of words by the weight of words (Chen et al. 2024, figures 3 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row
from exparity.artefacts.schemas import schema_of
from exparity.core.grouping import grouped
from exparity.report.gather import Study

NONE = "none"
"""No debiasing."""
ALL_GROUPS = "all"
"""The words of every group are scaled together."""


def probes(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Arrange the term_weight_probe artefact: ``levels`` are quantities over classes by weight."""
    place = itemgetter("dataset", "debias", "terms", "weight")
    accuracy = {place(row): row["value"] for row in rows if row["quantity"] == "accuracy"}
    names = ("dataset", "debias", "terms", "group", "group_b")
    over_classes = (r for r in rows if r["quantity"] != "accuracy" and not r["class_name"])
    arranged = []
    for key, part in grouped(over_classes, itemgetter(*names)).items():
        levels = {
            weight: {
                "accuracy": accuracy[place(gaps[0])],
                **{gap["quantity"]: gap["value"] for gap in gaps},
            }
            for weight, gaps in sorted(grouped(part, itemgetter("weight")).items())
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
