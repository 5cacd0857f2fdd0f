"""Finished jobs of a results folder and what each cost.

Where an artefact lies says which job made it, its footer how many rows it has and what the job
told of itself, and Snakemake's benchmark of the same ids how long it took from start to end.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.seal import open_sealed, read_metadata
from exparity.core.errors import InputError
from exparity.costs.kinds import GATHER, Kind, kind_of

Ids = tuple[str, ...]
IDS = ("dataset", "model", "seed", "method", "metric")
"""What the ids of a job are, in their order in its paths."""
_UNREADABLE = (OSError, ValueError)
_PREFIX = "exparity."
_TAIL = 8  # bytes of the length of the footer and of the closing mark
# Made by jobs that make more, or of the accounts themselves.
_BESIDE = ("models", "history", "training_set", "disparity", "cost")
_EXAMPLES = ("data", "predictions", "explanations", "scores")


@dataclass(frozen=True)
class Job:
    """A job of an experiment; what it cost where its output is there.

    Attributes:
        kind: what its cost depends on.
        examples: what it works on; of a training, its examples times its epochs. None if unknown.
        finished: whether its output is there, and need not be made again.
        output: its path below the results folder; of a shard, where its file was.
        ids: ids of its cell.
        shard: which share of the cell, such as ``1/4``; None for a whole one.
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
    shard: str | None = None
    seconds: float | None = None
    work_seconds: float | None = None
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None
    device: str = "cpu"
    bytes: int = 0
    data_bytes: int = 0


@dataclass(frozen=True)
class Finished:
    """The finished jobs of a results folder.

    Attributes:
        folder: the folder.
        jobs: in the order of artefacts and paths.
        odd: files that no sense could be made of, each with the reason.
    """

    folder: Path
    jobs: list[Job]
    odd: list[str]


def read_finished(folder: Path) -> Finished:
    """Read the finished jobs of a results folder; there are none where there is no such folder."""
    reader = _Reader(folder)
    return Finished(folder, list(reader.jobs()), reader.odd)


@dataclass(frozen=True)
class Footer:
    """What an artefact says without being read: its rows, its bytes, and what its job told."""

    rows: int
    size: int
    data_size: int
    raw: Mapping[bytes, bytes]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an entry of exparity's metadata."""
        value = self.raw.get(f"{_PREFIX}{name}".encode())
        return default if value is None else json.loads(value)

    @cached_property
    def parameters(self) -> str:
        """The parameters of the job, as JSON."""
        return self.raw[f"{_PREFIX}parameters".encode()].decode()


def read_footer(path: Path) -> Footer:
    """Read the footer of an artefact.

    Raises:
        InputError: it cannot be read, is damaged, or was not written by exparity.
    """
    footer = read_metadata(path)
    raw = footer.metadata or {}
    if f"{_PREFIX}parameters".encode() not in raw:
        raise InputError(f"{path}: not written by exparity")
    size = path.stat().st_size
    return Footer(footer.num_rows, size, max(0, size - footer.serialized_size - _TAIL), raw)


