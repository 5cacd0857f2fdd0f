"""Finished jobs of a results folder and what each cost.

Where an artefact lies says which job made it, its footer how many rows it has and what the job
told of itself, and Snakemake's benchmark of the same ids how long it took from start to end.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import facts_of
from exparity.artefacts.schemas import IDS
from exparity.artefacts.seal import open_sealed, read_metadata
from exparity.core.errors import InputError
from exparity.costs.kinds import Ids, Kind, ids_of, kind_of

_UNREADABLE = (OSError, ValueError)
_TAIL = 8  # bytes of the length of the footer and of the closing mark
# Made by jobs that make more, or of the accounts themselves.
_BESIDE = ("models", "history", "training_set", "cost")
_EXAMPLES = ("data", "predictions", "explanations", "scores")
_MADE_IN = {"explain": "explanations", "finetune": "predictions", "prepare": "data"}


@dataclass(frozen=True)
class JobCost:
    """A job of an experiment; what it cost where its output is there, or is estimated.

    Attributes:
        kind: what its cost depends on.
        examples: what it works on; of a training, its examples times its epochs. None if unknown.
        finished: whether its output is there, and need not be made again.
        output: its path below the results folder.
        ids: ids of its cell.
        seconds: from start to end, with what an interrupted run of it had left finished; None if
            it has no benchmark.
        work_seconds: of these, those that grow with the examples; None if it does not tell, as
            only trainings and jobs in parts do.
        cpu_seconds: of all threads; None if nothing tells.
        max_rss_mb: most memory held at once; None if nothing tells.
        device: where it ran.
        bytes: size of its output.
        data_bytes: of these, those that grow with the examples.
    """

    kind: Kind
    examples: int | None = None
    finished: bool = True
    output: str = ""
    ids: Mapping[str, str | int] = field(default_factory=dict)
    seconds: float | None = None
    work_seconds: float | None = None
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None
    device: str = "cpu"
    bytes: float = 0
    data_bytes: int = 0


@dataclass(frozen=True)
class Finished:
    """The finished jobs of a results folder; ``odd`` are files that make no sense, and why."""

    folder: Path
    jobs: list[JobCost]
    odd: list[str]


def read_finished(folder: Path) -> Finished:
    """Read the finished jobs of a results folder; there are none where there is no such folder."""
    reader = _Reader(folder)
    return Finished(folder, list(reader.jobs()), reader.odd)


def read_footer(path: Path) -> dict[str, Any]:
    """Return what an artefact says without being read: its metadata, its rows and its bytes."""
    footer = read_metadata(path)
    facts = facts_of(footer.metadata)
    if "parameters" not in facts:
        raise InputError(f"{path}: not written by exparity")
    size = path.stat().st_size
    data_size = max(0, size - footer.serialized_size - _TAIL)
    return {**facts, "rows": footer.num_rows, "bytes": size, "data_bytes": data_size}


def read_benchmark(path: Path) -> Mapping[str, str | None]:
    """Return what Snakemake measured of the last run of a job by column; nothing without a file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            runs = list(csv.DictReader(file, delimiter="\t"))
    except FileNotFoundError:
        return {}
    if not runs or as_number(runs[-1].get("s")) is None:
        raise ValueError("not a benchmark file of Snakemake")
    return runs[-1]


