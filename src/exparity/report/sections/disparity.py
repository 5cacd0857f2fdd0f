"""The disparity table, and every test behind its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate, product
from typing import Any

from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.tables import Table
from exparity.stats.seeds import count_seeds

CORRECTIONS = {"raw": "significant", "holm": "significant_holm", "bh": "significant_bh"}
_COLUMNS = (
    "seed",
    "n_a",
    "n_b",
    "mean_a",
    "mean_b",
    "sd_a",
    "sd_b",
    "mean_difference",
    "U",
    "p",
    "p_holm",
    "p_bh",
    "significant",
    "significant_holm",
    "significant_bh",
    "cohens_d",
    "d_ci_low",
    "d_ci_high",
    "considerable",
    "rank_biserial",
    "n_pairs",
    "wilcoxon_p",
    "d_z",
    "n_undefined",
    "n_examples",
    "test_accuracy",
    "flags",
    "omnibus_p",
    "friedman_p",
)


def cell_data(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row.
    """
    cells: dict[str, list[Any]] = defaultdict(list)
    tests: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    for number, table in enumerate(tables):
        for key in product(table.models, table.methods, table.metrics):
            rows, summary = table.tests[key], table.cells[key].summary
            cells["table"].append(number)
            for kind, id in zip(("model", "method", "metric"), key, strict=True):
                cells[kind].append(id)
            cells["start"].append(len(tests["seed"]))
            cells["combined_p"].append(summary.combined_p)
            cells["mean_d"].append(summary.mean_d)
            cells["same_sign"].append(summary.same_sign)
            for name, column in CORRECTIONS.items():
                counts = count_seeds(rows, study.statistics["threshold"], column)
                cells[name].append(
                    [counts.significant, counts.mean_d, counts.direction, counts.considerable]
                )
            for name, values in tests.items():
                values += [row[name] for row in rows]
    cells["start"].append(len(tests["seed"]))
    return {"cells": cells, "tests": tests}


def build(context: Context) -> Content:
    """Return what the section shows."""
    study, tables = context.study, context.tables
    metrics = {id: study.metric_facts(id) for id in study.metrics}
    sizes = [len(table.models) * len(table.methods) * len(table.metrics) for table in tables]
    return Content(
        values={
            "tables": tables,
            "firsts": [0, *accumulate(sizes)],
            "models": list(dict.fromkeys(model for _, model in study.pairs)),
            "kinds": list(dict.fromkeys(facts.kind for facts in metrics.values())),
        },
        data={
            **cell_data(study, tables),
            "tables": [
                {
                    "dataset": table.dataset,
                    "name": study.display("dataset", table.dataset),
                    "a": table.group_a,
                    "b": table.group_b,
                }
                for table in tables
            ],
            "methods": {id: study.display("method", id) for id in study.methods},
            "metrics": {
                id: {
                    "name": study.display("metric", id),
                    **{name: getattr(facts, name) for name in ("direction", "kind", "unit")},
                }
                for id, facts in metrics.items()
            },
            **{name: study.statistics[name] for name in ("alpha", "threshold", "confidence")},
        },
    )
