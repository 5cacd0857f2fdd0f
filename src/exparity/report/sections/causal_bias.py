"""Statistical beside causal bias: class by class, over classes, and predictions that change.

Set side by side as by Chen, Ji and Evans (2024).
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from exparity.core.grouping import grouped
from exparity.report.bias import RATES, BiasTable, ModelBias
from exparity.report.context import Content, Context

KINDS = {"statistical": "", "causal": "causal_"}
"""What a gap compares: examples of two groups, or the same examples; and how its id starts."""
_RATE_OF = {f"{start}{rate}_gap": (kind, rate) for kind, start in KINDS.items() for rate in RATES}


def build(context: Context) -> Content | None:
    """Return what the section shows; None without counterfactuals."""
    tables, bias = context.causal_tables, context.study.bias
    if not tables:
        return None
    return Content(
        values={
            "bias_tables": tables,
            "kinds": KINDS,
            "rates": RATES,
            "texts": {table.dataset: _texts(context, table.dataset) for table in tables},
        },
        data={
            "rates": RATES,
            "charts": [
                {
                    "dataset": table.dataset,
                    "groups": list(groups),
                    "models": list(table.models),
                    "classes": list(bias.declared[table.dataset].classes),
                    "gaps": class_gaps(bias, table, groups),
                }
                for table in tables
                for groups in table.pairs
            ],
        },
    )


def class_gaps(bias: ModelBias, table: BiasTable, groups: tuple[str, str]) -> list[dict[str, Any]]:
    """Return mean, smallest and largest gap of every class over seeds, sorted as declared."""
    rows = (
        row
        for row in bias.rows
        if (row["dataset"], row["group"], row["group_b"]) == (table.dataset, *groups)
        and row["quantity"] in _RATE_OF
        and row["value"] == row["value"]
    )
    gaps = []
    for (quantity, model, name), of in grouped(
        rows, itemgetter("quantity", "model", "class_name")
    ).items():
        kind, rate = _RATE_OF[quantity]
        values = [row["value"] for row in of]
        ends = {"mean": sum(values) / len(values), "low": min(values), "high": max(values)}
        gaps.append({"model": model, "class_name": name, "rate": rate, "kind": kind, **ends})
    rates, classes = [*RATES], bias.declared[table.dataset].classes
    return sorted(gaps, key=lambda g: (rates.index(g["rate"]), classes.index(g["class_name"])))


def _texts(context: Context, dataset: str) -> dict[str, Any]:
    """Return how many counterfactuals a test split has, and in how many nothing changes."""
    for origin in context.origins:
        if origin.artefact == "bias" and origin.ids["dataset"] == dataset:
            notes = origin.facts.get("notes", {})
            if "counterfactuals" in notes:
                return dict(notes)
    return {}
