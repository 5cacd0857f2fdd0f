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
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.files import join_tables, read_parquet, save_parquet, table_of
from exparity.artefacts.ids import Ids
from exparity.artefacts.lineage import fingerprint, identity, sha256_of
from exparity.core.digest import source_digest
from exparity.core.errors import InputError
from exparity.core.plain import as_float
from exparity.jobs.locks import job_lock
from exparity.jobs.stop import Stopped
from exparity.models.folders import n_weights
from exparity.types import Example

log = logging.getLogger(__name__)

USUAL_UNITS = 20
"""Units of a text where its length is not known, roughly."""
_PASSES = 16000
_SMALL = 1 << 22
"""Weights of a model below which a part has more passes: each takes so little."""
_MOST_MORE = 16
_NAME = "{:05d}.part"


def chunk_size(passes: int) -> int:
    """Return how many examples make a part: few where each takes many model passes."""
    return max(4, min(256, _PASSES // passes))


def _passes_of_an_example(job: Job) -> int:
    """Return about how many passes an example takes, as passes of a model that is not small.

    A part's batches hold inputs of one length each: of a small model, many parts make many small
    batches, in which what each call costs is more than the arithmetic.
    """
    weights = n_weights(str(job.checkpoint)) if job.checkpoint else None
    more = min(_MOST_MORE, max(1, _SMALL // (weights or _SMALL)))
    return max(1, job.passes // more)


@dataclass(frozen=True)
class Job:
    """Work of a stage on the examples of a cell, and the facts that its rows depend on."""

    output: Path
    artefact: str
    ids: Ids
    parameters: Mapping[str, object]  # as the artefact's metadata has them
    files: Sequence[Path]  # that it reads
    checkpoint: Path | None  # of the classifier, if it is run
    sources: Sequence[Path]  # implementing modules
    passes: int  # of the model per example, roughly
    load: Callable[[], Any] | None  # loads the model; None without one, where no parts are kept
    doing: str  # what the progress says
    facts: Mapping[str, object]  # of the artefact, unless the parts say otherwise
    is_one_part: bool = False  # the rows of a text depend on the other texts

    def fingerprint(self) -> str:
        """Digest everything but the examples; reads all inputs."""
        inputs = [sha256_of(path) for path in self.files]
        if self.checkpoint is not None:
            inputs.append(identity(self.checkpoint))
        digest = source_digest(*(path for path in self.sources if path.is_file()))
        cell = self.artefact, self.ids, self.parameters
        return fingerprint(version("exparity"), *cell, inputs, digest)


class Parts:
    """The chunks of one job: which are done, and what came out.

    Args:
        job: the job.
        examples: those that it works on.

    Attributes:
        chunks: examples of each part, by its position.
        folder: place of the part files; None where saving them does not pay.
        provenance: facts that the artefact must carry.
        done: facts about each finished part, by its position.
        earlier_seconds: time that the parts of an earlier run took.
    """

    def __init__(self, job: Job, examples: Sequence[Example]) -> None:
        self.job = job
        size = max(1, len(examples)) if job.is_one_part else chunk_size(_passes_of_an_example(job))
        firsts = range(0, len(examples), size)
        self.chunks = {at: examples[first : first + size] for at, first in enumerate(firsts)}
        self.folder: Path | None = None
        self.provenance: dict[str, str] = {}
        self.done: dict[int, dict[str, object]] = {}
        self.earlier_seconds = 0.0
        self._tables: dict[int, pa.Table] = {}
        self._key = ""
        if job.load and len(self.chunks) > 1:
            self.folder = job.output.with_name(f"{job.output.name}.parts")
            self._key = job.fingerprint()
            self.provenance = {"fingerprint": self._fingerprint(examples)}

    @property
    def todo(self) -> dict[int, Sequence[Example]]:
        """Chunks that are still to be computed, by position."""
        return {at: chunk for at, chunk in self.chunks.items() if at not in self.done}

    @property
    def kept(self) -> int:
        """Number of examples that a restarted job need not compute again."""
        return sum(len(self.chunks[at]) for at in self.done) if self.folder else 0

    def add(self, position: int, rows: Sequence[Mapping[str, object]], **facts: Any) -> None:
        """Keep the rows of a finished chunk, and facts about it, such as its ``seconds``."""
        table = table_of(self.job.output, self.job.artefact, rows, self.job.ids)
        if self.folder:
            facts["fingerprint"] = self._fingerprint(self.chunks[position])
            save_parquet(self.folder / _NAME.format(position), table, facts)
        self._tables[position], self.done[position] = table, facts

    def spent(self) -> dict[str, float]:
        """Return the time that all chunks took, and the time of those of an earlier run."""
        spent = {"work_seconds": self._seconds(), "earlier_seconds": self.earlier_seconds}
        return {name: round(seconds, 3) for name, seconds in spent.items()}

    def table(self) -> pa.Table:
        """Return the rows of all chunks as the artefact has them."""
        return join_tables(self.job.artefact, [self._tables[at] for at in self.chunks])

    def take_over(self) -> None:
        """Find the parts of an earlier run; delete those that do not belong to this job."""
        assert self.folder is not None
        positions = {_NAME.format(at): at for at in self.chunks}
        files = sorted(self.folder.glob("*.part"))
        for path in files:
            position = positions.get(path.name, -1)
            with suppress(InputError):  # it is damaged
                table, facts = read_parquet(path)
                expected = self._fingerprint(self.chunks.get(position, ()))
                if facts.get("fingerprint") == expected:
                    self._tables[position], self.done[position] = table, facts
                    continue
            path.unlink()
        for path in self.folder.glob(".*.tmp"):
            path.unlink()
        if discarded := len(files) - len(self.done):
            reason = "damaged, or of other inputs, parameters or source"
            log.info("discarded %d parts of an earlier run: %s", discarded, reason)
        self.earlier_seconds = self._seconds()
        if self.done:
            total = sum(map(len, self.chunks.values()))
            log.info("%d of %d examples are taken over from an earlier run", self.kept, total)

    def are_in(self, artefact: Path) -> bool:
        """Return whether an artefact was written by a job with the same parts."""
        with suppress(InputError):
            return self.provenance.items() <= read_parquet(artefact)[1].items()
        return False

    def _seconds(self) -> float:
        return float(sum(as_float(facts.get("seconds", 0.0)) for facts in self.done.values()))

    def _fingerprint(self, examples: Sequence[Example]) -> str:
        return fingerprint(self._key, [example.example_id for example in examples])


@contextmanager
def open_parts(job: Job, examples: Sequence[Example]) -> Iterator[Parts | None]:
    """Open the parts of a job; they are removed after the block if it ended well.

    The block writes the artefact. It gets None if another job has finished it meanwhile.
    """
    parts = Parts(job, examples)
    if parts.folder is None:
        yield parts
        return
    lock = parts.folder / ".lock"
    with job_lock(lock) as waited:
        try:
            if waited and parts.are_in(job.output):
                log.info("%s: finished by another job meanwhile", job.output)
                yield None
            else:
                parts.take_over()
                yield parts
        except BaseException as error:
            if isinstance(error, Stopped):
                error.kept = parts.kept
                error.total = len(examples)
            with suppress(OSError):  # it holds parts
                lock.unlink()
                parts.folder.rmdir()
            raise
        shutil.rmtree(parts.folder, ignore_errors=True)
