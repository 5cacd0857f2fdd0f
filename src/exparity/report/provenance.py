"""Where the artefacts of a grid come from and what they cost: read from their metadata."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.layout import made_by_analyses
from exparity.artefacts.seal import read_metadata
from exparity.core.errors import InputError
from exparity.report.cells import Ids, artefact_paths
from exparity.report.gather import Study

_STAGES = ("prepare", "finetune", "explain", "evaluate", "test")
_ARTEFACTS = ("data", "history", "predictions", "explanations", "scores", "tests")


@dataclass(frozen=True)
class Origin:
    """What one artefact says about itself.

    Attributes:
        artefact: which artefact it is.
        ids: its cell.
        stage: stage that made it.
        facts: its metadata.
    """

    artefact: str
    ids: Ids
    stage: str
    facts: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        """Wall time of the computation."""
        return float(self.facts.get("wall_seconds") or 0.0)

    @property
    def device(self) -> str:
        """Where the model ran."""
        return str(self.facts.get("device") or "unknown")

    @property
    def on_gpu(self) -> bool:
        """Whether it occupied a GPU."""
        return self.device.startswith("cuda")


def read_origins(
    results: Path, study: Study, known: Mapping[Ids, Mapping[bytes, bytes]]
) -> list[Origin]:
    """Return the provenance of every artefact of a grid that is there.

    Args:
        results: folder of all results.
        study: the grid.
        known: raw metadata of scores that have been read already, by cell.
    """
    return [
        _origin(artefact, ids, metadata)
        for artefact in (*_ARTEFACTS, *made_by_analyses().values())
        for ids, metadata in _metadata(results, study, artefact, known)
    ]


def _metadata(
    results: Path, study: Study, artefact: str, known: Mapping[Ids, Mapping[bytes, bytes]]
) -> Iterator[tuple[Ids, Mapping[bytes, bytes]]]:
    if artefact == "scores":
        yield from known.items()
        return
    for ids, path in artefact_paths(results, study, artefact):
        try:
            yield ids, read_metadata(path).metadata or {}
        except InputError:
            continue  # what the report needs of it has been checked elsewhere


@cache
def _parsed(text: bytes) -> Any:
    """Parse a fact; most are the same in thousands of files."""
    return json.loads(text)


def _origin(artefact: str, ids: Ids, metadata: Mapping[bytes, bytes]) -> Origin:
    prefix = b"exparity."
    facts = {
        key.removeprefix(prefix).decode(): _parsed(value)
        for key, value in metadata.items()
        if key.startswith(prefix)
    }
    return Origin(artefact, ids, str(facts.get("stage", "")), facts)


@dataclass(frozen=True)
class Cost:
    """What the jobs of a stage, or part of one, took.

    Attributes:
        stage: the stage.
        part: the method or metric; empty for the whole stage.
        jobs: finished jobs.
        seconds: their computing time in all.
        gpu_seconds: of it, with a GPU.
        devices: where the models ran.
        job_seconds: time from start to end of the processes, reading and loading included; None
            where it was not measured.
        peak_mb: largest resident memory of a job, in MiB; None where it was not measured.
    """

    stage: str
    part: str
    jobs: int
    seconds: float
    gpu_seconds: float
    devices: tuple[str, ...]
    job_seconds: float | None = None
    peak_mb: float | None = None

    @property
    def gpu_hours(self) -> float:
        """Hours with a GPU."""
        return self.gpu_seconds / 3600


def cost_by_stage(origins: Sequence[Origin], results: Path) -> list[Cost]:
    """Sum up the time of artefacts by stage.

    A job that writes two artefacts counts once, with the longer time.

    Args:
        origins: what :func:`read_origins` returned.
        results: folder of all results, with Snakemake's benchmark files.
    """
    found = _sum(origins, lambda origin: (origin.stage, ""))
    return [
        Cost(**{**vars(cost), **_benchmarks(results / "benchmarks" / cost.stage)}) for cost in found
    ]


def cost_by_part(origins: Sequence[Origin]) -> list[Cost]:
    """Sum up the time of explanations by method, and of scores by metric."""
    return [
        *_sum([o for o in origins if o.artefact == "explanations"], lambda o: (o.stage, o.ids[3])),
        *_sum([o for o in origins if o.artefact == "scores"], lambda o: (o.stage, o.ids[4])),
    ]


def _sum(origins: Sequence[Origin], key: Any) -> list[Cost]:
    jobs: dict[tuple[str, str], dict[Ids, Origin]] = defaultdict(dict)
    for origin in origins:
        of_key = jobs[key(origin)]
        if origin.ids not in of_key or origin.seconds > of_key[origin.ids].seconds:
            of_key[origin.ids] = origin
    order = [*_STAGES, *ANALYSES.ids()]
    return [
        Cost(
            stage=stage,
            part=part,
            jobs=len(found),
            seconds=sum(o.seconds for o in found.values()),
            gpu_seconds=sum(o.seconds for o in found.values() if o.on_gpu),
            devices=tuple(sorted({o.device for o in found.values()})),
        )
        for (stage, part), found in sorted(
            jobs.items(), key=lambda item: order.index(item[0][0]) if item[0][0] in order else 99
        )
    ]


def _benchmarks(place: Path) -> dict[str, float | None]:
    """Return time and memory of the jobs of a stage as Snakemake measured them."""
    seconds, peak, seen = 0.0, 0.0, False
    for path in place.rglob("*.tsv") if place.is_dir() else ():
        try:
            head, *lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            row = dict(zip(head.split("\t"), line.split("\t"), strict=False))
            try:
                seconds += float(row["s"])
                seen = True
                peak = max(peak, float(row["max_rss"]))
            except (KeyError, ValueError):
                continue  # a job too short to be measured says NA or -
    return {"job_seconds": seconds if seen else None, "peak_mb": peak or None}


def versions(origins: Sequence[Origin]) -> dict[str, list[tuple[str, int]]]:
    """Return the versions that artefacts were made with, and how many with each.

    Returns:
        By name (``exparity``, ``commit``, then packages), most frequent first.
    """
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for origin in origins:
        counts["exparity"][str(origin.facts.get("version", "unknown"))] += 1
        counts["commit"][str(origin.facts.get("commit", "unknown"))] += 1
        for package, version in (origin.facts.get("packages") or {}).items():
            counts[package][str(version)] += 1
    return {name: found.most_common() for name, found in counts.items()}
