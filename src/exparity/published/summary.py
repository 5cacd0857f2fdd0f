"""The comparison in words: as plain text, and its figures as they are written on the page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from exparity.core.formats import percent
from exparity.published.agreement import Agreement
from exparity.published.claims import ClaimResult, Range
from exparity.published.comparison import Comparison
from exparity.published.gap_comparison import GapComparison

QUESTIONS = {
    "significant": "significant in most seeds",
    "direction": "direction, where both are significant",
    "considerable": "considerable effect",
}
_SIGNS = {"is": "", "above": "> ", "below": "< "}
_UNITS = {"percent": " %"}


def summary(comparison: Comparison) -> str:
    """Return what was compared, the rates of agreement, the claims and the model bias."""
    return _rendered("summary.txt.j2", c=comparison, w=sys.modules[__name__])


def gap_summary(comparison: GapComparison) -> str:
    """Return the statements on gaps, and our gaps beside the published ones."""
    return _rendered("gap_summary.txt.j2", c=comparison, spread=spread)


def _rendered(template: str, **values: Any) -> str:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"aligned": _aligned, "percent": percent}
    source = Path(__file__).with_name(template).read_text(encoding="utf-8")
    return environment.from_string(source).render(**values).rstrip()


def spread(mean: float, sd: float) -> str:
    """Return shares in 1e-2, with their standard deviation where it is known."""
    known = f" ± {100 * sd:.2f}" if sd == sd else ""
    return f"{100 * mean:+.2f}{known}"


def _aligned(table: str) -> str:
    """Return lines of cells that tabs part as lines with aligned columns."""
    cells = [line.split("\t") for line in table.splitlines()]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )
    return "".join(f"  {line}\n" for line in lines)


def decimals(value: float | None) -> str:
    """Return a number with two decimals and its sign; a dash if there is none."""
    return "–" if value is None else f"{value:+.2f}"


def interval(agreement: Agreement) -> str:
    """Return an interval in percent; a dash if there is none."""
    if agreement.low is None or agreement.high is None:
        return "–"
    return f"{100 * agreement.low:.1f} to {100 * agreement.high:.1f} %"


def printed_value(result: ClaimResult) -> str:
    """Return the printed number of a claim, with its unit and how it is meant."""
    claim = result.claim
    number = f"{int(claim.printed):,}" if claim.unit == "count" else claim.printed
    return f"{_SIGNS[claim.bound]}{number}{_UNITS.get(claim.unit, '')}"


def counted_value(value: Range | None, unit: str) -> str:
    """Return what was counted: a number, a range, or a dash."""
    if value is None:
        return "–"
    low, high = (_number(end, unit) for end in value)
    return (low if low == high else f"{low} to {high}") + _UNITS.get(unit, "")


def _number(value: float, unit: str) -> str:
    if unit == "percent":
        return f"{value:.1f}"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def verdict(holds: bool | None) -> str:
    """Return whether a claim holds in a word; empty if that is open."""
    return "" if holds is None else "holds" if holds else "does not hold"
