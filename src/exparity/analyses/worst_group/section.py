"""Worst groups over seeds, and the range by chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd

_CELL = ("dataset", "model", "method", "metric")
_RANGES = ("range", "range_by_chance", "shrunk_range")
_COLUMNS = plain_schema(
    f"{' '.join(_CELL)} quantity: string",
    "seeds found: int64",
    "worst: string",
    "times: int64",
    f"{' '.join(_RANGES)}: float64",
    "n_groups smallest: int64",
)


def worst_groups(
    rows: Sequence[Row], preferences: Mapping[str, str | None], alpha: float
) -> list[dict[str, Any]]:
    """Put the seeds of each method and metric together, found ones first.

    Args:
        rows: the worst_group artefact.
        preferences: ``higher`` or ``lower`` is better, by metric; None where neither is.
        alpha: largest p-value that is significant.

    Returns:
        Rows with ``seeds``, the trainings in which groups were compared; ``found``, those in which
        they differ beyond chance; ``worst``, the group that has the worst shrunk mean most often in
        these (empty where neither end is better), and how many ``times``; and the means of the
        ranges over the trainings.
    """
    quantity = "excess" if any(row["quantity"] == "excess" for row in rows) else "score"
    cells = grouped((row for row in rows if row["quantity"] == quantity), itemgetter(*_CELL))
    lines = []
    for of_cell in cells.values():
        # Facts of all groups are in every row.
        firsts = [of_seed[0] for of_seed in grouped(of_cell, itemgetter("seed")).values()]
        significant = [row for row in firsts if row["p_bh"] <= alpha]
        worst = Counter[str]()
        if preference := preferences[firsts[0]["metric"]]:
            ends = (row["lowest" if preference == "higher" else "highest"] for row in significant)
            worst.update(filter(None, ends))
        group, times = worst.most_common(1)[0] if worst else ("", 0)
        line = {
            **{name: firsts[0][name] for name in _CELL},
            **{column: mean_and_sd([row[column] for row in firsts])[0] for column in _RANGES},
            "quantity": quantity,
            "seeds": len(firsts),
            "found": len(significant),
            "worst": group,
            "times": times,
            "n_groups": max(row["n_groups"] for row in firsts),
            "smallest": min(row["n"] for row in of_cell),
        }
        lines.append(line)
    return sorted(lines, key=lambda line: (-line["found"], -line["times"]))


def findings(rows: Sequence[Row], study: Study) -> Findings | None:
    """Return the section; None where no groups could be compared."""
    preferences = {metric: study.metric_facts(metric).preference for metric in study.metrics}
    lines = worst_groups(rows, preferences, study.statistics["alpha"])
    if not lines:
        return None
    return Findings({"lines": lines}, [Export("worst_group", "Worst group", _COLUMNS, lines)])
