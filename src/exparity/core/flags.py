"""Marks on the type of an argument of a command or an option: its range, its form as a flag.

Authors of plug-ins import ranges from :mod:`exparity.interface`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from exparity.core.validation import Range as Range

Count = Annotated[int, Range(at_least=1, at_most=1_000_000)]
Positive = Annotated[float, Range(above=0, at_most=1_000_000)]
NotNegative = Annotated[float, Range(at_least=0, at_most=1_000_000)]
Share = Annotated[float, Range(above=0, below=1)]


@dataclass(frozen=True)
class Flag:
    """Form of an argument on the command line.

    Attributes:
        name: the flag without its dashes; the argument's name if empty.
        metavar: name of its value in the help.
        environment: ``EXPARITY_`` variable with its default, as the workflow sets it for its jobs.
        path: empty for a file or checkpoint to read, which identifies results; ``folder`` for one
            in which something lies; ``shortcut`` for a file that saves passes and changes no
            result, which is the same without it; ``output`` for a file to write.
        hidden: whether only ``--options`` may hold it.
        bare: whether words before the first flag are its values.
    """

    name: str = ""
    metavar: str = ""
    environment: str = ""
    path: Literal["", "folder", "shortcut", "output"] = ""
    hidden: bool = False
    bare: bool = False


Folder = Annotated[Path, Flag(path="folder")]
CheckpointWithManifest = Folder
"""A checkpoint that is identified by the predictions that were written with it."""
Shortcut = Annotated[Path, Flag(path="shortcut")]
Output = Annotated[Path, Flag(path="output")]
Download = Annotated[bool, Flag(environment="DOWNLOAD")]
DataDir = Annotated[Folder, Flag(environment="DATA_DIR")]
Id = Annotated[str, Flag(metavar="ID")]
Params = Annotated[Mapping[str, object], Flag(name="param")]
Digest = Annotated[str, Flag(hidden=True)]
ConfigFiles = Annotated[Sequence[Path], Flag(metavar="FILE")]
Overrides = Annotated[Sequence[str], Flag(metavar="KEY=VALUE")]
Seed = Annotated[int, Range(at_least=0, at_most=(1 << 63) - 1)]
Budget = Annotated[int, Range(at_least=1, at_most=1_000_000_000)]
