"""Rows of measurements, and how they are shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Row = dict[str, Any]
_HIDDEN = ("device", "threads")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    names = [name for name in rows[0] if name not in _HIDDEN]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|" + "|".join("---" for _ in names) + "|")
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)
