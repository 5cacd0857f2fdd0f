"""Gaps of a bag of words by the weight of the groups' words (Chen et al. 2024, figure 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.artefacts.schemas import schema_of

if TYPE_CHECKING:
    from exparity.report.gather import Study

Rows = Sequence[Mapping[str, Any]]
NONE = "none"
"""No debiasing."""


@dataclass(frozen=True)
class Probe:
    """A bag of words trained on one form of a dataset.

    Attributes:
        levels: by weight, the entries of the table: quantities over classes.
    """

    dataset: str
    debias: str
    group_a: str
    group_b: str
    levels: Mapping[float, Mapping[str, float]]


def probes(rows: Rows) -> list[Probe]:
    """Arrange the term_weight_probe artefact."""
    accuracy: dict[tuple[str, str, float], float] = {}
    grouped: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["quantity"] == "accuracy":
            accuracy[row["dataset"], row["debias"], row["weight"]] = row["value"]
        else:
            key = row["dataset"], row["debias"], row["group"], row["group_b"]
            grouped[key].append(row)
    arranged = []
    for (dataset, debias, a, b), part in grouped.items():
        levels: dict[float, dict[str, float]] = {
            weight: {"accuracy": accuracy[dataset, debias, weight]}
            for weight in sorted({row["weight"] for row in part})
        }
        for row in part:
            if row["class_name"] == "":
                levels[row["weight"]][row["quantity"]] = row["value"]
        arranged.append(Probe(dataset, debias, a, b, levels))
    return arranged


def findings(rows: Rows, study: Study, options: Mapping[str, Any]) -> Findings:
    """Return what the report says: gaps by weight, by class and over classes."""
    title = "Gaps of a bag of words by the weight of the groups' words"
    return Findings(
        {"probes": probes(rows)},
        [Export("term_weight_probe", title, schema_of("term_weight_probe"), list(rows))],
    )
