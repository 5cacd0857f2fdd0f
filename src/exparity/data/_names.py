"""Names of classes, groups and ids: one answer for every format that a table may have."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal, InvalidOperation
from typing import Any

from exparity.core.errors import InputError, shown
from exparity.core.escaping import UNSAFE

_LONGEST = 200
MISSING = frozenset(
    [
        *("NA", "N/A", "n/a", "NULL", "null", "None"),
        *("-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
        *("#NA", "#N/A", "#N/A N/A", "#DIV/0!", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"),
    ]
)
"""What R and pandas read as missing, and the errors of spreadsheets."""
_MISSING_IN_LOWER_CASE = frozenset(["nan", "nat", "<na>"])
UNLABELLED = frozenset(["-1", "-1.0"])
"""Numbers of no class, where classes count from 0, as in the Hugging Face Hub and scikit-learn."""
_BOOLEANS = frozenset(["True", "False", "TRUE", "FALSE"])
# Text of whole numbers stays as it is, such as 007.
_FRACTION = r"[0-9]+\.[0-9]*|\.[0-9]+"
_NUMBER = re.compile(rf"[+-]?(?:(?:{_FRACTION})(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)")
_FIXED = re.compile(r"[+-]?[0-9]+\.0+")


def is_empty(value: Any) -> bool:
    """Return whether a cell holds nothing."""
    if isinstance(value, str | list):
        return not "".join(map(str, value)).strip()
    return value is None or value != value


def is_missing(value: Any, words: Collection[str] = MISSING, names: Collection[str] = ()) -> bool:
    """Return whether a name is missing.

    Args:
        value: what the cell holds.
        words: words that mean a missing value, beside the spellings of NaN.
        names: names that an option lists, which are not missing.
    """
    if is_empty(value):
        return True
    written = _on_one_line(value)
    if written in names:
        return False
    return written in words or written.lower() in _MISSING_IN_LOWER_CASE


def id_of(where: str, column: str, value: Any) -> str:
    """Return an id: text, or a number as it is written, but 1.0 as 1.

    Raises:
        InputError: the cell holds something else.
    """
    written = _on_one_line(value)
    if written in _BOOLEANS:
        return written.lower()
    number = _number(value)
    if isinstance(value, str) and not _FIXED.fullmatch(written):
        number = None
    if number is None or not number.is_finite():
        return _text(where, column, value)
    return _text(where, column, _plain(number) or written)


def name_of(where: str, column: str, value: Any, listed: Collection[str] = ()) -> str:
    """Return the name of a class or group: text, a whole number, true or false.

    Numbers are numbers in formats of text, too: 1.0 and 1e0 are 1, as in JSON and Parquet.

    Args:
        where: place of the row.
        column: column of the cell.
        value: what the cell holds.
        listed: names that an option lists; one of these is a name as it is written.

    Raises:
        InputError: the cell holds something else, such as a share.
    """
    written = _on_one_line(value)
    if written in listed:
        return written
    if written in _BOOLEANS:
        return written.lower()
    number = _number(value)
    if number is None:
        return _text(where, column, value)
    plain = _plain(number)
    if plain is None:
        raise InputError(
            f"{where}: {column} must be text or a whole number, found {written[:_LONGEST]}; cut "
            "such numbers into bands in the file, such as low and high"
        )
    return _text(where, column, plain)


def _on_one_line(value: Any) -> str:
    # A line break would tear tables apart.
    return " ".join(str(value).split())


def _number(value: Any) -> Decimal | None:
    """Return the number that a cell holds as a number, or as text that is not of digits alone."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float | Decimal):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        try:
            return Decimal(value.strip())
        except InvalidOperation:  # an exponent of 20 digits
            return Decimal("inf")
    return None


def _plain(number: Decimal) -> str | None:
    """Return the digits of a whole number; None of another, or of a longer one than names are."""
    if not number.is_finite() or number != number.to_integral_value():
        return None
    return str(int(number)) if number.adjusted() < _LONGEST else None


def _text(where: str, column: str, value: Any) -> str:
    """Return text, or a whole number, as a name on one line."""
    if not isinstance(value, str | int):
        raise InputError(f"{where}: {column} must be text or a whole number, found {shown(value)}")
    name = _on_one_line(value)
    if len(name) > _LONGEST or UNSAFE.search(name):
        raise InputError(
            f"{where}: {column} {name[:_LONGEST]!a} is longer than {_LONGEST} characters or holds "
            "control characters; rename it"
        )
    return name
