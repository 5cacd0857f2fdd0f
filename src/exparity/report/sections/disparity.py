"""The disparity table, and every test behind its cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exparity.report.context import Content, Context, Section
from exparity.report.gather import Study
from exparity.report.tables import Table
from exparity.stats.seeds import count_seeds

CORRECTIONS = {"raw": "significant", "holm": "significant_holm", "bh": "significant_bh"}
_COLUMNS = (
    "seed", "n_a", "n_b", "mean_a", "mean_b", "sd_a", "sd_b", "mean_difference", "U", "p",
    "p_holm", "p_bh", "significant", "significant_holm", "significant_bh", "cohens_d", "d_ci_low",
    "d_ci_high", "considerable", "rank_biserial", "n_pairs", "wilcoxon_p", "d_z", "n_undefined",
    "n_examples", "test_accuracy", "flags", "omnibus_p", "friedman_p",
)  # fmt: skip


def cell_data(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row.
    """
    cells: dict[str, list[Any]] = {
        key: []
        for key in ("table", "model", "method", "metric", "start", "combined_p", "mean_d",
                    "same_sign", *CORRECTIONS)
    }  # fmt: skip
    tests: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    start = 0
    for number, table in enumerate(tables):
        for model, method, row_cells in table.rows():
            for metric, cell in zip(table.metrics, row_cells, strict=True):
                rows = table.tests[model, method, metric]
                for name, value in (
                    ("table", number), ("model", model), ("method", method), ("metric", metric),
                    ("start", start), ("combined_p", cell.summary.combined_p),
                    ("mean_d", cell.summary.mean_d), ("same_sign", cell.summary.same_sign),
                ):  # fmt: skip
                    cells[name].append(value)
                for name, column in CORRECTIONS.items():
                    counts = count_seeds(rows, study.statistics["threshold"], column)
                    cells[name].append(
                        [counts.significant, counts.mean_d, counts.direction, counts.considerable]
                    )
                for name in _COLUMNS:
                    tests[name] += [row[name] for row in rows]
                start += len(rows)
    cells["start"].append(start)
    return {"cells": cells, "tests": tests}


def _build(context: Context) -> Content:
    study, tables = context.study, context.tables
    kinds = list(dict.fromkeys(study.metric_facts(metric).kind for metric in study.metrics))
    firsts, number = [], 0
    for table in tables:
        firsts.append(number)
        number += len(table.models) * len(table.methods) * len(table.metrics)
    return Content(
        values={
            "tables": tables,
            "firsts": firsts,
            "models": list(dict.fromkeys(model for _, model in study.pairs)),
            "kinds": kinds,
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
                    "direction": study.metric_facts(id).direction,
                    "kind": study.metric_facts(id).kind,
                    "unit": study.metric_facts(id).unit,
                }
                for id in study.metrics
            },
            "alpha": study.statistics["alpha"],
            "threshold": study.statistics["threshold"],
            "confidence": study.statistics["confidence"],
        },
    )


SECTION = Section("disparity", "Disparity", _build, script="disparity.js")
