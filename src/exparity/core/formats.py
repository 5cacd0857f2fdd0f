"""How numbers are written for readers: on the page, in figures, on the terminal."""

from __future__ import annotations


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal; a dash if there is none."""
    return "–" if share is None else f"{100 * share:.1f} %"


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign and some decimals, with a minus that is one."""
    return f"{value:+.{digits}f}".replace("-", "−").replace("inf", "∞")
