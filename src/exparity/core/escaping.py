"""Escaping of text from outside for terminal, log, file name and spreadsheet.

Titles, ids, groups, classes and tokens come from configs, tables and plug-ins.
"""

from __future__ import annotations

import csv
import hashlib
import io
import logging
import re
from collections.abc import Iterable, Sequence

UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Characters that steer a terminal, turn the direction of writing, end a line or are not XML."""

_LONGEST_PART = 64  # as an id
# A spreadsheet takes such a cell for a formula, whatever quotes stand around it.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?inf", re.IGNORECASE)


def visible(text: object, keep: str = "") -> str:
    r"""Return text with its control characters written out, such as ``\x1b`` for an escape."""
    return UNSAFE.sub(
        lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], str(text)
    )


def say(text: object, *, flush: bool = False) -> None:
    """Print text of one line or more."""
    print(visible(text, keep="\n"), flush=flush)


class LogFormatter(logging.Formatter):
    """Formats records for a terminal or a log file."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text in which only line breaks and tabs are control characters."""
        return visible(super().format(record), keep="\n\t")


def file_name(kind: str, *parts: str) -> str:
    """Return a file name without suffix that no other kind and parts have, whatever the case."""
    # A capital has a `+` before it, and any other byte is `=` and two digits.
    return "-".join([kind, *map(_file_name_part, parts)])


def _file_name_part(part: str) -> str:
    # A lone "=" is the empty part: elsewhere two digits or another "=" come after it.
    name = re.sub("[^a-z0-9_]", _escaped_in_name, part) or "="
    if len(name) <= _LONGEST_PART:
        return name
    digest = hashlib.sha256(part.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{name[: _LONGEST_PART - 14]}=={digest}"


def _escaped_in_name(match: re.Match[str]) -> str:
    character = match[0]
    if "A" <= character <= "Z":
        return f"+{character}"
    return "".join(f"={byte:02x}" for byte in character.encode("utf-8", "surrogatepass"))


def csv_text(names: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV that a spreadsheet computes nothing from."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(names)
    writer.writerows(map(_in_csv, row) for row in rows)
    return text.getvalue().replace("\r\n", "\n")


def plain_cell(value: object) -> object:
    """Return a cell as text or number: NaN and None are empty, a list is one text."""
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value != value:
        return ""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value


def _in_csv(value: object) -> object:
    value = plain_cell(value)
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value
