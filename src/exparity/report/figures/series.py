"""What forests show: effect sizes, the bias of models, and causal beside statistical gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from exparity.core.escaping import visible
from exparity.report.bias import QUANTITIES, SIGNED, Declared
from exparity.report.causal import KINDS, ClassGap
from exparity.report.figures.forest import Forest, Look, Mark, Panel, series
from exparity.report.figures.names import Names, fitted
from exparity.report.figures.style import BLACK, BLUE, GREY, GROUP_COLOURS, MARKERS, VERMILION
from exparity.report.tables import CellKey, Row, Table

BY_GROUP = ("accuracy", "tpr", "tnr")
OF_PAIRS = ("apd", "apd_unpaired", "probability_gap")
_SHORT = {
    "tpr": "True positive rate,\n{class_name}",
    "tnr": "True negative rate,\n{class_name}",
    "apd": "Average prediction\ndifference, matched",
    "apd_unpaired": "Average prediction\ndifference, unmatched",
    "probability_gap": "Mean probability,\n{a} − {b}",
}
Rows = Sequence[Mapping[str, Any]]


def effects_forest(table: Table, names: Names, *, threshold: float) -> Forest:
    """Show the effect sizes of one dataset and two groups; small ones lie on grey."""
    limit = _limit(table, threshold)
    looks = series(
        [names("model", m) for m in table.models], size=3 - 0.5 * (len(table.models) > 3)
    )
    panels = [
        Panel(
            fitted(names("metric", metric), 20),
            [
                [_effect(table, (m, method, metric), looks[i]) for i, m in enumerate(table.models)]
                for method in table.methods
            ],
            within=threshold,
            limit=limit,
        )
        for metric in table.metrics
    ]
    several = any(cell.total > 1 for cell in table.cells.values())
    texts = ("significant", "not")
    if several:
        texts = ("significant in most seeds", "in half of them or fewer")
    dots = [
        Look(text, "o", GREY, filled) for text, filled in zip(texts, (True, False), strict=True)
    ]
    named = [look for look, model in zip(looks, table.models, strict=True) if model]
    a, b = visible(table.group_a), visible(table.group_b)
    return Forest(
        panels,
        [names("method", method) for method in table.methods],
        [*named, *dots],
        below=f"← {b} higher    Cohen’s d, {a} − {b}    {a} higher →",
        shares_axis=True,
    )


def _effect(table: Table, key: CellKey, look: Look) -> Mark | None:
    """Return the mean over seeds, each seed, and the range of the seeds' intervals."""
    if key not in table.cells:
        return None
    cell, tests = table.cells[key], table.tests[key]
    d = [row["cohens_d"] for row in tests] if len(tests) > 1 else []
    look = replace(look, filled=cell.in_most_seeds)
    return Mark(look, cell.summary.mean_d, _ends(tests), d)


def _ends(tests: Iterable[Row]) -> list[float]:
    """Return the ends of all intervals that have any."""
    ends = [row[end] for row in tests for end in ("d_ci_low", "d_ci_high")]
    return [end for end in ends if math.isfinite(end)]


def _limit(table: Table, threshold: float) -> float:
    """Return the end of the axis, at a round number.

    It lies beyond every finite mean effect, and beyond intervals unless they are far longer.
    """
    means = [abs(c.summary.mean_d) for c in table.cells.values() if math.isfinite(c.summary.mean_d)]
    longest = max(map(abs, _ends(chain.from_iterable(table.tests.values()))), default=0.0)
    largest = max([*means, 2 * threshold])
    return math.ceil(max(1.15 * largest, min(1.6 * largest, longest)) * 4) / 4


def bias_forest(rows: Rows, declared: Declared, models: Sequence[str], names: Names) -> Forest:
    """Show how one dataset's models treat the groups, from the rows of its bias artefacts."""
    looks = [
        Look(visible(group), MARKERS[i % 8], GROUP_COLOURS[i % 8], size=3.2)
        for i, group in enumerate(declared.groups)
    ]
    legend = [*looks, Look("one seed", "|", GREY)]
    if any("collapsed" in row["flags"] for row in rows):
        legend.append(Look("predicts one class", "x", GREY))
    panels = []
    for quantity, class_name in _defined(rows, declared):
        chosen = [r for r in rows if (r["quantity"], r["class_name"]) == (quantity, class_name)]
        lines = list(dict.fromkeys((r["group"], r["group_b"]) for r in chosen))
        own = [replace(looks[i % len(looks)], colour=BLACK) for i in range(len(lines))]
        if quantity in BY_GROUP:
            lines, own = [(group, "") for group in declared.groups], looks
        a, b = lines[0] if len(lines) == 1 else ("first", "second")
        title = _SHORT.get(quantity, QUANTITIES[quantity])
        class_name, a, b = map(visible, (class_name, a, b))
        marks = [
            [_seeds(chosen, (model, *line), look) for line, look in zip(lines, own, strict=True)]
            for model in models
        ]
        text = title.format(class_name=class_name, a=a, b=b)
        panels.append(Panel(text, marks, zero=quantity in SIGNED))
    return Forest(panels, [names("model", m) for m in models], legend, columns=(2, 6), step=0.12)


def _defined(rows: Rows, declared: Declared) -> list[tuple[str, str]]:
    """Return (quantity, class) of what is defined: rates of the last class, the true one's else."""
    wanted = [("accuracy", "")]
    if len(declared.classes) == 2:
        wanted += [("tpr", declared.classes[-1]), ("tnr", declared.classes[-1])]
    wanted += [(quantity, "") for quantity in OF_PAIRS]
    defined = {(r["quantity"], r["class_name"]) for r in rows if r["value"] == r["value"]}
    if ("apd", "") in defined:
        defined.discard(("apd_unpaired", ""))
    return [panel for panel in wanted if panel in defined]


def _seeds(rows: Rows, key: tuple[str, ...], look: Look) -> Mark | None:
    """Return the mean over seeds, and each seed; a cross marks a collapsed one."""
    own = [row for row in rows if (row["model"], row["group"], row["group_b"]) == key]
    runs: dict[bool, list[float]] = {True: [], False: []}
    for row in own:
        if row["value"] == row["value"]:
            runs["collapsed" in row["flags"]].append(row["value"])
    values = [*runs[True], *runs[False]]
    if not values:
        return None
    return Mark(look, sum(values) / len(values), values, runs[False], runs[True])


def causal_forest(gaps: Sequence[ClassGap], models: Sequence[str], names: Names) -> Forest:
    """Show statistical and causal gaps of one rate by class, as Chen et al. (2024) do.

    Classes are sorted by the statistical gap of the first model.
    """
    of = {(gap.model, gap.kind, gap.class_name): gap for gap in gaps}
    looks = [
        Look(kind, shape, colour)
        for kind, shape, colour in zip(KINDS, MARKERS, (BLUE, VERMILION), strict=False)
    ]

    def first(name: str) -> float:
        gap = of.get((models[0], "statistical", name))
        return gap.mean if gap else 0.0

    order = sorted(dict.fromkeys(gap.class_name for gap in gaps), key=first, reverse=True)
    panels = [
        Panel(
            fitted(names("model", model), 24),
            [[_gap(of.get((model, look.label, name)), look) for look in looks] for name in order],
        )
        for model in models
    ]
    return Forest(panels, [*map(visible, order)], looks, columns=(1, 4), shares_axis=True)


def _gap(gap: ClassGap | None, look: Look) -> Mark | None:
    return None if gap is None else Mark(look, 100 * gap.mean, (100 * gap.low, 100 * gap.high))
