"""The disparity table, and every test behind its cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import count
from typing import Any, NamedTuple

from exparity.core.formats import coverage, signed
from exparity.report.charts import effects_chart
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.over_groups import lines_over_all_groups
from exparity.report.picture import look_of
from exparity.report.tables import MOST_PAIRS, Cell, Row, Table, by_dataset
from exparity.report.verdicts import (
    ceiling_line,
    effect_size,
    moved,
    notes_of,
    only_certainty,
    right_line,
    sentence_of,
    skill_line,
    verdict_of,
)
from exparity.stats.seeds import has_both_signs
from exparity.stats.verdicts import STANDING, is_description

FOLDED_ABOVE = 1000
"""More cells than these are folded."""
_JUDGED = ("d", "p_mean", "p_large", "p_small", "verdict", "verdict_strict")
_COLUMNS = (
    *("seed", "n_a", "n_b", "mean_a", "mean_b", "mean_difference", "p", "significant"),
    *("cohens_d", "d_ci_low", "d_ci_high", "n_pairs", "wilcoxon_p"),
    *("random_significant", "n_undefined", "n_examples", "test_accuracy", "flags"),
    *("class_adjusted_difference", "class_adjusted_p", "length_adjusted_difference"),
    *("length_adjusted_p", "omnibus_p", "friedman_p"),
)
_OF_METRIC = ("preference", "kind", "unit")
_OF_EXCESS = ("p", "wilcoxon_p", "cohens_d", "d_ci_low", "d_ci_high")


class CellStyle(NamedTuple):
    """One cell as a view shows it."""

    text: str
    below: str
    style: str = "n s0"  # classes of its element
    side: str = ""  # a, b: the group that is favoured; both where that changes
    strong: bool = False  # a considerable effect


def _of_many_groups(tables: Sequence[Table]) -> dict[str, list[Table]]:
    """Return the tables of each dataset with more pairs of groups than are shown one by one."""
    return {id: pairs for id, pairs in by_dataset(tables).items() if len(pairs) > MOST_PAIRS}


def _groups(pairs: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(group for t in pairs for group in (t.group_a, t.group_b)))


def matrices(tables: Sequence[Table]) -> dict[str, dict[str, Any]]:
    """Return a matrix for each dataset of more pairs of groups than are shown one by one.

    ``better`` has the number of cells in which the first of two groups has the better values; a
    gap that favours neither counts for both, and concentration for none. ``wins`` and ``losses``
    are its sums by group, ``total`` the number of cells of two groups that are counted, and
    ``blocks`` the number of their table.
    """
    grids = {}
    for dataset, pairs in _of_many_groups(tables).items():
        better = Counter[tuple[str, str]]()
        blocks: dict[tuple[str, str], int] = {}
        for table in pairs:
            a, b = table.group_a, table.group_b
            blocks[a, b] = blocks[b, a] = tables.index(table)
            for cell in table.cells.values():
                if is_description(cell.standing):
                    continue
                side = _style_of_verdict(cell.standing, 0.0).side
                better[a, b] += side in ("a", "both")
                better[b, a] += side in ("b", "both")
        groups = _groups(pairs)
        grids[dataset] = {
            **{"groups": groups, "blocks": blocks, "better": better},
            "total": max(
                sum(not is_description(cell.standing) for cell in table.cells.values())
                for table in pairs
            ),
            "wins": {group: sum(better[group, other] for other in groups) for group in groups},
            "losses": {group: sum(better[other, group] for other in groups) for group in groups},
        }
    return grids


def cell_styles(cell: Cell, threshold: float) -> dict[str, CellStyle]:
    """Return the style of a cell in each view.

    A view is of verdicts, or the published form of the table: the number of seeds whose scores
    differ by Mann–Whitney, uncorrected, and their mean d.
    """
    quantity = cell.standing.get("quantity", "score")
    styles = {
        "verdicts": (_style_of_verdict(cell.standing, threshold), cell.tests.get(quantity, ())),
        "published": (_style_of_counts(cell), cell.tests["score"]),
    }
    return {
        view: style._replace(below=style.below + " ±" * has_both_signs(tests))
        for view, (style, tests) in styles.items()
    }


def _style_of_verdict(row: Row, threshold: float) -> CellStyle:
    if not row.get("verdict"):
        return CellStyle("–", "not tested")
    verdict = verdict_of(row["verdict"])
    size = effect_size(row)
    text = signed(row["d"]) if row["d"] == row["d"] else "–"
    if not verdict.is_gap:
        return CellStyle(text, verdict.id, "n s0" + " eq" * (verdict.tone == "good"))
    strength = min(8, max(2, round(8 * size)))
    return _coloured(text, verdict.id, strength, look_of(row), strong=size >= threshold)


def _style_of_counts(cell: Cell) -> CellStyle:
    higher_is_better = cell.tests["score"][0]["metric_direction"] == "higher"
    side = {0: "", 1: "a", -1: "b"}[cell.direction if higher_is_better else -cell.direction]
    below = "undefined" if cell.mean_d is None else f"d = {signed(cell.mean_d)}"
    strength, strong = round(8 * cell.strength), cell.considerable
    return _coloured(str(cell.significant), below, strength, side, strong=strong)


def _coloured(text: str, below: str, strength: int, side: str, *, strong: bool) -> CellStyle:
    """Return a cell whose colour has a strength from 0 to 8."""
    side = side if strength else ""
    style = " ".join(filter(None, ("n", f"s{strength}", side, "strong" * strong)))
    return CellStyle(text, below, style, side, strong)


def cell_data(tables: Sequence[Table], threshold: float) -> dict[str, Any]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row. How cells look in each view is under its
    name, what depends on the quantity alone under ``quantity.column``.
    """
    cells: dict[str, list[Any]] = defaultdict(list)
    views: dict[str, list[dict[str, Any]]] = defaultdict(list)
    tests: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
    excess: dict[str, list[Any]] = {name: [] for name in _OF_EXCESS}
    for number, table in enumerate(tables):
        for key, cell in table.cells.items():
            ids = dict(zip(("model", "method", "metric"), key, strict=True))
            place = {"table": number, "start": len(tests["seed"])}
            d = f"Cohen’s d, {table.group_a} − {table.group_b}"
            effects = effects_chart(cell.tests["score"], threshold, d)
            drawn = {"effects": effects.data() if effects else None}
            for name, value in {**place, **ids, **_facts_of(cell, threshold), **drawn}.items():
                cells[name].append(value)
            for view, style in cell_styles(cell, threshold).items():
                views[view].append(style._asdict())
            over = {row["seed"]: row for row in cell.tests.get("excess", ())}
            for row in cell.tests["score"]:
                for name, values in tests.items():
                    values.append(row[name])
                for name, values in excess.items():
                    values.append(over.get(row["seed"], {}).get(name))
    cells["start"].append(len(tests["seed"]))
    return {"cells": cells, "tests": tests, "excess": excess, "views": views}


