"""Gaps of a bag of words by the weight of the groups' words (Chen et al. 2024, figure 3)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export

if TYPE_CHECKING:
    from exparity.report.gather import Study

Rows = Sequence[Mapping[str, Any]]
BOTH, NONE = "both", "none"
"""The words of all groups; no debiasing."""
WIDTH, HEIGHT = 300, 170
"""Of a panel, without its margins."""
_PANELS = {
    "tpr_gap": "Statistical: between the groups' texts",
    "causal_tpr_gap": "Causal: between versions of a text",
}
_COLUMNS = pa.schema(
    {
        **dict.fromkeys(("dataset", "debias", "terms"), pa.string()),
        "weight": pa.float64(),
        **dict.fromkeys(("quantity", "group", "group_b", "class_name"), pa.string()),
        "value": pa.float64(),
        "n": pa.int64(),
    }.items()
)


@dataclass(frozen=True)
class GapPanel:
    """Lines of one gap by weight, in the units of the drawing; y grows downwards.

    Attributes:
        title: what the gap is.
        lines: by class, its points as an SVG polyline has them.
        weights: (x, weight) of the ticks.
        gaps: (y, gap) of the ticks.
    """

    title: str
    lines: Mapping[str, str]
    weights: Sequence[tuple[float, float]]
    gaps: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Probe:
    """A bag of words trained on one form of a dataset, with the words of all groups scaled.

    Attributes:
        panels: the gap of true positive rates between groups, and between versions of a text.
        levels: by weight, the entries of the table: quantities over classes.
    """

    dataset: str
    debias: str
    group_a: str
    group_b: str
    panels: Sequence[GapPanel]
    levels: Mapping[float, Mapping[str, float]]


def probes(rows: Rows) -> list[Probe]:
    """Arrange the term_weight_probe artefact; words of single groups are in the download alone."""
    accuracy: dict[tuple[str, str, float], float] = {}
    grouped: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["terms"] == BOTH and row["quantity"] == "accuracy":
            accuracy[row["dataset"], row["debias"], row["weight"]] = row["value"]
        elif row["terms"] == BOTH:
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
        arranged.append(Probe(dataset, debias, a, b, _panels(part), levels))
    return arranged


def _panels(rows: Rows) -> list[GapPanel]:
    gaps: dict[str, dict[str, dict[float, float]]] = {name: {} for name in _PANELS}
    for row in rows:
        if row["quantity"] in gaps and row["value"] == row["value"]:
            of_class = gaps[row["quantity"]].setdefault(row["class_name"], {})
            of_class[row["weight"]] = row["value"]
    defined = [gap for of in gaps.values() for line in of.values() for gap in line.values()]
    # Both panels have one scale, so that they can be compared.
    end = max(0.1, math.ceil(10 * max(map(abs, defined), default=0.0)) / 10)
    weights = sorted({row["weight"] for row in rows})
    return [_panel(title, gaps[name], weights, end) for name, title in _PANELS.items()]


def _panel(
    title: str, gaps: Mapping[str, Mapping[float, float]], weights: Sequence[float], end: float
) -> GapPanel:
    span = weights[-1] - weights[0] or 1.0

    def x(weight: float) -> float:
        return round(WIDTH * (weight - weights[0]) / span, 1)

    def y(gap: float) -> float:
        return round(HEIGHT * (end - gap) / (2 * end), 1)

    return GapPanel(
        title,
        lines={
            name: " ".join(f"{x(weight)},{y(gap)}" for weight, gap in sorted(line.items()))
            for name, line in gaps.items()
        },
        weights=[(x(weight), weight) for weight in weights],
        gaps=[(y(gap), gap) for gap in (-end, 0.0, end)],
    )


def findings(rows: Rows, study: Study, options: Mapping[str, Any]) -> Findings:
    """Return what the report says: gaps by weight, by class and over classes."""
    title = "Gaps of a bag of words by the weight of the groups' words"
    return Findings(
        {"probes": probes(rows), "none": NONE, "width": WIDTH, "height": HEIGHT},
        [Export("term_weight_probe", title, _COLUMNS, list(rows))],
    )
