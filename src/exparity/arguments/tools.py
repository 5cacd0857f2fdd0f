"""Arguments of the commands for people: results, registries, files, measurements."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from exparity.arguments.flags import (
    Run,
    add_command,
    add_data_dir,
    add_machine,
    add_path,
    add_plugins,
    seed,
    setting,
)


def add_show(commands: Any, runs: Mapping[str, Run]) -> None:
    """Add ``show``."""
    parser = add_command(
        commands, "show", runs["show"], "print the headline and the disparity tables of results"
    )
    _add_results(parser, "folder of results")
    for kind in ("dataset", "model", "seed", "method", "metric"):
        parser.add_argument(
            f"--{kind}",
            action="append",
            type=seed if kind == "seed" else str,
            metavar="N" if kind == "seed" else "ID",
            help=f"show this {kind} only; repeat for several",
        )
    parser.add_argument(
        "--correction",
        choices=["none", "holm", "bh"],
        default="none",
        help="p-values that the tables count: as they are, or corrected for many tests",
    )


def add_others(commands: Any, runs: Mapping[str, Run]) -> None:
    """Add ``list``, ``data``, ``compare-published`` and ``bench``."""
    parser = add_command(
        commands, "list", runs["list"], "list datasets, methods, metrics and models"
    )
    parser.add_argument(
        "kind",
        nargs="?",
        choices=["datasets", "methods", "metrics", "models"],
        help="all four if left out",
    )
    add_plugins(parser)

    parser = add_command(
        commands, "data", runs["data"], "list, fetch or check raw files, and fetch checkpoints"
    )
    parser.add_argument("action", choices=["list", "fetch", "check"], help="what to do")
    parser.add_argument(
        "ids", nargs="*", metavar="DATASET", help="all of the config or with raw files if none"
    )
    parser.add_argument(
        "--configfile",
        type=Path,
        metavar="FILE",
        help="an experiment: its datasets, and with fetch its models too",
    )
    parser.add_argument(
        "--models",
        nargs="*",
        metavar="MODEL",
        help="fetch checkpoints, ids of the config, of the catalogue or ORG/NAME@REVISION, into "
        "the Hub's cache (HF_HOME); all of the config or the catalogue if none is named",
    )
    add_data_dir(parser)
    # A config file has a word in it.
    parser.set_defaults(data_dir=None)
    add_plugins(parser)

    parser = add_command(
        commands,
        "compare-published",
        runs["compare-published"],
        "lay results beside the numbers of a published study",
    )
    _add_results(parser, "folder of results, with its report")
    parser.add_argument("--study", default="dhaini2025", metavar="ID", help="the study")
    parser.add_argument(
        "--map",
        action="append",
        type=setting,
        metavar="MODEL=PUBLISHED",
        help="published model beside which one of yours is put; repeat for several",
    )
    add_path(parser, "output", "folder for the tables as CSV and Parquet", required=False)

    parser = add_command(
        commands,
        "bench",
        runs["bench"],
        "measure the engine against the bare model",
    )
    add_path(parser, "checkpoint", "folder of a classifier")
    parser.add_argument("--length", type=int, default=32, help="tokens of each text")
    parser.add_argument("--examples", type=int, default=512, help="number of texts")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=["engine", "scaling", "sensitivity"],
        default=["engine"],
        metavar="PART",
        help="what to measure: engine, scaling or sensitivity",
    )
    parser.add_argument(
        "--precisions",
        nargs="+",
        choices=["fp32", "bf16"],
        default=["fp32"],
        metavar="P",
        help="arithmetic: fp32, bf16 or both",
    )
    add_path(parser, "output", "folder for a Parquet file a part", required=False)
    add_machine(parser)


def _add_results(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the folder of results that a command reads."""
    parser.add_argument(
        "results",
        type=Path,
        nargs="?",
        default=Path("results"),
        metavar="RESULTS",
        help=text,
    )
