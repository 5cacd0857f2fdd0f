"""The disparity table, and every test behind its cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from typing import Any, NamedTuple

from exparity.core.formats import signed
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.picture import look_of
from exparity.report.sections.findings import one_training
from exparity.report.tables import MOST_PAIRS, QUANTITIES, CellKey, Row, Table, by_dataset
from exparity.report.verdicts import (
    effect_size,
    moved,
    named,
    notes_of,
    only_certainty,
    sentence_of,
    skill_line,
)
from exparity.stats.seeds import has_both_signs, mean_effect

FOLDED_ABOVE = 1000
"""More cells than these are folded."""
VIEWS = ("verdicts", "published")
"""Verdicts, of what is compared; or the published form of the table: the number
of seeds whose scores differ by Mann–Whitney, uncorrected, and their mean d."""
_JUDGED = ("d", "p_mean", "p_large", "p_small", "verdict", "verdict_strict")
_COLUMNS = (
    *("seed", "n_a", "n_b", "mean_a", "mean_b", "mean_difference", "p", "significant"),
    *("cohens_d", "d_ci_low", "d_ci_high", "n_pairs", "wilcoxon_p"),
    *("random_significant", "n_undefined", "n_examples", "test_accuracy", "flags"),
    *("class_adjusted_difference", "class_adjusted_p", "length_adjusted_difference"),
    *("length_adjusted_p", "omnibus_p", "friedman_p"),
)
_OF_EXCESS = ("p", "wilcoxon_p", "cohens_d", "d_ci_low", "d_ci_high")


class CellStyle(NamedTuple):
    """One cell as a view shows it."""

    text: str
    below: str
    style: str  # classes of its element
    side: str  # a, b: the group that is better explained; both where that changes
    strong: bool  # a considerable effect
    gaps: int  # of its verdict, or of its seeds
    trials: int


_NOT_TESTED = CellStyle("–", "not tested", "n s0", "", False, 0, 0)


@dataclass(frozen=True)
class PairMatrix:
    """Matrix of many groups: in how many cells each is explained better than each other one."""

    groups: Sequence[str]
    blocks: Mapping[tuple[str, str], int]  # number of the table of two groups, in either order
    # Cells in which the first is better explained; a gap of either counts for both.
    better: Mapping[tuple[str, str], int]
    total: int  # cells of two groups

    def sums(self, group: str) -> tuple[int, int]:
        """Return in how many cells a group is explained better, and in how many worse."""
        others = [other for other in self.groups if other != group]
        return (
            sum(self.better[group, other] for other in others),
            sum(self.better[other, group] for other in others),
        )


def _of_many_groups(tables: Sequence[Table]) -> dict[str, list[Table]]:
    """Return the tables of each dataset with more pairs of groups than are shown one by one."""
    return {id: pairs for id, pairs in by_dataset(tables).items() if len(pairs) > MOST_PAIRS}


def _groups(pairs: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(group for t in pairs for group in (t.group_a, t.group_b)))


def matrices(study: Study, tables: Sequence[Table], view: str) -> dict[str, PairMatrix]:
    """Return a matrix for each dataset of more pairs of groups than are shown one by one."""
    found = {}
    for dataset, pairs in _of_many_groups(tables).items():
        better: dict[tuple[str, str], int] = defaultdict(int)
        blocks: dict[tuple[str, str], int] = {}
        for table in pairs:
            a, b = table.group_a, table.group_b
            blocks[a, b] = blocks[b, a] = tables.index(table)
            for key in table.cells:
                side = cell_style(table, key, view, study.statistics["threshold"]).side
                better[a, b] += side in ("a", "both")
                better[b, a] += side in ("b", "both")
        most = max(len(table.cells) for table in pairs)
        found[dataset] = PairMatrix(_groups(pairs), blocks, better, most)
    return found


def view_of(study: Study) -> str:
    """Return the view that says most."""
    return VIEWS[0] if study.verdicts else VIEWS[1]


def cell_style(table: Table, key: CellKey, view: str, threshold: float) -> CellStyle:
    """Return a cell as a view shows it."""
    cell = table.cells[key]
    row = cell.standing if view == VIEWS[0] else {}
    both = " ±" * has_both_signs(table.tests_of(row.get("quantity", "score"), key))
    if view == VIEWS[0]:
        return _of_verdict(row, threshold, both)
    below = ("undefined" if cell.mean_d is None else f"d = {signed(cell.mean_d)}") + both
    is_higher_better = table.tests[key][0]["metric_direction"] == "higher"
    side = {0: "", 1: "a", -1: "b"}[cell.direction if is_higher_better else -cell.direction]
    text, counts = str(cell.significant), (cell.significant, cell.total)
    return _styled(text, below, round(8 * cell.strength), side, cell.considerable, *counts)


def _of_verdict(row: Row, threshold: float, both: str) -> CellStyle:
    if not row or not row["verdict"]:
        return _NOT_TESTED._replace(below=f"not tested{both}")
    verdict, d, size = named(row["verdict"]), row["d"], effect_size(row)
    text, below = signed(d) if d == d else "–", verdict.id + both
    if not verdict.is_gap:
        style = "n s0" + " eq" * (verdict.tone == "good")
        return CellStyle(text, below, style, "", False, 0, 1)
    strength = min(8, max(2, round(8 * size)))
    return _styled(text, below, strength, look_of(row), size >= threshold, 1, 1)


def _styled(
    text: str, below: str, strength: int, side: str, strong: bool, gaps: int, trials: int
) -> CellStyle:
    """Return a cell whose colour has a strength from 0 to 8."""
    side = side if strength else ""
    style = " ".join(filter(None, ("n", f"s{strength}", side, "strong" * strong)))
    return CellStyle(text, below, style, side, strong, gaps, trials)


def cell_data(study: Study, tables: Sequence[Table]) -> dict[str, Any]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row. How cells look in each view is under its
    name, what depends on the quantity alone under ``quantity.column``.
    """
    cells: dict[str, list[Any]] = defaultdict(list)
    tests: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    excess: dict[str, list[Any]] = {name: [] for name in _OF_EXCESS}
    views: dict[str, list[CellStyle]] = {view: [] for view in VIEWS}
    threshold = study.statistics["threshold"]
    for number, table in enumerate(tables):
        for key in product(table.models, table.methods, table.metrics):
            rows, cell = table.tests.get(key, ()), table.cells.get(key)
            of_cell = cell.verdicts if cell else {}
            cells["moved"].append(moved(of_cell))
            cells["certainty"].append(only_certainty(of_cell, threshold))
            cells["skill"].append(skill_line(of_cell))
            cells["notes"].append(notes_of(cell.standing if cell else {}))
            cells["table"].append(number)
            for kind, id in zip(("model", "method", "metric"), key, strict=True):
                cells[kind].append(id)
            cells["start"].append(len(tests["seed"]))
            cells["mean_d"].append(mean_effect(rows))
            cells["both_signs"].append(has_both_signs(rows))
            for view in VIEWS:
                style = cell_style(table, key, view, threshold) if cell else _NOT_TESTED
                views[view].append(style)
            for quantity in QUANTITIES:
                judged = of_cell.get(quantity, {})
                cells[f"{quantity}.sentence"].append(sentence_of(judged, threshold))
                for name in _JUDGED:
                    cells[f"{quantity}.{name}"].append(judged.get(name))
            for name, values in tests.items():
                values += [row[name] for row in rows]
            over = {row["seed"]: row for row in table.tests_of("excess", key)}
            for name, values in excess.items():
                values += [over.get(row["seed"], {}).get(name) for row in rows]
    cells["start"].append(len(tests["seed"]))
    coded = {name: _coded(looks) for name, looks in views.items()}
    return {"cells": cells, "tests": tests, "excess": excess, "views": coded}


