"""The statements of a study's text, counted again from its tables and from our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from exparity.core.grouping import grouped
from exparity.published.expressions import COUNTS, SETTINGS, Counted
from exparity.published.study import Claim, Part, PublishedStudy, Value

HOLDS, IN_PART, FAILS, OPEN = "holds", "in part", "does not hold", ""
Settings = Mapping[str, Sequence[float]]
Range = tuple[float, float]


@dataclass(frozen=True)
class ClaimResult:
    """A statement beside what the study's tables and our runs give.

    Attributes:
        claim: the statement as printed.
        tables: of each part, least and greatest value that the printed tables allow; they differ
            where a table prints no effect sizes. None if no table holds it.
        verdict: whether the statement holds in the tables; empty if that is open.
        ours: the same from our runs.
        our_verdict: whether it holds in them; empty where it gives one number, since other runs
            never give the same to the last digit.
        rows, cells, cells_covered: our tests and cells behind it; published cells that it covers.
        comparable: ``yes``, ``in part`` or ``no``.
        note: why not fully comparable.
    """

    claim: Claim
    tables: tuple[Range | None, ...]
    verdict: str
    ours: tuple[Range | None, ...]
    our_verdict: str
    rows: int = 0
    cells: int = 0
    cells_covered: int = 0
    comparable: str = "yes"
    note: str = ""


def recount(
    study: PublishedStudy,
    ours: Sequence[Value],
    settings: Settings | None = None,
    other_models: frozenset[str] = frozenset(),
) -> list[ClaimResult]:
    """Count every statement of a study again, in the order of the text.

    Args:
        study: the study.
        ours: our values, by published ids, first minus second of its groups.
        settings: how ours were run: one or several values of each of
            :data:`~exparity.published.expressions.SETTINGS`.
        other_models: published models that ours beside them are not.
    """
    of_study = {"seeds": [cell.runs for cell in study.cells.values()]}
    results = []
    for claim in study.claims:
        first = claim.parts[0]
        is_count = first.counted.what in COUNTS
        printed = list((study.cells if is_count else study.values).values())
        tables, own = (
            tuple(value_of(part.counted, claim.unit, *side) for part in claim.parts)
            for side in ((printed, of_study), (ours, settings or {}))
        )
        verdict, our_verdict = _verdict(claim, tables), _verdict(claim, own)
        result = ClaimResult(claim, tables, verdict, own, our_verdict)
        if is_count:
            result = replace(
                result,
                our_verdict=OPEN if first.bound == "is" else our_verdict,
                **_behind(first.counted, claim.unit, printed, ours, other_models),
            )
        elif first.counted.what in SETTINGS and own == (None,):
            result = replace(result, comparable="no", note="not recorded")
        results.append(result)
    return results


def _behind(
    counted: Counted,
    unit: str,
    printed: Sequence[Value],
    ours: Sequence[Value],
    other_models: frozenset[str],
) -> dict[str, Any]:
    """Return what is behind our count of cells, and what keeps it from being the statement's."""
    covered, behind = _chosen(counted, printed), _chosen(counted, ours)
    if not behind:
        note = "no test of ours on these cells"
        return {"cells_covered": len(covered), "comparable": "no", "note": note}
    runs, reasons = sum(cell.runs for cell in behind), []
    if (present := len({cell.key for cell in behind})) < len(covered):
        reasons.append(f"{present} of {len(covered)} cells")
    if unit == "count" and runs != (expected := sum(cell.runs for cell in covered)):
        reasons.append(f"{runs:,} runs, published {expected:,}")
    if models := sorted({cell.key.model for cell in behind} & other_models):
        reasons.append(f"other models: {', '.join(models)}")
    return {
        "rows": runs,
        "cells": len(behind),
        "cells_covered": len(covered),
        "comparable": "in part" if reasons else "yes",
        "note": "; ".join(reasons),
    }


def _verdict(claim: Claim, values: Sequence[Range | None]) -> str:
    kept = [holds(part, value) for part, value in zip(claim.parts, values, strict=True)]
    if None in kept:
        return OPEN
    if all(kept):
        return HOLDS
    return FAILS if claim.says == "all" or not any(kept) else IN_PART


