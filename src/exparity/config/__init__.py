"""The config of an experiment: validated, completed, and resolved cell by cell.

Everything that a rule needs to know of the config is computed here, so that the rules hold no
logic and all of it can be tested without Snakemake. Names load on first use: the command line asks
for the default's path alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exparity.config.command_line import as_in_a_file
    from exparity.config.experiment import Experiment, check_or_exit, load_or_exit
    from exparity.config.instances import canonical
    from exparity.config.outdated import mark_outdated

_HOMES = {
    "Experiment": "experiment",
    "as_in_a_file": "command_line",
    "canonical": "instances",
    "check_or_exit": "experiment",
    "load_or_exit": "experiment",
    "mark_outdated": "outdated",
}

__all__ = [
    "Experiment",
    "as_in_a_file",
    "canonical",
    "check_or_exit",
    "load_or_exit",
    "mark_outdated",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'exparity.config' has no attribute '{name}'")
