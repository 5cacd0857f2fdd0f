"""Flags that commands share, and what their values may be.

Defaults may come from ``EXPARITY_`` environment variables, as the workflow sets them for its jobs.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[[argparse.Namespace], None]


def json_object(text: str) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("must be a JSON object")
    return value


def setting(text: str) -> tuple[str, Any]:
    """Read ``KEY=VALUE``, the value as JSON or else as a plain word."""
    key, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"'{text}' is not KEY=VALUE")
    try:
        return key, json.loads(value)
    except json.JSONDecodeError:
        return key, value  # a plain word


def sample_size(text: str) -> int:
    """Read a number of examples, 2 at least."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of examples, from 2")
    return int(text)


def seed(text: str) -> int:
    """Read a seed: a whole number that a column of 64 bits can hold."""
    if not text.isdecimal() or len(text) > 19 or int(text) >= 1 << 63:
        raise argparse.ArgumentTypeError(f"'{text}' is not a seed, from 0 to {(1 << 63) - 1}")
    return int(text)


def add_command(commands: Any, name: str, run: Run, text: str) -> argparse.ArgumentParser:
    """Add a command and return its parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.set_defaults(run=run)
    return parser


def _named(text: str) -> Path:
    path = Path(text)
    if not path.name:
        raise argparse.ArgumentTypeError(f"'{text}' names no file or folder")
    return path


def add_path(parser: argparse.ArgumentParser, flag: str, text: str, required: bool = True) -> None:
    """Add a flag for one path."""
    # A checkpoint may be the folder one stands in; anything else is read or written by its name.
    kind = Path if flag == "checkpoint" else _named
    parser.add_argument(f"--{flag}", type=kind, required=required, metavar="PATH", help=text)


def add_paths(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    """Add a required flag for one path or more."""
    parser.add_argument(f"--{flag}", type=Path, nargs="+", required=True, metavar="PATH", help=text)


def add_settings(parser: argparse.ArgumentParser, flag: str, text: str) -> None:
    """Add a repeatable flag for ``KEY=VALUE``."""
    parser.add_argument(
        f"--{flag}",
        action="append",
        type=setting,
        metavar="KEY=VALUE",
        help=f"{text}; repeat for several",
    )


def add_options(parser: argparse.ArgumentParser, kind: str) -> None:
    """Add what chooses an addition and its options."""
    parser.add_argument("--use", metavar="ID", help=f"registered {kind}; see `exparity list`")
    add_settings(parser, "param", f"option of the {kind}")
    add_json(parser)
    add_plugins(parser)


def default_of(name: str, otherwise: str = "") -> str:
    """Return a default that the environment may set, as the workflow does for its jobs."""
    return os.environ.get(f"EXPARITY_{name}", otherwise)


def add_plugins(parser: argparse.ArgumentParser) -> None:
    """Add ``--plugins``."""
    parser.add_argument(
        "--plugins",
        nargs="*",
        metavar="FILE",
        default=[part for part in default_of("PLUGINS").split(os.pathsep) if part],
        help="modules with your own additions",
    )


def add_data_dir(parser: argparse.ArgumentParser) -> None:
    """Add ``--data-dir``."""
    parser.add_argument(
        "--data-dir",
        type=Path,
        metavar="PATH",
        default=Path(default_of("DATA_DIR", "data")),
        help="folder of raw files",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--options``."""
    parser.add_argument(
        "--options",
        type=json_object,
        metavar="JSON",
        help="all options as one object, as the workflow passes them; flags win over it",
    )


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add device, threads and batch size."""
    parser.add_argument(
        "--device", default=default_of("DEVICE", "auto"), help="auto, cpu or cuda:N"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads of one operation")
    parser.add_argument(
        "--token-budget",
        type=int,
        metavar="N",
        default=default_of("TOKEN_BUDGET") or None,
        help="padded tokens per batch; by device if unset",
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    """Add ``--precision``."""
    parser.add_argument("--precision", choices=["fp32", "bf16"], help="arithmetic; fp32 if unset")


def add_sample(parser: argparse.ArgumentParser) -> None:
    """Add ``--max-examples``."""
    parser.add_argument(
        "--max-examples", type=int, metavar="N", help="size of a sample; all examples if unset"
    )


def add_shortcuts(parser: argparse.ArgumentParser) -> None:
    """Add ``--shortcuts``."""
    parser.add_argument(
        "--shortcuts",
        action="store_true",
        default=default_of("SHORTCUTS") == "1",
        help="leave out work that cannot reach the output (BERT, RoBERTa, GPT-2)",
    )


def add_shards(parser: argparse.ArgumentParser) -> None:
    """Add ``--shard`` and ``--gather``, of which one may be given."""
    split = parser.add_mutually_exclusive_group()
    split.add_argument(
        "--shard", metavar="K/N", help="do the K-th of N shares of the examples; all if unset"
    )
    split.add_argument(
        "--gather",
        type=Path,
        nargs="*",
        metavar="SHARD",
        help="put finished shards together as `exparity gather` does, and compute nothing",
    )
