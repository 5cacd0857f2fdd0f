"""Parts: the finished chunks of a job's examples, kept beside its output until that is whole.

A part is a Parquet file without the suffix, so that no reader of the results sees it. It is
valid only for the fingerprint of all that its rows depend on. Chunks depend on the list of examples
alone: a job computes the same batches, and so the same bits, however often it is interrupted.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.files import join_tables, read_parquet, save_parquet, table_of
from exparity.artefacts.lineage import fingerprint, sha256_of
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.jobs.locks import job_lock
from exparity.jobs.stop import Stopped
from exparity.models.manifest import digests_of
from exparity.types import Example

log = logging.getLogger(__name__)

_PASSES = 16000


def chunk_size(passes: int) -> int:
    """Return how many examples make a part: few where each takes many model passes."""
    return max(4, min(256, _PASSES // passes))


@dataclass(frozen=True)
class Job:
    """Work of a stage on the examples of a cell, and the facts that its rows depend on."""

    output: Path
    artefact: str
    ids: Mapping[str, str | int]
    parameters: Mapping[str, Any]  # as the artefact's metadata has them
    files: Sequence[Path]  # that it reads
    checkpoint: Path | None  # of the classifier, if it is run
    sources: Sequence[Path]  # implementing modules
    passes: int  # of the model per example, roughly
    load: Callable[[], Any] | None  # the model; work without one is over before saving pays
    doing: str  # what the progress says
    known: Mapping[str, Any]  # of the artefact, unless the parts say otherwise

    def fingerprint(self) -> str:
        """Digest everything but the examples; reads all inputs."""
        inputs = [sha256_of(path) for path in self.files]
        if self.checkpoint is not None:
            inputs += [f"{name} {digest}" for name, digest in digests_of(self.checkpoint).items()]
        digest = source_digest(*(path for path in self.sources if path.is_file()))
        cell = self.artefact, self.ids, self.parameters
        return fingerprint(version("exparity"), *cell, inputs, digest)


def _seconds(done: Mapping[int, Mapping[str, Any]]) -> float:
    return float(sum(facts.get("seconds", 0.0) for facts in done.values()))


def _ids(examples: Sequence[Example]) -> list[str]:
    return [example.example_id for example in examples]


@dataclass
class Parts:
    """The chunks of one job: which are done, and what came out."""

    job: Job
    chunks: Mapping[int, Sequence[Example]]  # by position in the whole cell
    folder: Path | None  # where part files go; None if they are not worth it
    key: str = ""  # the job's fingerprint, where it is needed
    provenance: dict[str, Any] = field(default_factory=dict)  # that the artefact must carry
    finished: bool = False  # by another job meanwhile
    done: dict[int, dict[str, Any]] = field(default_factory=dict)  # what is known of each
    earlier_seconds: float = 0.0  # of the chunks of an earlier run
    _tables: dict[int, pa.Table] = field(default_factory=dict)

    @property
    def todo(self) -> dict[int, Sequence[Example]]:
        """Chunks that are still to be computed, by position."""
        return {at: chunk for at, chunk in self.chunks.items() if at not in self.done}

    @property
    def kept(self) -> int:
        """Examples that a restarted job need not compute again: those whose part is on disk."""
        if self.folder is None:
            return 0
        return sum(len(chunk) for at, chunk in self.chunks.items() if self._path(at).is_file())

    def add(self, position: int, rows: Sequence[Mapping[str, Any]], **facts: Any) -> None:
        """Keep the rows of a finished chunk, and facts about it, such as its ``seconds``."""
        table = table_of(self.job.output, self.job.artefact, rows, self.job.ids)
        if self.folder is None:
            self._tables[position] = table
        else:
            facts["fingerprint"] = self._fingerprint(position)
            save_parquet(self._path(position), table, facts)
        self.done[position] = facts

    def spent(self) -> dict[str, float]:
        """Return the time that all chunks took, and those that an interrupted run has left."""
        spent = {"work_seconds": _seconds(self.done), "earlier_seconds": self.earlier_seconds}
        return {name: round(seconds, 3) for name, seconds in spent.items()}

    def table(self) -> pa.Table:
        """Return the rows of all chunks as the artefact has them."""
        if self.folder is None:
            tables = list(self._tables.values())
        else:
            tables = [read_parquet(self._path(at))[0] for at in sorted(self.chunks)]
        return join_tables(self.job.artefact, tables)

    def _path(self, position: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{position:05d}.part"

    def _fingerprint(self, position: int) -> str:
        return fingerprint(self.key, _ids(self.chunks[position]))

    def take_over(self) -> None:
        """Find the parts of an earlier run; delete those that do not belong to this job."""
        assert self.folder is not None
        positions = {self._path(at): at for at in self.chunks}
        stale = damaged = 0
        for path in sorted(self.folder.glob("*.part")):
            try:
                facts, position = read_parquet(path)[1], positions.get(path)
            except InputError:
                damaged += 1
            else:
                if position is not None and facts.get("fingerprint") == self._fingerprint(position):
                    self.done[position] = facts
                    continue
                stale += 1
            path.unlink()
        for path in self.folder.glob(".*.tmp"):
            path.unlink()
        if stale or damaged:
            reason = "inputs, parameters or source changed" if stale else "unreadable"
            log.info("discarded parts of an earlier run (%d): %s", stale + damaged, reason)
        self.earlier_seconds = _seconds(self.done)
        if self.done:
            total = sum(map(len, self.chunks.values()))
            log.info("%d of %d examples are taken over from an earlier run", self.kept, total)


def chunks_of(examples: Sequence[Example], passes: int) -> dict[int, Sequence[Example]]:
    """Return the chunks of a cell's examples by their position."""
    size = chunk_size(passes)
    firsts = range(0, len(examples), size)
    return {position: examples[first : first + size] for position, first in enumerate(firsts)}


@contextmanager
def open_parts(job: Job, examples: Sequence[Example]) -> Iterator[Parts]:
    """Open the parts of a job; they are removed after the block if it ended well.

    The block writes the artefact, unless the parts are ``finished``.
    """
    chunks = chunks_of(examples, job.passes)
    folder = job.output.with_name(f"{job.output.name}.parts")
    parts = Parts(job, chunks, folder if job.load and len(chunks) > 1 else None)
    if parts.folder:
        parts.key = job.fingerprint()
        parts.provenance["fingerprint"] = fingerprint(parts.key, _ids(examples))
    with _held(parts.folder) as waited:
        parts.finished = waited and _written(job.output, parts.provenance)
        if parts.finished:
            log.info("%s: finished by another job meanwhile", job.output)
        elif parts.folder:
            parts.take_over()
        try:
            yield parts
        except Stopped as stopped:
            stopped.kept, stopped.total = parts.kept, sum(map(len, chunks.values()))
            raise


@contextmanager
def _held(folder: Path | None) -> Iterator[bool]:
    """Hold a folder's lock; the folder goes when all is done, or if nothing was saved in it."""
    if folder is None:
        yield False
        return
    lock = folder / ".lock"
    with job_lock(lock) as waited:
        try:
            yield waited
        except BaseException:
            with suppress(OSError):
                lock.unlink()
                folder.rmdir()
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _written(output: Path, provenance: Mapping[str, Any]) -> bool:
    try:
        facts = read_parquet(output)[1]
    except InputError:
        return False
    return all(facts.get(name) == value for name, value in provenance.items())
