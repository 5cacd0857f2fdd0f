"""Errors that a user can act on: one clear line, a defined exit code, no traceback."""

from __future__ import annotations

import difflib
import errno
import os
import reprlib
import sys
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import accumulate

from exparity.core.escaping import visible

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_MOST_LISTED = 1000
"""Characters of names that one message lists."""


class ExparityError(Exception):
    """A failure with a message written for the user; the command line prints it and exits 1.

    Args:
        *lines: lines of the message; control characters in them are written out.

    Examples:
        >>> import exparity
        >>> try:
        ...     exparity.load_classifier("no such folder")
        ... except exparity.ExparityError as error:
        ...     print(error.exit_code)
        2
    """

    exit_code = 1

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(visible, lines)))  # they may quote anything


class InputError(ExparityError, ValueError):
    """Bad input: config, file, row or argument. The command line prints it and exits 2.

    Args:
        *lines: lines of the message, as of :class:`ExparityError`.

    Examples:
        >>> import exparity
        >>> exparity.compare_groups([0.1, 0.2], ["male"])
        Traceback (most recent call last):
            ...
        exparity.core.errors.InputError: 2 values but 1 groups
    """

    exit_code = 2


class IncompleteReport(ExparityError):
    """A page that is written and lacks a part. The command line prints it and exits 3."""

    exit_code = 3


@contextmanager
def within(where: str) -> Iterator[None]:
    """Have messages of bad input begin with the place that it is in."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{where}{error}") from None


def system_reason(error: OSError) -> str:
    """Return what the system would not do, to which file, and what to do about it."""
    reason = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        # Libraries put words of their own around the system's.
        reason = f"{os.strerror(error.errno)}; make room and run again, what is finished is kept"
    return f"{error.filename}: {reason}" if error.filename else reason


@contextmanager
def exit_on_bad_input() -> Iterator[None]:
    """End the process with 2 on bad input, or where the system refuses a file, and say why."""
    try:
        yield
    except (InputError, OSError) as error:
        reason = system_reason(error) if isinstance(error, OSError) else error
        print(f"exparity: {reason}", file=sys.stderr)
        raise SystemExit(InputError.exit_code) from None


def reason_of(error: BaseException) -> str:
    """Return what an error of another library says, in one line; its type if it says nothing."""
    first, *more = (str(error).strip() or type(error).__name__).splitlines()
    return f"{first} {more[0].strip()}" if first.endswith(":") and more else first


def _abbreviates(short: str, name: str) -> bool:
    """Return whether a name has the letters of a shorter one in order, the first one first."""
    letters = iter(name)
    begins = len(short) > 1 and name[:1] == short[:1]
    return begins and all(letter in letters for letter in short.replace("_", ""))


def brief(name: str) -> str:
    """Return a name without its middle if it is long, as the header of a table may be."""
    half = _REPR.maxstring // 2
    return name if len(name) <= 2 * half else f"{name[: half - 1]}…{name[-half:]}"


def name_list(names: Iterable[str]) -> str:
    """Return names after each other, as many as fit a message, and how many others there are."""
    shown_names = [brief(name) for name in names]
    ends = accumulate(len(name) + 2 for name in shown_names)
    fitting = max(1, bisect_right(list(ends), _MOST_LISTED))
    more = len(shown_names) - fitting
    return ", ".join(shown_names[:fitting]) + (f" and {more:,} more" if more > 0 else "")


def did_you_mean(name: str, known_names: Iterable[str]) -> str:
    """Return a clause such as ``did you mean 'lime'?`` or ``known: gini, sparsity``."""
    names = sorted(known_names)
    alike = {name.lower().replace("-", "_"): name for name in names}
    plain_name = name.lower().replace("-", "_")
    near = difflib.get_close_matches(plain_name, alike, n=2, cutoff=0.6)
    near = near or sorted((n for n in alike if _abbreviates(plain_name, n)), key=len)[:2]
    if near:
        return "did you mean " + " or ".join(f"'{brief(alike[n])}'" for n in near) + "?"
    return "known: " + (name_list(names) or "none")


def require_known(name: object, known_names: Collection[object], problem: str) -> None:
    """Refuse a name that is not known, by a sentence that says so, and name those like it."""
    if name not in known_names:
        raise InputError(f"{problem}; {did_you_mean(str(name), map(str, known_names))}")


def shown(value: object) -> str:
    """Return a short form of any value, on one line."""
    return " ".join(_REPR.repr(value).split())