def read_benchmark(path: Path) -> Mapping[str, str | None]:
    """Return what Snakemake measured of the last run of a job, by column; nothing without a file.

    Raises:
        ValueError: it is no benchmark file.
        OSError: it cannot be read.
    """
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
            ids: footer.rows
            for artefact in _EXAMPLES
            for ids, footer in self.footers[artefact].items()
        }

    def jobs(self) -> Iterator[Job]:
        """Yield every finished job, artefact by artefact."""
        for artefact, footers in self.footers.items():
            for ids, footer in footers.items():
                if artefact == "predictions":
                    yield from self._training(ids, footer)
                else:
                    yield from self._in_parts(artefact, ids, footer)
        yield from self._report(self.folder / "report")

    def _report(self, folder: Path) -> Iterator[Job]:
        if not (folder / "index.html").is_file():  # which is written last
            return
        footer = self._footer(self.folder / layout.path_of("disparity", {}))
        if footer is not None:
            job = self._job("report/index.html", (), footer, kind_of("report", "{}"))
            size, tests = size_of(folder), len(self.footers["tests"])
            yield replace(job, examples=tests, bytes=size, data_bytes=size)

    def _training(self, ids: Ids, footer: Footer) -> Iterator[Job]:
        cell = dict(zip(IDS, ids, strict=False))
        history = self._footer(self.folder / layout.path_of("history", cell))
        if history is None:
            return
        model = layout.path_of("models", cell)
        train, kind = self._train_examples(ids[0]), self._kind("finetune", ids, footer.parameters)
        job = self._job(model, ids, footer, kind, times=history)
        yield replace(
            job,
            examples=None if train is None else train * history.rows,
            bytes=footer.size + size_of(self.folder / model),
            data_bytes=0,
        )

    def _in_parts(self, artefact: str, ids: Ids, footer: Footer) -> Iterator[Job]:
        """Yield the job that made an artefact, or its shards and what gathered them."""
        stage, shares = str(footer.get("stage")), footer.get("shards", [])
        kind = self._kind(stage, ids, footer.parameters)
        output = layout.path_of(artefact, dict(zip(IDS, ids, strict=False)))
        if not shares:
            yield self._job(output, ids, footer, kind)
            return
        for share in shares:
            name = f"{share['index']}-of-{share['of']}"
            benchmark = self._benchmark(f"{stage}_shard", *ids, name)
            yield Job(
                kind,
                int(share["examples"]),
                output=f"shards/{output.removesuffix('.parquet')}/{name}.parquet",
                ids=_named(ids),
                shard=f"{share['index']}/{share['of']}",
                device=str(share.get("device", "cpu")),
                **_used(benchmark, share),
            )
        job = self._job(output, ids, footer, Kind((GATHER,)), rule=stage)
        yield replace(job, work_seconds=None)

    def _job(
        self,
        output: str,
        ids: Ids,
        footer: Footer,
        kind: Kind,
        *,
        times: Footer | None = None,
        rule: str = "",
    ) -> Job:
        """Return a job that made a file; ``times`` and the name of its rule if not by its own."""
        told = {name: footer.get(name) for name in ("cpu_seconds", "max_rss_mb")}
        told |= {name: (times or footer).get(name) for name in ("work_seconds", "earlier_seconds")}
        in_parts = told["work_seconds"] is not None
        return Job(
            kind,
            footer.rows if in_parts else self.examples.get(ids),
            output=output,
            ids=_named(ids),
            device=str(footer.get("device", "cpu")),
            bytes=footer.size,
            data_bytes=footer.data_size,
            **_used(self._benchmark(rule or kind.stage, *ids), told),
        )

    def _kind(self, stage: str, ids: Ids, parameters: str) -> Kind:
        def made_from(artefact: str, of: Ids, otherwise: str) -> str:
            footer = self.footers[artefact].get(of)
            return footer.parameters if footer else otherwise

        return kind_of(
            stage,
            parameters,
            made_from("explanations", ids[:4], "{}"),
            made_from("predictions", ids[:3], json.dumps("/".join(ids[:3]))),
            made_from("data", ids[:1], json.dumps("/".join(ids[:1]))),
        )

    def _train_examples(self, dataset: str) -> int | None:
        if (dataset,) not in self.footers["data"]:
            return None
        path = self.folder / layout.path_of("data", {"dataset": dataset})
        with open_sealed(path) as file:
            return int(file.read(columns=["split"])["split"].to_pylist().count("train"))

    def _footers(self, artefact: str) -> Iterator[tuple[Ids, Footer]]:
        for ids, path in layout.files(self.folder, artefact):
            footer = self._footer(path)
            if footer is not None:
                yield ids, footer

    def _footer(self, path: Path) -> Footer | None:
        try:
            return read_footer(path)
        except _UNREADABLE as error:
            self._leave_out(path, error)
            return None

    def _benchmark(self, rule: str, *ids: str) -> Mapping[str, str | None]:
        path = self.folder.joinpath(layout.benchmark_of(rule, ids))
        try:
            return read_benchmark(path)
        except _UNREADABLE as error:
            self._leave_out(path, error)
            return {}

    def _leave_out(self, path: Path, error: BaseException) -> None:
        reason = str(error).splitlines()[0] or type(error).__name__
        self.odd.append(f"{path}: {reason.removeprefix(f'{path}: ')}")


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _used(benchmark: Mapping[str, Any], told: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job used, by what Snakemake measured and by what it told of itself.

    Of processor time and memory the larger counts: each source can miss a part.
    """
    seconds, work = as_number(benchmark.get("s")), as_number(told.get("work_seconds"))
    if seconds is not None:
        seconds += as_number(told.get("earlier_seconds")) or 0.0
        work = work if work is None else min(work, seconds)  # they are rounded
    cpu = benchmark.get("cpu_time"), told.get("cpu_seconds")
    memory = benchmark.get("max_rss"), told.get("max_rss_mb")
    return {
        "seconds": seconds,
        "work_seconds": work,
        "cpu_seconds": _largest(cpu),
        "max_rss_mb": _largest(memory),
    }


def _largest(values: tuple[Any, ...]) -> float | None:
    return max((n for n in map(as_number, values) if n is not None), default=None)


def _named(ids: Ids) -> dict[str, str | int]:
    named: dict[str, str | int] = dict(zip(IDS, ids, strict=False))
    if str(named.get("seed", "")).isdecimal():
        named["seed"] = int(named["seed"])
    return named
