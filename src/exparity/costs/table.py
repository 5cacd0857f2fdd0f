"""Costs as text: aligned tables and amounts that a person can read."""

from __future__ import annotations

from collections.abc import Sequence

_HOUR = 3600.0
MIB = 1 << 20
"""Bytes of what Snakemake and exparity call an MB of memory."""


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as columns: the first to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        cells = [first.ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def hours(seconds: float | None) -> str:
    """Return a time in hours with two or three digits."""
    if seconds is None:
        return "unknown"
    amount = seconds / _HOUR
    if amount == 0:
        return "0"
    if amount < 0.01:
        return f"{amount:.4f}"
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.3g}"


def gigabytes(bytes: float | None) -> str:
    """Return an amount of memory or disk."""
    if bytes is None:
        return "unknown"
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if bytes >= size:
            amount = bytes / size
            return f"{amount:,.0f} {unit}" if amount >= 10 else f"{amount:.1f} {unit}"
    return f"{bytes / 1e3:.0f} kB"
