"""Errors that a user can act on: one clear line, a defined exit code, no traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from exparity.core.escaping import visible


class ExparityError(Exception):
    """A failure with a message written for the user; the command line prints it and exits 1."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))  # it may quote anything


class InputError(ExparityError, ValueError):
    """Bad input: config, file, row or argument. The command line prints it and exits 2."""

    exit_code = 2


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a clause such as ``did you mean 'lime'?`` or ``known: gini, sparsity``."""
    names = sorted(known)
    alike = {name.lower().replace("-", "_"): name for name in names}
    near = difflib.get_close_matches(name.lower().replace("-", "_"), alike, n=2, cutoff=0.6)
    if near:
        return "did you mean " + " or ".join(f"'{alike[n]}'" for n in near) + "?"
    return "known: " + (", ".join(names) or "none")
