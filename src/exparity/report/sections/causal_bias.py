"""Statistical beside causal bias: class by class, over classes, and predictions that change."""

from __future__ import annotations

from typing import Any

from exparity.report.bias import RATES
from exparity.report.causal import KINDS, class_gaps, overviews
from exparity.report.context import Content, Context


def build(context: Context) -> Content | None:
    """Return what the section shows; None without counterfactuals."""
    study, tables = context.study, context.causal_tables
    if not tables:
        return None
    datasets = [table.dataset for table in tables]
    gaps = class_gaps(study.bias, datasets)
    return Content(
        values={
            "bias_tables": tables,
            "overviews": {table.dataset: overviews(table) for table in tables},
            "kinds": list(KINDS),
            "rates": RATES,
            "texts": {dataset: _texts(context, dataset) for dataset in datasets},
        },
        data={
            "rates": RATES,
            "charts": [
                {
                    "dataset": table.dataset,
                    "groups": list(groups),
                    "models": list(table.models),
                    "classes": list(study.declared(table.dataset).classes),
                    "gaps": [
                        {**vars(gap), "groups": None}
                        for gap in gaps
                        if (gap.dataset, gap.groups) == (table.dataset, groups)
                    ],
                }
                for table in tables
                for groups in dict.fromkeys(o.groups for o in overviews(table))
            ],
        },
    )


def _texts(context: Context, dataset: str) -> dict[str, Any]:
    """Return how many counterfactuals a test split has, and in how many nothing changes."""
    for origin in context.origins:
        if origin.artefact == "bias" and origin.ids["dataset"] == dataset:
            notes = origin.facts.get("notes", {})
            if "counterfactuals" in notes:
                return dict(notes)
    return {}
