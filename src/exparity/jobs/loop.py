"""The loop over the examples of a cell: part by part, continued where an earlier job stopped."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exparity.artefacts.files import write_artefact
from exparity.core.device import give_back_memory, make_repeatable
from exparity.core.progress import Progress
from exparity.interface import Example
from exparity.jobs.parts import Job, Shard, open_parts

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)

Chunks = Sequence[Sequence[Example]]
Compute = Callable[[Sequence[Example]], tuple[list[dict[str, Any]], dict[str, Any]]]
"""From the examples of one part to their rows, and facts about the part."""


@dataclass(frozen=True)
class Work:
    """What a stage does with the examples of a cell.

    Attributes:
        doing: what the progress says.
        passes: model passes per example, roughly.
        load: returns the model, which has a ``device``; None for work without one, which is over
            before saving pays.
        begin: from the model, the parts to do, and whether no earlier job has done any, to
            what computes a part. Finds out first what would go wrong.
        known: what the artefact says of itself, unless the parts say otherwise.
        since: when the job began.
    """

    doing: str
    passes: int
    load: Callable[[], Any] | None
    begin: Callable[[Any, Chunks, bool], Compute]
    known: Mapping[str, Any]
    since: float


def merged(facts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what parts or shards found out, as the whole says it."""
    each = list(facts)
    whole: dict[str, Any] = {}
    if any("flags" in f for f in each):
        whole["flags"] = sorted({flag for f in each for flag in f.get("flags", [])})
    if any("n_truncated" in f for f in each):
        whole["n_truncated"] = sum(f.get("n_truncated", 0) for f in each)
    notes = sum((Counter(f.get("notes", {})) for f in each), Counter[str]())
    return {**whole, **({"notes": notes} if notes else {})}


def run(job: Job, examples: Sequence[Example], work: Work, shard: Shard) -> pa.Table | None:
    """Compute the rows of a job and write its artefact.

    Args:
        job: what is made, and what it depends on.
        examples: all examples of the cell.
        work: how its rows are computed.
        shard: which of the examples are this job's.

    Returns:
        The artefact's table; None if another job has written it meanwhile.
    """
    with open_parts(job, examples, work.passes, shard, save=work.load is not None) as parts:
        if parts.finished:
            return None
        model = work.load() if work.load else None
        todo = parts.todo
        compute = work.begin(model, list(todo.values()), not parts.done)
        with Progress(sum(map(len, todo.values())), work.doing) as progress:
            for position, part in parts.each():
                rows, facts = compute(part)
                parts.add(position, rows, **facts)
                progress.advance(len(part))
                if model:
                    give_back_memory()
        seconds, device = time.monotonic() - work.since, model.device if model else "cpu"
        log.info("%d examples in %.1f s on %s", progress.done, seconds, device)
        table = parts.table()
        write_artefact(
            job.output,
            job.artefact,
            table,
            job.ids,
            stage=job.stage,
            parameters=job.parameters,
            device=str(device),
            seconds=seconds,
            extra={
                **work.known,
                **merged(parts.done.values()),
                **parts.provenance,
                **parts.spent(),
            },
        )
        return table


def load(
    checkpoint: Any, precision: str, device: str, threads: int | None, **machine: Any
) -> Classifier:
    """Load the classifier of a job; see :func:`exparity.load_classifier`."""
    from exparity.engine import load_classifier

    make_repeatable(threads)
    return load_classifier(str(checkpoint), device, precision, **machine)
