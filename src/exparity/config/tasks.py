"""The jobs of an experiment, as Snakemake plans them, and the results that it has to make again.

Snakemake compares times of files, which copying changes, and parameters with its notes in
``.snakemake``. It does not see a deleted file whose products are still there, a folder that was
copied without the notes, or an input replaced by an older file. Results say themselves what they
were made from, so that their times count for nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import cache, lru_cache, partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from exparity.artefacts import layout
from exparity.artefacts.analyses import Options
from exparity.artefacts.ids import Ids
from exparity.artefacts.lineage import failed_parts, identity, lineage, recorded_lineage
from exparity.config.experiment import Experiment, in_order

_LAST = ("cost", "report")


class Task(NamedTuple):
    """A job; the results that it ``makes`` carry a key of its options and inputs."""

    rule: str
    ids: Ids  # its wildcards
    options: Callable[[], Options]
    reads: Sequence[str]
    counts: Sequence[str]  # what of it the results depend on
    makes: Sequence[str]
    beside: Sequence[str]  # results without a key


@lru_cache(maxsize=1)
def tasks(experiment: Experiment) -> list[Task]:
    """Return all jobs, each after those that it needs."""
    return [*_tasks(experiment)]


def last_results(experiment: Experiment) -> list[str]:
    """Return the inputs of the report that no other job reads."""
    read = {path for task in tasks(experiment) if task.rule not in _LAST for path in task.reads}
    return [path for path in experiment.report_inputs() if path not in read]


def _tasks(experiment: Experiment) -> Iterator[Task]:
    results = experiment.results

    def place(artefacts: Iterable[str], ids: Mapping[str, str | int]) -> list[str]:
        return [f"{results}/{layout.path_of(artefact, ids)}" for artefact in artefacts]

    makers: dict[str, tuple[Sequence[str], Sequence[str]]] = {**layout.STAGES}
    makers |= {
        analysis.id: (analysis.facts.reads, [*analysis.facts.writes])
        for analysis in experiment.analyses
    }
    for name in in_order(makers):
        writes = makers[name][1]
        for ids in layout.cells(experiment.grid, writes[0]):
            options = partial(experiment.options, name, ids)
            reads = experiment.reads(name, ids)
            shortcuts = experiment.shortcuts(name, ids)
            counts = [path for path in reads if path not in shortcuts]
            yield Task(name, ids, options, reads, counts, place(writes, ids), [])
    inputs = experiment.report_inputs()
    yield Task("cost", Ids(), experiment.cost_options, inputs, inputs, place(["cost"], {}), [])
    page = place(["page"], {})
    beside = place(["tables", "figures"], {})
    yield Task("report", Ids(), experiment.report_options, inputs, inputs, page, beside)


def runs_model(experiment: Experiment, rule: str, ids: Ids) -> bool:
    """Return whether a job runs a model."""
    if rule == "evaluate":
        return experiment.runs_model(ids.metric)
    analyses = [entry.id for entry in experiment.analyses if entry.facts.runs_model]
    return rule in ("finetune", "explain", *analyses)


def outdated(experiment: Experiment) -> dict[str, str]:
    """Return the results to make again, each with the reason.

    A checkpoint that is no longer there is left so, as long as no job needs it: the predictions
    stand for it, and room is short.
    """
    identity_of = cache(lambda path: identity(Path(path)))
    exists = cache(os.path.exists)
    reasons: dict[str, str] = {}
    for task in tasks(experiment):
        if not any(map(exists, (*task.makes, *task.beside))):
            continue
        needed = (*task.reads, *task.makes, *task.beside)
        missing = [path for path in needed if not exists(path) and not is_checkpoint(path)]
        reasons |= dict.fromkeys(missing, "missing")
        if missing or not all(map(exists, task.reads)) or any(p in reasons for p in task.reads):
            continue
        key = lineage(task.options(), map(identity_of, task.counts))
        for path in filter(exists, task.makes):
            if recorded_lineage(Path(path)) != key:
                is_incomplete = task.rule == "report" and failed_parts(Path(path))
                other = "made from other options or inputs"
                reasons[path] = "parts of it failed" if is_incomplete else other
    return reasons


def up_to_date(experiment: Experiment, paths: Set[str]) -> set[str]:
    """Return the results that exist and were made from today's options and inputs."""
    current: set[str] = set()
    for task in tasks(experiment):
        if made_here := paths & set(task.makes):
            counted = (identity(Path(path)) for path in task.counts)
            key = lineage(task.options(), counted)
            current.update(path for path in made_here if recorded_lineage(Path(path)) == key)
    return current


def is_checkpoint(path: str) -> bool:
    """Return whether a path of the results is a checkpoint."""
    return path.rpartition("/")[2].isdecimal()  # all else has a suffix, or a name of the report's


def result_times(experiment: Experiment) -> dict[str, float]:
    """Return one time for all results that are there: that of the newest, or of its inputs.

    So none is older than what it was made from. Files that only other workflows know keep theirs.
    """
    results = f"{experiment.results}/"
    paths = {
        path for task in tasks(experiment) for path in (*task.reads, *task.makes, *task.beside)
    }
    times = {}
    for path in paths:
        with suppress(OSError):
            times[path] = os.stat(path).st_mtime
    newest = max(times.values(), default=0.0)
    return {path: newest for path in times if path.startswith(results)}


def mark_outdated(experiment: Experiment, forced: set[str]) -> None:
    """Have Snakemake make outdated results again, and print them with the reason."""
    reasons = outdated(experiment)
    forced.update(reasons)
    for reason, paths in groupby(sorted(reasons, key=reasons.__getitem__), reasons.__getitem__):
        first, *others = paths
        more = f" and {len(others)} more" if others else ""
        print(f"exparity: to make, since {reason}: {first}{more}", file=sys.stderr)
