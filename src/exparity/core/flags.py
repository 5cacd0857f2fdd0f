"""Marks on the type of an argument: its range, and its form as a flag.

Options of what is registered and arguments of commands are both read from signatures. Authors of
plug-ins import ranges from :mod:`exparity.interface`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from exparity.core.validation import Range as Range

Count = Annotated[int, Range(at_least=1, at_most=1_000_000)]
Positive = Annotated[float, Range(above=0, at_most=1_000_000)]
NotNegative = Annotated[float, Range(at_least=0, at_most=1_000_000)]
Share = Annotated[float, Range(above=0, below=1)]


@dataclass(frozen=True)
class Flag:
    """How the command line shows an argument, beyond its name and type.

    Attributes:
        name: the flag without its dashes; the argument's name if empty.
        metavar: what its value is called in the help.
        environment: ``EXPARITY_`` variable with its default, as the workflow sets it for its jobs.
        path: whether a path is a file to read, a checkpoint to read, a folder in which something
            lies, or to be written. The files and checkpoints that are read identify results.
        hidden: it comes with ``--options`` alone.
        bare: the first argument of the command line, if it is without a flag, is one of its values.
    """

    name: str = ""
    metavar: str = ""
    environment: str = ""
    path: Literal["", "checkpoint", "folder", "output"] = ""
    hidden: bool = False
    bare: bool = False


Checkpoint = Annotated[Path, Flag(path="checkpoint")]
Folder = Annotated[Path, Flag(path="folder")]
CheckpointWithManifest = Folder
"""A checkpoint identified by what was written with it, and read as well."""
Output = Annotated[Path, Flag(path="output")]
Download = Annotated[bool, Flag(environment="DOWNLOAD")]
DataDir = Annotated[Folder, Flag(environment="DATA_DIR")]
Id = Annotated[str, Flag(metavar="ID")]
Params = Annotated[Mapping[str, Any], Flag(name="param")]
Digest = Annotated[str, Flag(hidden=True)]
ConfigFiles = Annotated[Sequence[Path], Flag(metavar="FILE")]
Overrides = Annotated[Sequence[str], Flag(metavar="KEY=VALUE")]
Seed = Annotated[int, Range(at_least=0, at_most=(1 << 63) - 1)]
