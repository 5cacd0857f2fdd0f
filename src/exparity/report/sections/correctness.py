"""Correctness: do explanations point at the words that carry the label?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exparity.report.analyses.correctness import correctness_tables, published_claims
from exparity.report.analyses.gecobench import (
    REFERENCE,
    accuracies,
    model_bias,
    schemes_of,
)
from exparity.report.analyses.reading import mean_and_sd, read_analysis
from exparity.report.context import Context
from exparity.report.flags import ROUNDING_NOISE, meaning_of, noise_of
from exparity.report.sections.section import Content, Section

_MEASURES = {
    "tpr": "True positive rate",
    "tnr": "True negative rate",
    "apd": "Average prediction difference",
}


def _build(context: Context) -> Content | None:
    rows = read_analysis(context.results, context.options, "correctness")
    if not rows:
        return None
    study = context.study
    tables = correctness_tables(rows)
    schemes = schemes_of(context.options)
    return Content(
        {
            "correctness": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
            "subsets": {"all": "all", "correct": "correct", "correct_sets": "sets all correct"},
            "claims": published_claims(
                tables, schemes, study.datasets, study.methods, study.metrics
            ),
            "classifiers": _classifiers(context, schemes),
            "reference": REFERENCE,
        }
    )


def _classifiers(context: Context, schemes: dict[str, str]) -> list[dict[str, Any]]:
    """Return accuracy and bias of our training schemes beside the published ones."""
    study = context.study
    found = []
    for dataset, model in study.pairs:
        key = schemes.get(model, ""), study.datasets[dataset]
        if key not in accuracies():
            continue
        ours = [a.overall for a in study.accuracies if (a.dataset, a.model) == (dataset, model)]
        lines = [("Accuracy", mean_and_sd(ours), accuracies()[key])]
        for measure, name in _MEASURES.items():
            values = [
                row["value"]
                for row in study.bias.rows
                if (row["dataset"], row["model"], row["quantity"]) == (dataset, model, measure)
                and _is_published(row, study.declared(dataset).classes[1])
            ]
            lines.append((name, mean_and_sd(values), model_bias()[(*key, measure)]))
        found.append({"dataset": dataset, "model": model, "scheme": key[0], "lines": lines})
    return found


def _is_published(row: Mapping[str, Any], positive: str) -> bool:
    """Tell rates of the positive class over all groups, and distances of the true class."""
    if row["quantity"] == "apd":
        return bool(row["class_name"] == "")
    return bool(row["group"] == "" and row["class_name"] == positive)


SECTION = Section("correctness", "Correctness", _build)