def _coded(looks: Sequence[CellStyle]) -> dict[str, list[Any]]:
    """Return the distinct ones, and the number of each cell's: most look like another one."""
    numbers: dict[CellStyle, int] = {}
    of_cells = [numbers.setdefault(look, len(numbers)) for look in looks]
    return {"looks": [look._asdict() for look in numbers], "of": of_cells}


def view_names(study: Study) -> dict[str, Any]:
    """Return what scripts say of methods and metrics, by id."""
    facts = {id: study.metric_facts(id) for id in study.metrics}
    return {
        "methods": {id: study.display("method", id) for id in study.methods},
        "metrics": {
            id: {
                "name": study.display("metric", id),
                "direction": of.direction,
                "kind": of.kind,
                "unit": of.unit,
            }
            for id, of in facts.items()
        },
    }


def build(context: Context) -> Content | None:
    """Return what the section shows; None where nothing is compared."""
    if not context.study.rows:
        return None
    study, tables = context.study, context.tables
    kinds = [study.metric_facts(id).kind for id in study.metrics]
    sizes = [len(table.models) * len(table.methods) * len(table.metrics) for table in tables]
    view, threshold = view_of(study), study.statistics["threshold"]
    data = cell_data(study, tables)
    looks = [look for one in data["views"].values() for look in one["looks"]]
    pairs = {(table.group_a, table.group_b) for table in tables}
    signs = {
        "both": any(look["side"] == "both" for look in looks),
        "±": any("±" in look["below"] for look in looks),
        "*": any(cell.starred for table in tables for cell in table.cells.values()),
    }
    return Content(
        values={
            "tables": tables,
            "by_dataset": by_dataset(tables),
            "groups_of_many": {d: _groups(of) for d, of in _of_many_groups(tables).items()},
            "firsts": [0, *accumulate(sizes)],
            "models": list(dict.fromkeys(model for _, model in study.pairs)),
            "kinds": list(dict.fromkeys(kinds)),
            "view": view,
            "run": study.run,
            "signs": {sign for sign, is_shown in signs.items() if is_shown},
            "named_groups": pairs.pop() if len(pairs) == 1 else ("the first group", "the second"),
            "one_training": one_training(study),
            "cell_style": lambda table, *key: cell_style(table, key, view, threshold),
            "n_cells": sum(len(table.cells) for table in tables),
            "folded_above": FOLDED_ABOVE,
        },
        data={
            **data,
            "tables": [
                {
                    "dataset": table.dataset,
                    "name": study.display("dataset", table.dataset),
                    "a": table.group_a,
                    "b": table.group_b,
                }
                for table in tables
            ],
            **view_names(study),
            **{name: study.statistics[name] for name in ("alpha", "threshold", "confidence")},
        },
        unfolded=True,
    )
