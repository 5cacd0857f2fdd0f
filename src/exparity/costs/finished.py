"""Finished jobs of a results folder and what each cost.

Where an artefact lies says which job made it, its footer how many rows it has and what the job
told of itself, and Snakemake's benchmark of the same path how long the job took from start to end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exparity.artefacts.layout import ANALYSES
from exparity.artefacts.seal import open_sealed
from exparity.costs import kinds
from exparity.costs.footers import (
    UNREADABLE,
    Benchmark,
    Footer,
    as_number,
    parquet_files,
    read_benchmark,
    read_footer,
    size_of,
)
from exparity.costs.job import FinishedJob
from exparity.costs.kinds import Kind

_IDS = ("dataset", "model", "seed", "method", "metric")


@dataclass(frozen=True)
class Finished:
    """The finished jobs of a results folder.

    Attributes:
        folder: the folder.
        jobs: in the order of stages and paths.
        odd: files that no sense could be made of, each with the reason.
    """

    folder: Path
    jobs: list[FinishedJob]
    odd: list[str]


def read_finished(folder: Path) -> Finished:
    """Read the finished jobs of a results folder; there are none where there is no such folder."""
    reader = _Reader(folder)
    return Finished(folder, list(reader.jobs()), reader.odd)


class _Reader:
    """One pass over a results folder.

    Paths are those of artefacts below their own folder, without suffix: the ids of a cell.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.odd: list[str] = []
        self.data = self._footers("data")
        self.predictions = self._footers("predictions")
        self.explanations = self._footers("explanations")
        self.scores = self._footers("scores")
        self.scored = Counter[str]()  # rows of all scores of a classifier
        for path, footer in self.scores.items():
            self.scored[_classifier(path)] += footer.rows

    def jobs(self) -> Iterator[FinishedJob]:
        """Yield every finished job, stage by stage."""
        for path, footer in self.data.items():
            kind = kinds.prepare_kind(self._dataset(path))
            yield self._light("data", path, footer, kind, footer.rows)
        for path, footer in self.predictions.items():
            yield from self._training(path, footer)
        for path, footer in self._footers("bias").items():
            yield self._statistics("bias", "bias", path, footer, self.predictions.get(path))
        for path, footer in self.explanations.items():
            kind = kinds.explain_kind(footer.parameters, self._model(path), self._dataset(path))
            yield from self._in_parts("explanations", path, footer, kind)
        for path, footer in self.scores.items():
            explained = self.explanations.get(path.rpartition("/")[0])
            kind = kinds.evaluate_kind(
                footer.parameters,
                explained.parameters if explained else "{}",
                self._model(path),
                self._dataset(path),
            )
            yield from self._in_parts("scores", path, footer, kind)
        tests = self._footers("tests")
        for path, footer in tests.items():
            yield self._statistics("test", "tests", path, footer, self.scores.get(path))
        for path, footer in self._footers("controls").items():
            kind = kinds.statistics_kind("control", footer.parameters, self._dataset(path))
            yield self._light("controls", path, footer, kind, self.scored[path] or None)
        for name in ANALYSES:
            yield from self._analysis(name)
        yield from self._report(len(tests))

    # Jobs of one kind each

    def _statistics(
        self, stage: str, artefact: str, path: str, footer: Footer, source: Footer | None
    ) -> FinishedJob:
        kind = kinds.statistics_kind(stage, footer.parameters, self._dataset(path))
        return self._light(artefact, path, footer, kind, source.rows if source else None)

    def _light(
        self, artefact: str, path: str, footer: Footer, kind: Kind, examples: int | None
    ) -> FinishedJob:
        """Return a job of seconds, most of which is its start."""
        used = self._benchmark(f"{kind.stage}/{path}")
        return _job(f"{artefact}/{path}.parquet", path, footer, kind, used, examples)

    def _training(self, path: str, footer: Footer) -> Iterator[FinishedJob]:
        folder = self.folder / "models" / path
        history = self._footer(folder / "history.parquet")
        if history is None:
            return
        train = self._train_rows(path)
        job = _job(
            f"models/{path}",
            path,
            footer,
            kinds.finetune_kind(history.parameters, self._dataset(path)),
            self._benchmark(f"finetune/{path}"),
            None if train is None else train * history.rows,
            float(sum(_column(folder / "history.parquet", "seconds"))),
            history.number("earlier_seconds"),
        )
        yield replace(job, bytes=footer.size + size_of(folder), data_bytes=0)

    def _in_parts(
        self, artefact: str, path: str, footer: Footer, kind: Kind
    ) -> Iterator[FinishedJob]:
        """Yield the job that made an artefact, or its shards and what gathered them."""
        shares = footer.get("shards", [])
        own = self._benchmark(f"{kind.stage}/{path}")
        output = f"{artefact}/{path}.parquet"
        if not shares:
            work, earlier = footer.number("work_seconds"), footer.number("earlier_seconds")
            yield _job(output, path, footer, kind, own, footer.rows, work, earlier)
            return
        for share in shares:
            name = f"{share['index']}-of-{share['of']}"
            used = self._benchmark(f"{kind.stage}_shard/{path}/{name}")
            yield FinishedJob(
                f"shards/{artefact}/{path}/{name}.parquet",
                kind,
                _ids(path),
                f"{share['index']}/{share['of']}",
                int(share["examples"]),
                *_times(used, share.get("work_seconds"), share.get("earlier_seconds")),
                _most(used.cpu_seconds, share.get("cpu_seconds")),
                _most(used.max_rss_mb, share.get("max_rss_mb")),
                str(share.get("device", "cpu")),
            )
        yield _job(output, path, footer, Kind("gather"), own, footer.rows)

    def _analysis(self, name: str) -> Iterator[FinishedJob]:
        artefact = ANALYSES[name]
        for path, footer in self._footers(artefact).items():
            source = self.predictions.get(path) or self.data.get(path)
            kind = kinds.analysis_kind(name, self._model(path), self._dataset(path))
            if kind.runs_model:
                yield from self._in_parts(artefact, path, footer, kind)
            else:
                rows = source.rows if source else None
                yield self._light(artefact, path, footer, kind, rows)

    def _report(self, tests: int) -> Iterator[FinishedJob]:
        folder = self.folder / "report"
        if not (folder / "index.html").is_file():
            return
        footer = self._footer(folder / "disparity.parquet")
        if footer is not None:
            used = self._benchmark("report")
            job = _job("report/index.html", "", footer, Kind("report"), used, tests)
            size = size_of(folder)
            yield replace(job, bytes=size, data_bytes=size)

    # What lies around an artefact

    def _dataset(self, path: str) -> str:
        dataset = path.split("/")[0]
        footer = self.data.get(dataset)
        return kinds.dataset_text(footer.parameters) if footer else f"the one named {dataset}"

    def _model(self, path: str) -> str:
        footer = self.predictions.get(_classifier(path))
        return kinds.model_text(footer.parameters) if footer else f"the one of {_classifier(path)}"

    def _train_rows(self, path: str) -> int | None:
        dataset = path.split("/")[0]
        if dataset not in self.data:
            return None
        splits = _column(self.folder / "data" / f"{dataset}.parquet", "split")
        return splits.count("train")

    def _footers(self, artefact: str) -> dict[str, Footer]:
        found = {}
        for path, file in parquet_files(self.folder / artefact).items():
            footer = self._footer(file)
            if footer is not None:
                found[path] = footer
        return found

    def _footer(self, path: Path) -> Footer | None:
        try:
            return read_footer(path)
        except UNREADABLE as error:
            self._say(path, error)
            return None

    def _benchmark(self, name: str) -> Benchmark:
        path = self.folder / "benchmarks" / f"{name}.tsv"
        try:
            return read_benchmark(path)
        except UNREADABLE as error:
            self._say(path, error)
            return Benchmark()

    def _say(self, path: Path, error: BaseException) -> None:
        reason = str(error).splitlines()[0] or type(error).__name__
        self.odd.append(f"{path}: {reason.removeprefix(f'{path}: ')}")


