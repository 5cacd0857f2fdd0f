"""The disparity table, and every test behind its cells."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

from exparity.core.formats import coverage, signed, unbroken
from exparity.report.charts import effects_chart
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.over_groups import lines_over_all_groups
from exparity.report.picture import look_of
from exparity.report.rows import VerdictRow
from exparity.report.tables import MOST_PAIRS, Cell, Table, by_dataset
from exparity.report.verdicts import (
    ceiling_line,
    effect_size,
    judgement_of,
    moved,
    notes_of,
    only_certainty,
    right_line,
    sentence_of,
    skill_line,
)
from exparity.stats.seeds import SeedTest, has_both_signs
from exparity.stats.verdicts import STANDING

FOLDED_ABOVE = 1000
"""More cells than these are folded."""
_FIRST_VIEW = "verdicts"
"""The view that a page opens with."""
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

    def marked(self, tests: Sequence[SeedTest]) -> CellStyle:
        """Return it with a sign where the trainings have opposite signs."""
        return self._replace(below=self.below + " ±" * has_both_signs(tests))


def _of_many_groups(tables: Sequence[Table]) -> dict[str, list[Table]]:
    """Return the tables of each dataset with more pairs of groups than are shown one by one."""
    datasets = by_dataset(tables).items()
    return {dataset: pairs for dataset, pairs in datasets if len(pairs) > MOST_PAIRS}


def _groups(pairs: Sequence[Table]) -> list[str]:
    return list(dict.fromkeys(group for t in pairs for group in (t.group_a, t.group_b)))


@dataclass(frozen=True)
class PairMatrix:
    """Which groups of a dataset have the better values, for more pairs than are shown one by one.

    Attributes:
        groups: the groups.
        blocks: number of the table of two groups.
        better: number of cells in which the first of two groups has the better values; a gap that
            favours neither counts for both, and concentration for none.
        total: most cells of two groups that are counted.
    """

    groups: Sequence[str]
    blocks: Mapping[tuple[str, str], int]
    better: Mapping[tuple[str, str], int]
    total: int

    @property
    def wins(self) -> dict[str, int]:
        """How often each group has the better values."""
        return {
            group: sum(self.better.get((group, other), 0) for other in self.groups)
            for group in self.groups
        }

    @property
    def losses(self) -> dict[str, int]:
        """How often each group has the worse values."""
        return {
            group: sum(self.better.get((other, group), 0) for other in self.groups)
            for group in self.groups
        }


def matrices(tables: Sequence[Table]) -> dict[str, PairMatrix]:
    """Return a matrix for each dataset of more pairs of groups than are shown one by one."""
    return {dataset: _matrix(pairs, tables) for dataset, pairs in _of_many_groups(tables).items()}


def _matrix(pairs: Sequence[Table], tables: Sequence[Table]) -> PairMatrix:
    """Return the matrix of the pairs of groups of a dataset."""
    better = Counter[tuple[str, str]]()
    blocks: dict[tuple[str, str], int] = {}
    total = 0
    for table in pairs:
        pair = (table.group_a, table.group_b)
        reverse = (table.group_b, table.group_a)
        number = tables.index(table)
        blocks |= {pair: number, reverse: number}
        counted = [cell for cell in table.cells.values() if not _describes(cell)]
        total = max(total, len(counted))
        for cell in counted:
            side = _style_of_verdict(cell.standing, 0.0).side
            better[pair] += side in ("a", "both")
            better[reverse] += side in ("b", "both")
    return PairMatrix(_groups(pairs), blocks, better, total)


def _describes(cell: Cell) -> bool:
    return cell.standing is not None and cell.standing.is_description


def cell_styles(cell: Cell, threshold: float) -> dict[str, CellStyle]:
    """Return the style of a cell in each view.

    A view is of verdicts, or the published form of the table: the number of seeds whose scores
    differ by Mann–Whitney, uncorrected, and their mean d.
    """
    judged = _style_of_verdict(cell.standing, threshold)
    counted = _style_of_counts(cell)
    return {
        _FIRST_VIEW: judged.marked(cell.tests.get(cell.quantity, ())),
        "published": counted.marked(cell.scores),
    }


def _style_of_verdict(row: VerdictRow | None, threshold: float) -> CellStyle:
    verdict = None if row is None else judgement_of(row)
    if row is None or verdict is None:
        return CellStyle("–", "not tested")
    size = effect_size(row)
    text = "–" if math.isnan(row.d) else signed(row.d)
    if not verdict.is_gap:
        return CellStyle(text, verdict.id, "n s0" + " eq" * (verdict.tone == "good"))
    strength = min(8, max(2, round(8 * size)))
    return _coloured(text, verdict.id, strength, look_of(row), strong=size >= threshold)


def _style_of_counts(cell: Cell) -> CellStyle:
    higher_is_better = cell.scores[0].metric_direction == "higher"
    side = {0: "", 1: "a", -1: "b"}[cell.direction if higher_is_better else -cell.direction]
    below = "undefined" if cell.mean_d is None else f"d = {signed(cell.mean_d)}"
    strength = round(8 * cell.strength)
    return _coloured(str(cell.significant), below, strength, side, strong=cell.considerable)


def _coloured(text: str, below: str, strength: int, side: str, *, strong: bool) -> CellStyle:
    """Return a cell whose colour has a strength from 0 to 8."""
    side = side if strength else ""
    style = " ".join(filter(None, ("n", f"s{strength}", side, "strong" * strong)))
    return CellStyle(text, below, style, side, strong)


def cell_data(tables: Sequence[Table], threshold: float) -> dict[str, object]:
    """Return cells and tests as columns; the tests of cell i are ``start[i]`` to ``start[i+1]``.

    Cells are numbered through all tables, row by row. How cells look in each view is under its
    name, what depends on the quantity alone under ``quantity.column``.
    """
    cells: dict[str, list[object]] = defaultdict(list)
    views: dict[str, list[dict[str, object]]] = defaultdict(list)
    tests: list[SeedTest] = []
    excess: list[SeedTest | None] = []
    for number, table in enumerate(tables):
        words = f"Cohen's d, {table.group_a} − {table.group_b}"
        for (model, method, metric), cell in table.cells.items():
            scores = cell.scores
            effects = effects_chart(scores, threshold, words)
            facts = {
                **{"table": number, "start": len(tests)},
                **{"model": model, "method": method, "metric": metric},
                **_facts_of(cell, threshold),
                "effects": effects.data() if effects else None,
            }
            for name, value in facts.items():
                cells[name].append(value)
            for view, style in cell_styles(cell, threshold).items():
                views[view].append(style._asdict())
            by_seed = {test.seed: test for test in cell.tests.get("excess", ())}
            tests += scores
            excess += [by_seed.get(test.seed) for test in scores]
    start = [*cells.pop("start", ()), len(tests)]
    return {
        "cells": {**cells, "start": start},
        "tests": {name: [getattr(test, name) for test in tests] for name in _COLUMNS},
        "excess": {name: [getattr(test, name, None) for test in excess] for name in _OF_EXCESS},
        "views": views,
    }


def _facts_of(cell: Cell, threshold: float) -> dict[str, object]:
    """Return the sentences and verdicts of a cell's dialog."""
    verdicts = cell.verdicts
    row = cell.standing
    facts: dict[str, object] = {
        "moved": moved(verdicts),
        "certainty": only_certainty(verdicts),
        "skill": unbroken(skill_line(verdicts.skill)),
        "notes": notes_of(row),
        "beside": [unbroken(line) for line in (right_line(row), ceiling_line(row)) if line],
        "mean_d": cell.mean_d_all,
        "both_signs": has_both_signs(cell.scores),
    }
    for quantity in STANDING:
        judged = verdicts.rows.get(quantity)
        facts[f"{quantity}.sentence"] = sentence_of(judged, threshold)
        facts |= {f"{quantity}.{name}": getattr(judged, name, None) for name in _JUDGED}
    return facts


