"""The files that a job of the workflow reads, as far as they tell results apart."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.lineage import made_from
from exparity.data import input_files

# A checkpoint is told by the predictions that were written with it, where these are read as well.
_READS = {
    "prepare": (),
    "finetune": ("data",),
    "explain": ("data", "predictions"),
    "evaluate": ("data", "explanations"),
    "test": ("scores",),
    "bias": ("data", "predictions"),
    "control": ("scores",),
    "correctness": ("scores", "predictions"),
    "attribution-difference": ("data", "explanations"),
    "dataset-bias": ("data",),
    "mlm-score": ("data", "checkpoint"),
    "report": (),
}
_OVERRIDES = ("use", "param", "model", "training", "target", "examples", "max_examples", "terms")


@contextmanager
def lineage_of(arguments: argparse.Namespace) -> Iterator[None]:
    """Let results carry the key of a job that the workflow runs; others have none."""
    options = getattr(arguments, "options", None)
    by_hand = any(getattr(arguments, flag, None) for flag in _OVERRIDES)
    if arguments.command not in _READS or options is None or by_hand:
        yield
        return
    with made_from(options, [*_flags(arguments), *_named_in(options, arguments)]):
        yield


def _flags(arguments: argparse.Namespace) -> Iterator[Path]:
    for flag in _READS[arguments.command]:
        paths = getattr(arguments, flag)
        yield from paths if isinstance(paths, list) else [paths]


def _named_in(options: dict[str, Any], arguments: argparse.Namespace) -> Iterator[Path]:
    """Yield the inputs that no flag names."""
    if arguments.command == "prepare" and "use" in options:
        yield from input_files(options["use"], options.get("params", {}))
    elif arguments.command == "finetune":
        checkpoint = options.get("model", {}).get("checkpoint")
        if checkpoint and Path(checkpoint).is_dir():
            yield Path(checkpoint)
    elif arguments.command == "report":
        results = arguments.results or arguments.page.parent.parent
        for artefact, ids in layout.report_inputs(options):
            yield results / layout.path_of(artefact, ids)
