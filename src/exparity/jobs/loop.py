"""The loop over the examples of a cell: part by part, continued where an earlier job stopped."""

from __future__ import annotations

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from exparity.artefacts.files import write_artefact
from exparity.artefacts.lineage import fingerprint, identity
from exparity.core.device import Machine, give_back_memory, make_repeatable
from exparity.core.plain import as_int, as_mapping, as_texts
from exparity.core.progress import Progress
from exparity.core.undisturbed import undisturbed
from exparity.jobs.parts import Job, open_parts
from exparity.types import Example

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)


class _Kept(NamedTuple):
    """A classifier that stays for the next jobs of this process.

    Attributes:
        classifier: the classifier, without memory of texts.
        shared: work that methods of the same texts share, by these texts.
    """

    classifier: Classifier
    shared: dict[str, dict[object, object]]


_kept: dict[str, _Kept] | None = None
_SMALL = 1 << 26
"""Bytes of the weights of all classifiers that stay while another one is loaded."""


class Rest(NamedTuple):
    """The rest of a job, and the model to do it with.

    Attributes:
        model: the model of the job; None where it needs none.
        chunks: the examples of each part that is not finished.
        is_whole: whether no part was finished earlier.
    """

    model: Any
    chunks: Sequence[Sequence[Example]]
    is_whole: bool


Compute = Callable[[Sequence[Example]], tuple[list[dict[str, object]], dict[str, object]]]
"""Function of the examples of a part that returns their rows, and facts about the part."""

Begin = Callable[[Rest], Compute]
"""Function that checks the inputs of a job, and returns the function that computes a part."""


def merged(facts: Iterable[Mapping[str, object]]) -> dict[str, object]:
    """Merge facts about parts into facts about the whole artefact."""
    parts = list(facts)
    merged_facts: dict[str, object] = {}
    if any("flags" in part for part in parts):
        flags = [as_texts(part.get("flags", [])) for part in parts]
        merged_facts["flags"] = sorted(set(chain.from_iterable(flags)))
    if any("n_truncated" in part for part in parts):
        merged_facts["n_truncated"] = sum(as_int(part.get("n_truncated", 0)) for part in parts)
    notes = Counter[str]()
    for part in parts:
        counts = as_mapping(part.get("notes", {}))
        notes += Counter({note: as_int(count) for note, count in counts.items()})
    return {**merged_facts, **({"notes": notes} if notes else {})}


@undisturbed(None)
def run(job: Job, examples: Sequence[Example], begin: Begin) -> pa.Table | None:
    """Compute the rows of a job, write its artefact and return the table; None if another did."""
    start = time.monotonic()
    with open_parts(job, examples) as parts:
        if parts is None:
            return None
        model = job.load() if job.load else None
        todo = parts.todo
        compute = begin(Rest(model, list(todo.values()), not parts.done))
        last = time.monotonic()
        with Progress(sum(map(len, todo.values())), job.doing) as progress:
            for position, part in todo.items():
                rows, facts = compute(part)
                if refusals := getattr(model, "refusals", None):
                    facts = {**facts, "notes": {**as_mapping(facts.get("notes", {})), **refusals}}
                    refusals.clear()
                now = time.monotonic()
                parts.add(position, rows, seconds=round(now - last, 3), **facts)
                last = now
                progress.advance(len(part))
                if model and getattr(model, "is_black_box", False):
                    model.forget()
                if model:
                    give_back_memory()
        device = str(model.device if model else "cpu")
        log.info("%d examples in %.1f s on %s", progress.done, time.monotonic() - start, device)
        table = parts.table()
        write_artefact(
            job.output,
            job.artefact,
            table,
            job.ids,
            parameters=job.parameters,
            device=device,
            extra={
                **job.facts,
                "examples": len(examples),
                **merged(parts.done.values()),
                **parts.provenance,
                **parts.spent(),
            },
        )
        return table


def load(checkpoint: Any, machine: Machine) -> Classifier:
    """Load the classifier of a job; see :func:`exparity.load_classifier`."""
    from exparity.engine.loading import load_classifier

    settings = machine.of_classifier
    make_repeatable(machine.threads)
    key = fingerprint(str(checkpoint), identity(Path(checkpoint)), settings)
    kept = {} if _kept is None else _kept
    if key in kept:
        log.info("the classifier of an earlier job is used again")
        return kept[key].classifier.anew()
    # There may be memory for one model.
    while sum(_bytes_held(entry.classifier) for entry in kept.values()) > _SMALL:
        kept.pop(next(iter(kept)))
    classifier = load_classifier(str(checkpoint), **settings)
    if not classifier.is_black_box:
        classifier.loaded_from = key
        kept[key] = _Kept(classifier.anew(), {})
    return classifier


def work_shared(classifier: Classifier, texts: str) -> dict[object, object]:
    """Return the work that methods share, done by earlier jobs of this process where it stays.

    It is a few numbers of each token, such as the poolings of a gradient; a job alone computes the
    same ones, in the same batches.

    Args:
        classifier: what is explained.
        texts: fingerprint of the data, the ids of the texts and their classes.
    """
    if _kept is None or classifier.loaded_from not in _kept:
        return {}
    return _kept[classifier.loaded_from].shared.setdefault(texts, {})


def _bytes_held(classifier: Classifier) -> float:
    """Return how much memory the weights of a classifier take; infinite on a GPU."""
    if classifier.device.type != "cpu":
        return math.inf
    return sum(weight.nbytes for weight in classifier.model.parameters())


def keep_model() -> None:
    """Have the model of a job stay for the next ones of this process; of small models, several."""
    global _kept
    _kept = {} if _kept is None else _kept
