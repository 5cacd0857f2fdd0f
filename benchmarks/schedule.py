"""What the order of jobs does to how long a run takes, by the costs of finished jobs.

Usage: python benchmarks/schedule.py RESULTS [--configfile FILE] [--seeds N]

The jobs of RESULTS, each with the CPU seconds that it took, are given to 2, 4, 8 and 16 cores: a
core that is free takes a job whose inputs are there: one at random (the mean of twenty runs), the
one with the highest priority by the rules, or the longest one, as if that were known. No run ends
before `bound`: all work spread evenly, or the longest chain of jobs. Jobs of a seed count N times.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from exparity.artefacts import layout
from exparity.artefacts.analyses import ANALYSES
from exparity.config.command_line import read_experiment
from exparity.config.experiment import Experiment
from exparity.costs.finished import JobCost, read_finished

Work = tuple[JobCost, Mapping[str, str | int]]
"""A job, and the ids that tell it from copies of it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--configfile", type=Path, default=Path("config/embedded.yaml"))
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    experiment = read_experiment([arguments.configfile])
    found = [job for job in read_finished(arguments.results).jobs if not job.shard]
    work = [
        (job, {**job.ids, "copy": number} if "seed" in job.ids else job.ids)
        for job in found
        for number in range(arguments.seeds if "seed" in job.ids else 1)
    ]
    needs = [needed(one, work) for one in work]
    seconds = [job.cpu_seconds or 0.0 for job, _ in work]
    chain: dict[int, float] = {}

    def length(job: int) -> float:
        if job not in chain:
            chain[job] = seconds[job] + max(map(length, needs[job]), default=0.0)
        return chain[job]

    longest = max(map(length, range(len(work))))
    rules = [-priority(experiment, job) for job, _ in work]
    print(f"{len(work)} jobs, {sum(seconds):.0f} CPU seconds")
    print("| cores | bound | any order (range) | priorities of the rules | longest first |")
    print("|---:|---:|---:|---:|---:|")
    for cores in (2, 4, 8, 16):
        bound = max(sum(seconds) / cores, longest)
        drawn = [makespan(seconds, needs, shuffled(len(work), n), cores) for n in range(20)]
        ruled = makespan(seconds, needs, rules, cores)
        by_length = makespan(seconds, needs, [-s for s in seconds], cores)
        print(
            f"| {cores} | {bound:.0f} | {mean(drawn):.0f} ({min(drawn):.0f} to {max(drawn):.0f}) "
            f"| {ruled:.0f} | {by_length:.0f} |"
        )


def needed(one: Work, work: list[Work]) -> list[int]:
    """Return the numbers of the jobs that make what a job reads."""
    job, own = one
    reads = _reads(job.kind.stage)
    return [
        number
        for number, (other, its) in enumerate(work)
        if reads & _makes(other.kind.stage)
        and all(own[id] == its[id] for id in own.keys() & its.keys())
    ]


def _reads(stage: str) -> set[str]:
    return set(
        layout.STAGES[stage][0] if stage in layout.STAGES else ANALYSES.get(stage).facts.reads
    )


def _makes(stage: str) -> set[str]:
    if stage in layout.STAGES:
        return set(layout.STAGES[stage][1])
    return {ANALYSES.get(stage).facts.artefact}


def priority(experiment: Experiment, job: JobCost) -> int:
    """Return the priority that the rules give a job."""
    stage, ids = job.kind.stage, job.ids
    if stage == "explain":
        return experiment.explain_cost(str(ids["method"]))[1]
    if stage == "evaluate":
        return experiment.evaluate_cost(str(ids["metric"]))[1]
    if stage in layout.STAGES:
        return 1000 if stage == "finetune" else 0
    facts = ANALYSES.get(stage).facts
    return facts.minutes if facts.runs_model else 0


def shuffled(count: int, seed: int) -> list[float]:
    draw = random.Random(seed)
    return [draw.random() for _ in range(count)]


def makespan(
    seconds: list[float], needs: list[list[int]], order: Sequence[float], cores: int
) -> float:
    """Return when the last job ends, where a free core takes the lowest of those that are ready."""
    waits = [len(jobs) for jobs in needs]
    after: list[list[int]] = [[] for _ in needs]
    for job, before in enumerate(needs):
        for other in before:
            after[other].append(job)
    ready = [(order[job], job) for job, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    running: list[tuple[float, int]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            job = heapq.heappop(ready)[1]
            heapq.heappush(running, (now + seconds[job], job))
        now, job = heapq.heappop(running)
        for other in after[job]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (order[other], other))
    return now


if __name__ == "__main__":
    main()