def as_number(value: Any) -> float | None:
    """Return a number that a file holds, or None for anything else (``NA``, ``-``)."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) and number >= 0 else None


class _Reader:
    """One pass over a results folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.odd: list[str] = []
        self.footers = {
            artefact: dict(self._footers(artefact))
            for artefact in (*layout.PATHS, *layout.made_by_analyses().values())
            if artefact not in _BESIDE
        }
        self.examples: dict[Ids, int] = {
            ids: footer["rows"]
            for artefact in _EXAMPLES
            for ids, footer in self.footers[artefact].items()
        }

    def jobs(self) -> Iterator[JobCost]:
        """Yield every finished job, artefact by artefact."""
        for artefact, footers in self.footers.items():
            for ids, footer in footers.items():
                if artefact == "predictions":
                    yield from self._training(ids, footer)
                else:
                    yield self._job(ids, footer, self._kind(ids, footer))
        yield from self._report(self.folder / layout.REPORT["page"])

    def _report(self, page: Path) -> Iterator[JobCost]:
        if page.is_file():  # which is written last
            size = bytes_in(page.parent)
            facts = {"output": layout.REPORT["page"], "bytes": size, "data_bytes": size}
            kind = self._kind((), {"stage": "report", "parameters": {}})
            yield self._job((), facts, kind, examples=len(self.footers["scores"]))

    def _training(self, ids: Ids, footer: Mapping[str, Any]) -> Iterator[JobCost]:
        cell = dict(zip(IDS, ids, strict=False))
        history = self._footer(self.folder / layout.path_of("history", cell))
        if history is None:
            return
        model, train = layout.path_of("models", cell), self._train_examples(ids[0])
        facts = {
            **footer,
            **{key: history.get(key) for key in ("work_seconds", "earlier_seconds")},
            "output": model,
            "bytes": footer["bytes"] + bytes_in(self.folder / model),
            "data_bytes": 0,
        }
        examples = None if train is None else train * history["rows"]
        yield self._job(ids, facts, self._kind(ids, footer), examples=examples)

    def _job(self, ids: Ids, facts: Mapping[str, Any], kind: Kind, **changes: Any) -> JobCost:
        """Return a job from its facts."""
        in_parts = facts.get("work_seconds") is not None
        known = {
            "examples": _worked_on(facts) if in_parts else self.examples.get(ids),
            "output": facts["output"],
            "ids": {n: _id(n, id) for n, id in zip(ids_of(kind.stage), ids, strict=False)},
            "device": str(facts.get("device", "cpu")),
            "bytes": facts.get("bytes", 0),
            "data_bytes": facts.get("data_bytes", 0),
            **_used(self._benchmark(kind.stage, *ids), facts),
        }
        return JobCost(kind, **{**known, **changes})

    def _kind(self, ids: Ids, footer: Mapping[str, Any]) -> Kind:
        def parameters(stage: str, of: Ids) -> Any:
            return self.footers[_MADE_IN[stage]].get(of, {}).get("parameters")

        return kind_of(str(footer.get("stage")), ids, footer["parameters"], parameters)

    def _train_examples(self, dataset: str) -> int | None:
        if (dataset,) not in self.footers["data"]:
            return None
        path = self.folder / layout.path_of("data", {"dataset": dataset})
        with open_sealed(path) as file:
            return int(file.read(columns=["split"])["split"].to_pylist().count("train"))

    def _footers(self, artefact: str) -> Iterator[tuple[Ids, dict[str, Any]]]:
        for ids, path in layout.files(self.folder, artefact):
            footer = self._footer(path)
            if footer is not None:
                yield ids, footer

    def _footer(self, path: Path) -> dict[str, Any] | None:
        try:
            return {**read_footer(path), "output": path.relative_to(self.folder).as_posix()}
        except _UNREADABLE as error:
            self._leave_out(path, error)
            return None

    def _benchmark(self, rule: str, *ids: str) -> Mapping[str, str | None]:
        path = self.folder / layout.benchmark_of(rule, ids)
        try:
            return read_benchmark(path)
        except _UNREADABLE as error:
            self._leave_out(path, error)
            return {}

    def _leave_out(self, path: Path, error: BaseException) -> None:
        reason = str(error).splitlines()[0] or type(error).__name__
        self.odd.append(f"{path}: {reason.removeprefix(f'{path}: ')}")


def bytes_in(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _used(benchmark: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job used, by what Snakemake measured and by what it told of itself."""
    seconds, work = as_number(benchmark.get("s")), as_number(facts.get("work_seconds"))
    if seconds is not None:
        seconds += as_number(facts.get("earlier_seconds")) or 0.0
        work = work if work is None else min(work, seconds)  # they are rounded
    # The larger counts: each source can miss a part.
    cpu = benchmark.get("cpu_time"), facts.get("cpu_seconds")
    memory = benchmark.get("max_rss"), facts.get("max_rss_mb")
    return {
        "seconds": seconds,
        "work_seconds": work,
        "cpu_seconds": _largest(cpu),
        "max_rss_mb": _largest(memory),
    }


def _worked_on(facts: Mapping[str, Any]) -> int:
    """Return the examples of a job in parts, each as often as it draws; rows may be of steps."""
    examples = facts.get("examples")
    draws = int(facts["parameters"].get("draws") or 1)
    return int(facts["rows"] if examples is None else examples * draws)


def _largest(values: tuple[Any, ...]) -> float | None:
    return max((n for n in map(as_number, values) if n is not None), default=None)


def _id(name: str, id: str) -> str | int:
    return int(id) if name == "seed" and id.isdecimal() else id
