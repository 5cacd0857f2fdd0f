"""Results that are not what the config says: of other options or inputs, or no longer there.

Snakemake compares times of files, which copying changes, and parameters with its notes in
``.snakemake``. It does not see a deleted file whose products are still there, a folder that was
copied without the notes, or an input replaced by an older file. Results say themselves what they
were made from, so that their times count for nothing.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache, partial
from graphlib import TopologicalSorter
from itertools import groupby
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.lineage import identity, lineage, recorded_lineage
from exparity.config.experiment import Experiment

Task = tuple[Callable[[], str], list[str], list[str], list[str]]
"""What a job is told, as JSON, asked for finished jobs only; its inputs, as far as they tell what
others are made from; its results that carry a key; and what it writes without one."""


def outdated(experiment: Experiment) -> dict[str, str]:
    """Return the results to make again, each with the reason.

    A checkpoint that is no longer there is left so, as long as no job needs it: the predictions
    stand for it, and room is short.
    """
    identity_of = cache(lambda path: identity(Path(path)))
    exists = cache(os.path.exists)
    reasons: dict[str, str] = {}
    for options, reads, writes, beside in _jobs(experiment):
        if not any(map(exists, (*writes, *beside))):
            continue
        needed = (*reads, *writes, *beside)
        missing = [path for path in needed if not exists(path) and not _is_checkpoint(path)]
        reasons |= dict.fromkeys(missing, "missing")
        if missing or not all(map(exists, reads)) or any(path in reasons for path in reads):
            continue
        key = lineage(json.loads(options()), map(identity_of, reads))
        for path in filter(exists, writes):
            if recorded_lineage(Path(path)) != key:
                reasons[path] = "made from other options or inputs"
    return reasons


def up_to_date(experiment: Experiment, paths: Set[str]) -> set[str]:
    """Return which of some results are there and made from the options and inputs of now."""
    current: set[str] = set()
    for options, reads, writes, _ in _jobs(experiment):
        if asked := paths & set(writes):
            key = lineage(json.loads(options()), (identity(Path(path)) for path in reads))
            current.update(path for path in asked if recorded_lineage(Path(path)) == key)
    return current


def _jobs(experiment: Experiment) -> Iterator[Task]:
    """Yield all jobs, each after those that it needs."""

    def place(artefacts: Iterable[str], ids: Mapping[str, Any]) -> list[str]:
        return [f"{experiment.results}/{layout.path_of(artefact, ids)}" for artefact in artefacts]

    for name, (_, writes) in _makers(experiment):
        for ids in layout.cells(experiment.grid, writes[0]):
            if name in layout.STAGES:
                inputs = [*experiment.own_inputs(name, ids), *experiment.reads(name, ids)]
                options = partial(experiment.options, name, ids)
            else:
                several = experiment.analyses.inputs(name, ids).values()
                inputs = [p for one in several for p in ([one] if isinstance(one, str) else one)]
                options = partial(experiment.analyses.options, name, ids)
            yield options, inputs, place(writes, ids), []
    inputs = experiment.report_inputs()
    yield lambda: "{}", inputs, place(["cost"], {}), []
    page, *beside = [f"{experiment.results}/{path}" for path in layout.REPORT.values()]
    yield experiment.report_options, inputs, [page], beside


def _makers(experiment: Experiment) -> list[tuple[str, tuple[Sequence[str], Sequence[str]]]]:
    """Return stages and analyses, each after those it needs, with what they read and make."""
    makers = {**layout.STAGES}
    for entry in experiment.analyses.used:
        makers[entry.id] = entry.facts.reads, entry.facts.artefacts
    made_by = {artefact: name for name, (_, writes) in makers.items() for artefact in writes}
    order = TopologicalSorter(
        {name: [made_by[r] for r in reads if r in made_by] for name, (reads, _) in makers.items()}
    )
    return [(name, makers[name]) for name in order.static_order()]


def _is_checkpoint(path: str) -> bool:
    return path.rpartition("/")[2].isdecimal()  # all else has a suffix, or a name of the report's


def level_times(experiment: Experiment, cache: Any) -> None:
    """Let Snakemake see all results as of one time, that of the newest of them and their inputs.

    So none is older than what it was made from. Files that only other workflows know keep theirs.
    """
    collect, results = cache.mtime_inventory, f"{experiment.results}/"

    async def collect_and_level(jobs: Iterable[Any]) -> None:
        await collect(jobs)
        reads = {path for _, inputs, *_ in _jobs(experiment) for path in inputs}
        times = {path: time for path, time in cache.mtime.items() if path in reads}
        ours = [path for path in cache.mtime if path.startswith(results)]
        times |= {path: cache.mtime[path] for path in ours}
        newest = max(times.values(), key=_seconds, default=None)
        cache.mtime.update(dict.fromkeys(ours, newest))

    cache.mtime_inventory = collect_and_level


def _seconds(time: Any) -> float:
    return float(time.local_or_storage(follow_symlinks=True))


def mark_outdated(experiment: Experiment, forced: set[str]) -> None:
    """Have Snakemake make outdated results again, and say which."""
    reasons = outdated(experiment)
    forced.update(reasons)
    for reason, paths in groupby(sorted(reasons, key=reasons.__getitem__), reasons.__getitem__):
        first, *others = paths
        more = f" and {len(others)} more" if others else ""
        print(f"exparity: made again, since {reason}: {first}{more}", file=sys.stderr)
