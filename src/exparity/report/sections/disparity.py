"""The disparity table, and every test behind its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any

from exparity.core.formats import signed
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.sections.findings import compared_quantity, over_trainings
from exparity.report.tables import PREFIXES, Cell, Row, Table
from exparity.stats.seeds import has_both_signs, mean_effect

NAN = float("nan")
MARGINS_ABOVE = 1000
"""More cells than these are folded below a heat map of their margins."""
TESTS = {"mann_whitney": "p", "signed_rank": "wilcoxon_p"}
"""Tests of single trainings, and their columns."""
CORRECTIONS = {"raw": "", "holm": "_holm", "bh": "_bh"}
"""Corrections, and what they add to the names of columns."""
_VERDICTS = {"raw": "verdict", "holm": "verdict_strict", "bh": "verdict"}
_JUDGED: tuple[str, ...] = (
    *("d", "p_mean", "p_mean_holm", "p_mean_bh", "ci_low", "ci_high", "pooled_sd"),
    *("n_seeds", "n_sets"),
    *("equivalence_p", "minimal_detectable_effect", "minimal_detectable_effect_corrected"),
)
_COLUMNS = (
    *("seed", "n_a", "n_b", "mean_a", "mean_b", "sd_a", "sd_b", "mean_difference", "U"),
    *("p", "p_holm", "p_bh", "significant", "cohens_d", "d_ci_low", "d_ci_high", "rank_biserial"),
    *("n_pairs", "wilcoxon_p", "wilcoxon_p_holm", "wilcoxon_p_bh", "d_z"),
    *("excess_p", "excess_wilcoxon_p", "excess_cohens_d", "excess_d_ci_low", "excess_d_ci_high"),
    *("random_significant", "n_undefined", "n_examples", "test_accuracy", "flags"),
    *("class_adjusted_difference", "class_adjusted_p", "length_adjusted_difference"),
    *("length_adjusted_p", "confidence_adjusted_difference", "confidence_adjusted_p"),
    *("omnibus_p", "friedman_p"),
)


@dataclass(frozen=True)
class View:
    """What the table shows where no script changes it.

    Attributes:
        quantity: of :data:`~exparity.report.tables.PREFIXES`.
        test: ``crossed``, or of :data:`TESTS`.
        correction: of :data:`CORRECTIONS`.
    """

    quantity: str
    test: str
    correction: str = "holm"


@dataclass(frozen=True)
class Shown:
    """One cell as the view shows it: its text, the line below, and its colour's classes."""

    text: str
    below: str
    style: str


def view_of(study: Study) -> View:
    """Return the view that says most: verdicts over trainings, of the excess, where there are."""
    quantity = compared_quantity(study)
    if over_trainings(study):
        return View(quantity, "crossed")
    paired = any(row["n_pairs"] for row in study.rows)
    return View(quantity, "signed_rank" if paired else "mann_whitney")


def shown(cell: Cell, rows: Sequence[Row], view: View, statistics: Mapping[str, Any]) -> Shown:
    """Return a cell as a view shows it.

    Args:
        cell: what its seeds found together.
        rows: its tests, one a seed.
        view: what is shown.
        statistics: settings of the tests.
    """
    prefix = PREFIXES[view.quantity]
    below = ""
    if view.test == "crossed":
        row = cell.verdicts.get(view.quantity, {})
        verdict = row.get(_VERDICTS[view.correction])
        below, d = (verdict, row["d"]) if verdict else ("not tested", NAN)
        strength = min(8, max(2, round(8 * abs(d)))) if verdict == "different" else 0
        text = signed(d) if d == d else "–"
        equal = " eq" if verdict == "equivalent" else ""
    else:
        count = _counts(rows, view.quantity, view.test, view.correction, statistics["alpha"])
        d = mean_effect(rows, prefix)
        strength = round(8 * count / len(rows))
        text, below = str(count), f"d = {signed(d)}" if d == d else "undefined"
        equal = ""
    below += " ±" * has_both_signs(rows, prefix)
    better = d if rows[0]["metric_direction"] == "higher" else -d
    side = " a" if better > 0 else " b" if better < 0 else ""
    strong = " strong" if strength and abs(d) >= statistics["threshold"] else ""
    return Shown(text, below, f"n s{strength}{side if strength else ''}{strong}{equal}")


def _counts(rows: Sequence[Row], quantity: str, test: str, correction: str, alpha: float) -> int:
    """Return how many seeds are significant."""
    column = PREFIXES[quantity] + TESTS[test] + CORRECTIONS[correction]
    return sum(bool(row[column] <= alpha) for row in rows)


def cell_data(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row. What depends on the quantity, the test and
    the correction is under ``quantity``, ``quantity.test.correction`` or ``quantity.verdict`` and
    the like.
    """
    cells: dict[str, list[Any]] = defaultdict(list)
    tests: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    alpha = study.statistics["alpha"]
    for number, table in enumerate(tables):
        for key in product(table.models, table.methods, table.metrics):
            rows, cell = table.tests.get(key, ()), table.cells.get(key)
            cells["table"].append(number)
            for kind, id in zip(("model", "method", "metric"), key, strict=True):
                cells[kind].append(id)
            cells["start"].append(len(tests["seed"]))
            for quantity, prefix in PREFIXES.items():
                judged = cell.verdicts.get(quantity, {}) if cell else {}
                cells[f"{quantity}.mean_d"].append(mean_effect(rows, prefix))
                cells[f"{quantity}.both_signs"].append(has_both_signs(rows, prefix))
                for test, correction in product(TESTS, CORRECTIONS):
                    count = _counts(rows, quantity, test, correction, alpha)
                    cells[f"{quantity}.{test}.{correction}"].append(count)
                for correction, name in _VERDICTS.items():
                    cells[f"{quantity}.verdict.{correction}"].append(judged.get(name))
                for name in _JUDGED:
                    cells[f"{quantity}.{name}"].append(judged.get(name))
            for name, values in tests.items():
                values += [row[name] for row in rows]
    cells["start"].append(len(tests["seed"]))
    return {"cells": cells, "tests": tests}


def names_of(study: Study) -> dict[str, Any]:
    """Return what scripts say of methods and metrics, by id."""
    facts = {id: study.metric_facts(id) for id in study.metrics}
    return {
        "methods": {id: study.display("method", id) for id in study.methods},
        "metrics": {
            id: {
                "name": study.display("metric", id),
                **{name: getattr(facts[id], name) for name in ("direction", "kind", "unit")},
            }
            for id in study.metrics
        },
    }


def build(context: Context) -> Content | None:
    """Return what the section shows; None where nothing is compared."""
    if not context.study.rows:
        return None
    study, tables = context.study, context.tables
    kinds = [study.metric_facts(id).kind for id in study.metrics]
    sizes = [len(table.models) * len(table.methods) * len(table.metrics) for table in tables]
    view = view_of(study)
    return Content(
        values={
            "tables": tables,
            "firsts": [0, *accumulate(sizes)],
            "models": list(dict.fromkeys(model for _, model in study.pairs)),
            "kinds": list(dict.fromkeys(kinds)),
            "view": view,
            "shown": lambda cell, rows: shown(cell, rows, view, study.statistics),
            "n_cells": sum(len(table.cells) for table in tables),
            "margins_above": MARGINS_ABOVE,
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
            **names_of(study),
            **{name: study.statistics[name] for name in ("alpha", "threshold", "confidence")},
        },
        unfolded=True,
    )
