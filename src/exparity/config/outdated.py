"""Results that are not what the config says: of other options or inputs, or no longer there.

Snakemake compares times of files, which copying changes, and parameters with its notes in
``.snakemake``. It does not see a deleted file whose products are still there, a folder that was
copied without the notes, or an input replaced by an older file. Results say themselves what they
were made from, so that their times count for nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Set
from functools import cache
from itertools import groupby
from pathlib import Path

from exparity.artefacts.lineage import identity, lineage, recorded_lineage
from exparity.config.experiment import Experiment
from exparity.config.tasks import tasks


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
        key = lineage(task.options(), map(identity_of, task.reads))
        for path in filter(exists, task.makes):
            if recorded_lineage(Path(path)) != key:
                reasons[path] = "made from other options or inputs"
    return reasons


def up_to_date(experiment: Experiment, paths: Set[str]) -> set[str]:
    """Return which of some results are there and made from the options and inputs of now."""
    current: set[str] = set()
    for task in tasks(experiment):
        if asked := paths & set(task.makes):
            read = (identity(Path(path)) for path in task.reads)
            key = lineage(task.options(), read)
            current.update(path for path in asked if recorded_lineage(Path(path)) == key)
    return current


def is_checkpoint(path: str) -> bool:
    """Return whether a path of the results is a checkpoint's."""
    return path.rpartition("/")[2].isdecimal()  # all else has a suffix, or a name of the report's


def result_times(experiment: Experiment) -> dict[str, float]:
    """Return one time for all results that are there: that of the newest, or of its inputs.

    So none is older than what it was made from. Files that only other workflows know keep theirs.
    """
    results = f"{experiment.results}/"
    paths = {
        path
        for task in tasks(experiment)
        for path in (*task.reads, *task.makes, *task.beside, task.benchmark)
    }
    times = {path: time for path in paths if (time := _time_of(path)) is not None}
    newest = max(times.values(), default=0.0)
    return {path: newest for path in times if path.startswith(results)}


def _time_of(path: str) -> float | None:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return None


def mark_outdated(experiment: Experiment, forced: set[str]) -> None:
    """Have Snakemake make outdated results again, and say which."""
    reasons = outdated(experiment)
    forced.update(reasons)
    for reason, paths in groupby(sorted(reasons, key=reasons.__getitem__), reasons.__getitem__):
        first, *others = paths
        more = f" and {len(others)} more" if others else ""
        print(f"exparity: made again, since {reason}: {first}{more}", file=sys.stderr)