def view_names(study: Study) -> dict[str, object]:
    """Return the names of methods and metrics for scripts, by id."""
    return {
        "methods": {method: study.display("method", method) for method in study.methods},
        "metrics": {
            metric: {
                "name": study.display("metric", metric),
                **{name: getattr(study.metric_facts(metric), name) for name in _OF_METRIC},
            }
            for metric in study.metrics
        },
    }


def build(context: Context) -> Content | None:
    """Return the content of the section; None if nothing is compared."""
    if not context.study.rows:
        return None
    study = context.study
    tables = context.tables
    threshold = study.statistics.threshold
    data = cell_data(tables, threshold)
    cells = [cell for table in tables for cell in table.cells.values()]
    looks = [style for cell in cells for style in cell_styles(cell, threshold).values()]
    pairs = {(table.group_a, table.group_b) for table in tables}
    signs = {
        "both": any(look.side == "both" for look in looks),
        "±": any("±" in look.below for look in looks),
        "*": any(cell.starred for cell in cells),
    }
    number = count()
    return Content(
        values={
            "tables": tables,
            "by_dataset": by_dataset(tables),
            "groups_of_many": {d: _groups(pairs) for d, pairs in _of_many_groups(tables).items()},
            "over_groups": [
                *lines_over_all_groups(study.standing, study.statistics.alpha, study.display)
            ],
            "numbers": [{key: next(number) for key in table.cells} for table in tables],
            "kinds": list(dict.fromkeys(study.metric_facts(m).kind for m in study.metrics)),
            "signs": {sign for sign, is_shown in signs.items() if is_shown},
            "named_groups": pairs.pop() if len(pairs) == 1 else ("the first group", "the second"),
            "looks": [cell_styles(cell, threshold)[_FIRST_VIEW] for cell in cells],
            "n_cells": len(cells),
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
