"""Arguments of plans and costs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.arguments.flags import Run, add_command, add_path, add_plugins, sample_size


def add_costs(commands: Any, runs: Mapping[str, Run]) -> None:
    """Add ``cost`` and ``plan``."""
    parser = add_command(commands, "cost", runs["cost"], "gather what every finished job took")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="PATH",
        help="folder of results; that of --output if unset, or results",
    )
    add_path(parser, "output", "the cost artefact to write; cost.parquet there if unset", False)
    add_plugins(parser)

    parser = add_command(
        commands, "plan", runs["plan"], "estimate what an experiment takes, from finished jobs"
    )
    parser.add_argument(
        "--configfile",
        type=Path,
        default=Path("config/config.yaml"),
        metavar="FILE",
        help="the experiment",
    )
    parser.add_argument(
        "--from",
        dest="sources",
        type=Path,
        action="append",
        default=[],
        metavar="RESULTS",
        help="folder of results of another run to learn from; repeat for several",
    )
    parser.add_argument(
        "--measure",
        action="store_true",
        help="first run a small part of the experiment here: one seed, an epoch, few examples",
    )
    parser.add_argument(
        "--write-probe",
        type=Path,
        metavar="FILE",
        help="write the config of that small run, to run it elsewhere, and plan nothing",
    )
    parser.add_argument(
        "--examples",
        type=sample_size,
        default=20,
        metavar="N",
        help="examples of that run for a method or metric of many model passes",
    )
    parser.add_argument("--cores", default="all", metavar="N", help="CPU cores for that run")
    parser.add_argument(
        "--device",
        choices=["cpu", "cuda"],
        help="where jobs that run a model are to run; by the config, or a GPU if any ran on one",
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="PATH", help="folder of raw files; the config's if unset"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