def _facts_of(cell: Cell, threshold: float) -> dict[str, Any]:
    """Return the sentences and verdicts of a cell's dialog."""
    verdicts = cell.verdicts
    row = cell.standing
    facts = {
        "moved": moved(verdicts),
        "certainty": only_certainty(verdicts, threshold),
        "skill": skill_line(verdicts),
        "notes": notes_of(cell.standing),
        "beside": [line for line in (right_line(row), ceiling_line(row)) if line],
        "mean_d": cell.mean_d_all,
        "both_signs": has_both_signs(cell.tests["score"]),
    }
    for quantity in STANDING:
        judged = verdicts.get(quantity, {})
        facts[f"{quantity}.sentence"] = sentence_of(judged, threshold)
        facts |= {f"{quantity}.{name}": judged.get(name) for name in _JUDGED}
    return facts


def view_names(study: Study) -> dict[str, Any]:
    """Return the names of methods and metrics for scripts, by id."""
    return {
        "methods": {id: study.display("method", id) for id in study.methods},
        "metrics": {
            id: {
                "name": study.display("metric", id),
                **{name: getattr(study.metric_facts(id), name) for name in _OF_METRIC},
            }
            for id in study.metrics
        },
    }


def build(context: Context) -> Content | None:
    """Return the content of the section; None if nothing is compared."""
    if not context.study.rows:
        return None
    study, tables = context.study, context.tables
    threshold = study.statistics.threshold
    data = cell_data(tables, threshold)
    looks = [look for of_view in data["views"].values() for look in of_view]
    pairs = {(table.group_a, table.group_b) for table in tables}
    signs = {
        "both": any(look["side"] == "both" for look in looks),
        "±": any("±" in look["below"] for look in looks),
        "*": any(cell.starred for table in tables for cell in table.cells.values()),
    }
    number = count()
    return Content(
        values={
            "tables": tables,
            "by_dataset": by_dataset(tables),
            "groups_of_many": {d: _groups(of) for d, of in _of_many_groups(tables).items()},
            "over_groups": [
                *lines_over_all_groups(study.standing, study.statistics.alpha, study.display)
            ],
            "numbers": [{key: next(number) for key in table.cells} for table in tables],
            "kinds": list(dict.fromkeys(study.metric_facts(id).kind for id in study.metrics)),
            "signs": {sign for sign, is_shown in signs.items() if is_shown},
            "named_groups": pairs.pop() if len(pairs) == 1 else ("the first group", "the second"),
            "looks": data["views"]["verdicts"],
            "n_cells": len(data["views"]["verdicts"]),
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
            "alpha": study.statistics.alpha,
            "threshold": threshold,
            "coverage": coverage(study.statistics.confidence),
        },
        unfolded=True,
    )
