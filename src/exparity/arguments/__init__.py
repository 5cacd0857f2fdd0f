"""The arguments of the command line: one parser a command."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import NoReturn

from exparity.arguments.analyses import add_analyses
from exparity.arguments.costs import add_costs
from exparity.arguments.flags import Run
from exparity.arguments.stages import add_stages
from exparity.arguments.tools import add_others, add_show
from exparity.core.escaping import visible


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        super().error(visible(message))


def build_parser(runs: Mapping[str, Run]) -> argparse.ArgumentParser:
    """Return the parser of all commands.

    Args:
        runs: what each command does with its parsed arguments.
    """
    from exparity import __version__

    parser = _Parser(
        prog="exparity",
        description="Measure whether explanations of text classifiers work equally well for every "
        "group of people. Each stage reads and writes Parquet; the Snakemake workflow runs them "
        "all.",
    )
    parser.add_argument("--version", action="version", version=f"exparity {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", required=True, metavar="COMMAND"
    )
    add_stages(commands, runs)
    add_analyses(commands, runs)
    add_show(commands, runs)
    add_costs(commands, runs)
    add_others(commands, runs)
    return parser
