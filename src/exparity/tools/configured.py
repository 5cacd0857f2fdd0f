"""Which folder of results a tool reads, where a config says it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def results_of(configfile: Sequence[Path], config: Sequence[str]) -> Path:
    """Return the results folder of an experiment; ``results`` if no config is named."""
    if not (configfile or config):
        return Path("results")
    # Reading a config takes longer than to show results.
    from exparity.config.command_line import read_experiment

    return Path(read_experiment(configfile, config).results)
