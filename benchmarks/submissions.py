"""Count the submissions of a config on SLURM, and the hours that they ask for, by a dry run.

Usage: python benchmarks/submissions.py config/paper.yaml [--profile profiles/slurm]

A row is of submissions of one kind: those of trainings, of rules whose jobs are alone, and of
groups. Nothing is submitted, and the results of an earlier run count as in any dry run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
from collections import defaultdict
from typing import Any

from shared import ROOT, markdown
from snakemake.cli import main as snakemake
from snakemake.executors.dryrun import Executor


def submissions_of(config: str, profile: str) -> list[Any]:
    """Return the jobs and groups of jobs that Snakemake would submit."""
    planned: list[Any] = []
    run_job = Executor.run_job

    def note(executor: Executor, job: Any) -> None:
        planned.append(job)
        run_job(executor, job)

    Executor.run_job = note
    words = ["-n", "--snakefile", str(ROOT / "workflow" / "Snakefile"), "--profile", profile]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            snakemake([*words, "--configfile", config])
        except SystemExit as end:
            if end.code:
                sys.exit(said.getvalue())
    return planned


def kind_of(job: Any) -> str:
    """Return what a submission is called: its rule, or its group without a training's ids."""
    if not job.is_group():
        return str(job.rule.name)
    name, _, behind = job.groupid.partition(".")
    return f"{name}, behind a long job" if behind.count(".") > 2 else str(name)


def rows_of(submissions: list[Any]) -> list[dict[str, Any]]:
    """Return a row for each kind, and one for all."""
    by_kind: dict[str, list[Any]] = defaultdict(list)
    for job in submissions:
        if job.is_group() or job.rule.name != "all":
            by_kind[kind_of(job)].append(job)
    by_kind["total"] = [job for jobs in by_kind.values() for job in jobs]
    rows = []
    for kind, jobs in by_kind.items():
        minutes = [int(job.resources.runtime) for job in jobs]
        gres = {str(job.resources.get("gres", "")) for job in jobs}
        rows.append(
            {
                "kind": kind,
                "submissions": len(jobs),
                "jobs": sum(len(job.jobs) if job.is_group() else 1 for job in jobs),
                "hours": sum(minutes) / 60,
                "most hours": max(minutes) / 60,
                "gres": " or ".join(sorted(gres - {""})),
            }
        )
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config")
    parser.add_argument("--profile", default=str(ROOT / "profiles" / "slurm"))
    arguments = parser.parse_args()
    print(markdown(rows_of(submissions_of(arguments.config, arguments.profile))))


if __name__ == "__main__":
    main()