def _column(path: Path, name: str) -> list[Any]:
    with open_sealed(path) as file:
        values: list[Any] = file.read(columns=[name])[name].to_pylist()
    return values


def _job(
    output: str,
    path: str,
    footer: Footer,
    kind: Kind,
    used: Benchmark,
    examples: int | None,
    work: float | None = None,
    earlier: float | None = None,
) -> FinishedJob:
    return FinishedJob(
        output,
        kind,
        _ids(path),
        None,
        examples,
        *_times(used, work, earlier),
        _most(used.cpu_seconds, footer.number("cpu_seconds")),
        _most(used.max_rss_mb, footer.number("max_rss_mb")),
        str(footer.get("device", "cpu")),
        footer.size,
        footer.data_size,
    )


def _times(used: Benchmark, work: Any, earlier: Any) -> tuple[float | None, float | None]:
    """Return the seconds of a job from start to end, and those that grew with its examples."""
    work = as_number(work)
    if used.seconds is None:
        return None, work
    seconds = used.seconds + (as_number(earlier) or 0.0)
    return seconds, work if work is None else min(work, seconds)  # they are rounded


def _most(*values: Any) -> float | None:
    """Return the largest of what is known: each source can miss a part."""
    known = [number for number in map(as_number, values) if number is not None]
    return max(known, default=None)


def _ids(path: str) -> dict[str, str | int]:
    parts = path.split("/") if path else []
    found: dict[str, str | int] = dict(zip(_IDS, parts, strict=False))
    if str(found.get("seed", "")).isdecimal():
        found["seed"] = int(found["seed"])
    return found


def _classifier(path: str) -> str:
    return "/".join(path.split("/")[:3])
