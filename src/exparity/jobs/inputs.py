"""The files that a job of the workflow reads, as far as they tell results apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from exparity.artefacts import layout
from exparity.artefacts.grid import Grid
from exparity.artefacts.lineage import identity, lineage
from exparity.core.command_line import Call
from exparity.core.errors import InputError
from exparity.core.validation import read_settings
from exparity.data import DATASETS
from exparity.models.folders import own_sources
from exparity.models.spec import ModelSpec


def lineage_of(call: Call) -> str:
    """Return the lineage of a job that the workflow runs; others have none."""
    if call.options is None or call.overrides():
        return ""
    return lineage(call.options, map(identity, job_inputs(call)))


def job_inputs(call: Call) -> Iterator[Path]:
    """Yield what identifies a job: the files that its flags and its options name."""
    yield from call.files()
    options = call.options or {}
    flags = call.flags
    name = call.command.name
    if name == "prepare" and "use" in options:
        entry = DATASETS.get(options["use"])
        yield from entry.input_files(call.keywords["params"], f"dataset {entry.id}")
    elif name == "explain" and "use" in options:
        from exparity.methods import METHODS

        method = METHODS.get(options["use"])
        yield from method.input_files(call.keywords["params"], f"method {method.id}")
    elif name == "finetune":
        spec = read_settings(ModelSpec, call.keywords["model"], "model")
        yield from map(Path, own_sources(spec))
    elif name == "report":
        results = flags.get("results") or flags["page"].parent.parent
        with suppress(InputError):  # the report says what its options lack
            grid = Grid.from_json(options, "--options")
            yield from map(Path, layout.report_files(results, grid))