def holds(part: Part, value: Range | None) -> bool | None:
    """Return whether a value or range is as printed; None if that is open.

    A value agrees if it rounds to what is printed.
    """
    if value is None:
        return None
    low, high = value
    greatest = float(part.greatest)
    if part.bound == "below":
        return True if high < greatest else False if low >= greatest else None
    least = float(part.least)
    if part.bound == "above":
        return True if low > least else False if high <= least else None
    digits = max(len(end.partition(".")[2]) for end in (part.least, part.greatest))
    half = 0.5 * 10.0**-digits + 1e-9
    if high + half < least or low - half > greatest:
        return False
    return True if high - low < 1e-9 else None


def value_of(
    counted: Counted, unit: str, values: Sequence[Value], settings: Settings
) -> Range | None:
    """Return what a part of a statement counts; None where a number is not there."""
    if counted.what in SETTINGS:
        known = settings.get(counted.what)
        return (float(min(known)), float(max(known))) if known else None
    chosen = _chosen(counted, values)
    if counted.what not in COUNTS:
        try:
            value = _of_gaps(counted, chosen)
        except LookupError:
            return None
        return None if value is None else (value, value)
    by = counted.smallest_by
    groups = grouped(chosen, lambda cell: cell.of(by) if by else "")
    counts = [_count(counted.what, unit, group) for group in groups.values()]
    return (min(low for low, _ in counts), min(high for _, high in counts)) if counts else None


def _chosen(counted: Counted, values: Sequence[Value]) -> list[Value]:
    where = counted.where.items()
    return [value for value in values if all(value.of(kind) in ids for kind, ids in where)]


def _count(what: str, unit: str, cells: Sequence[Value]) -> Range:
    """Count; cells that may or may not count by what is published make the range."""
    runs = sum(cell.runs for cell in cells)
    low = high = runs
    if what == "significant":
        low = high = sum(cell.significant for cell in cells)
    elif what == "considerable":
        low = sum(cell.significant for cell in cells if cell.considerable)
        high = low + sum(cell.significant for cell in cells if cell.considerable is None)
    return (100 * low / runs, 100 * high / runs) if unit == "percent" else (float(low), float(high))


def _of_gaps(counted: Counted, chosen: Sequence[Value]) -> float | None:
    """Compare gaps of one dataset and model; a LookupError where one is not there."""
    metric, *names = counted.names
    by: dict[tuple[str, str], dict[str, Value]] = {}
    for value in chosen:
        by.setdefault((value.key.method, value.key.metric), {})[value.key.class_name] = value
    if counted.what == "zero":
        gaps = _by_class(by[names[0], metric])
        return 100 * sum(gap == 0 for gap in gaps.values()) / len(gaps)
    if counted.what == "nearer":
        one, other = (_by_class(by[names[0], of]) for of in (metric, names[1]))
        return 100 * sum(abs(one[name]) < abs(other[name]) for name in other) / len(other)
    values = [by[method, metric][""] for method in names]
    if counted.what == "p_value":
        return _welch(*values)
    first, *others = (100 * float(value.mean or 0.0) for value in values)
    if counted.what == "points":
        return first - others[0]
    if counted.what == "change":
        return 100 * (abs(first) / abs(others[0]) - 1)
    return abs(first) - min(map(abs, others))


def _by_class(values: Mapping[str, Value]) -> dict[str, float]:
    gaps = {name: float(value.mean or 0.0) for name, value in values.items() if name}
    if not gaps:
        raise LookupError
    return gaps


def _welch(first: Value, other: Value) -> float | None:
    """Return p of Welch's test; None of a single run."""
    from scipy.stats import ttest_ind_from_stats

    if first.sd is None or other.sd is None or min(first.runs, other.runs) < 2:
        return None
    sides = ((value.mean, value.sd, value.runs) for value in (first, other))
    p = float(ttest_ind_from_stats(*chain.from_iterable(sides), equal_var=False).pvalue)
    return p if p == p else None
