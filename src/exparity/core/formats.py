"""Formats of numbers and settings for readers: on the page, in figures, on the terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_BEFORE_PERCENT = re.compile(r"(?<=\d) (?=%)")


def percent(share: float | None) -> str:
    """Return a share in percent with one decimal; a dash if there is none."""
    return "–" if share is None else f"{100 * share:.1f} %"


def coverage(confidence: float) -> str:
    """Return the coverage of an interval in percent, with the digits that it has."""
    return f"{100 * confidence:g} %"


def unbroken(text: str) -> str:
    """Return text in which a number and its % stay on one line."""
    return _BEFORE_PERCENT.sub("\u00a0", text)


def joined(names: Sequence[str]) -> str:
    """Return names as a list in a sentence, with an *and* before the last one."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def in_sentence(text: str) -> str:
    """Return a name or sentence to stand within another, in lower case but for abbreviations."""
    return f"{text[:1].lower()}{text[1:]}" if text[1:2].islower() else text


def capitalised(text: str) -> str:
    """Return a text as a sentence begins."""
    return f"{text[:1].upper()}{text[1:]}"


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign and some decimals, with a minus that is one."""
    return f"{value:+.{digits}f}".replace("-", "−").replace("inf", "∞")


def duration(seconds: float | None) -> str:
    """Return a time span in seconds, minutes or hours."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def dotted(settings: Mapping[str, object], *above: str) -> Iterator[tuple[str, object]]:
    """Yield the values of nested settings by dotted key; what is empty has none."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from dotted(value, *above, name)
        else:
            yield ".".join((*above, name)), value


def aligned(rows: Sequence[Sequence[str]], *, are_words: bool = False) -> str:
    """Return rows as columns: the first to the left, the others to the right unless words."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if are_words or not i else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
