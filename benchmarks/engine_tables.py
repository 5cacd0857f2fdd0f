"""Rows of figures as a Markdown table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_HIDDEN = ("device", "threads")


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as a Markdown table."""
    names = [name for name in rows[0] if name not in _HIDDEN]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|" + "|".join("---" for _ in names) + "|")
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
