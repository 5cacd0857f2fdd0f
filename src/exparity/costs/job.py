"""A finished job and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from exparity.costs.kinds import Kind


@dataclass(frozen=True)
class FinishedJob:
    """A job whose output is there.

    Attributes:
        output: its path below the results folder; of a shard, where its file was.
        kind: what its cost depends on.
        ids: ids of its cell.
        shard: which share of the cell, such as ``1/4``; None for a whole one.
        examples: what it worked on; of a training, its examples times its epochs. None if unknown.
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

    output: str
    kind: Kind
    ids: Mapping[str, str | int] = field(default_factory=dict)
    shard: str | None = None
    examples: int | None = None
    seconds: float | None = None
    work_seconds: float | None = None
    cpu_seconds: float | None = None
    max_rss_mb: float | None = None
    device: str = "cpu"
    bytes: int = 0
    data_bytes: int = 0
