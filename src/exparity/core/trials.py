"""Outcomes of trials on this machine, so that later jobs of a run need not try the same again.

A trial's key names all that it reads, but for the processor and the libraries. These are one for a
process and all that it forks: a server of jobs takes in what its workers have tried.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

Outcomes = dict[str, list[bool]]
_known: Outcomes = {}


def outcome_of(trial: Callable[[], Sequence[bool]], *key: object) -> list[bool]:
    """Return the outcome of a trial, made once for a key of JSON's types; errors are none."""
    name = json.dumps(key)
    if name not in _known:
        _known[name] = list(trial())
    return _known[name]


def outcomes() -> Outcomes:
    """Return all outcomes so far, for other processes."""
    return dict(_known)


def since(earlier: Mapping[str, Sequence[bool]]) -> Outcomes:
    """Return the outcomes that were not there earlier."""
    return {name: outcome for name, outcome in _known.items() if name not in earlier}


def take_in(others: Mapping[str, Sequence[bool]]) -> None:
    """Add the outcomes of a process that this one has forked."""
    _known.update({name: list(outcome) for name, outcome in others.items()})
