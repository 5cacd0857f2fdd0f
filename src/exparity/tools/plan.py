"""Tool plan: what an experiment will take, before anything is submitted."""

from __future__ import annotations

import logging
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from exparity.config.cautions import cautions
from exparity.config.command_line import DEFAULT, read_experiment
from exparity.config.experiment import Experiment
from exparity.config.start import check_before_jobs
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import ConfigFiles, Flag, Folder, Overrides, Range
from exparity.costs.calls import planned_calls, price_of, seconds_a_text
from exparity.costs.finished import JobCost, read_finished
from exparity.costs.forecast import Total, at_trainings, estimated, hours, table, totals
from exparity.costs.planned import N_OTHER_JOBS, PlannedExamples, planned_jobs
from exparity.costs.precision import precision_line
from exparity.resources import workflow_file
from exparity.runs.dry_run import planned_submissions, submissions_table
from exparity.tools.detectable import (
    check_samples,
    planned_numbers,
    planned_samples,
    trainings_text,
)

log = logging.getLogger(__name__)
_NAMED = 10


def plan(
    *,
    configfile: Annotated[ConfigFiles, Flag(bare=True)] = (DEFAULT,),
    config: Overrides = (),
    sources: Annotated[Sequence[Folder], Flag("from", "RESULTS")] = (),
    device: Literal["cpu", "cuda"] | None = None,
    profile: Folder | None = None,
    price_per_text: Annotated[float, Range(at_least=0)] | None = None,
    time_texts: Annotated[int, Range(at_least=1)] | None = None,
) -> None:
    """Estimate an experiment's cost from finished jobs, and what its results can show.

    Args:
        configfile: the experiment; also the first argument without a flag.
        config: values over those of the config file.
        sources: folder of results of another run to learn from.
        device: device of the jobs that run a model; by the config, or a GPU if any ran on one.
        profile: profile of a cluster, such as profiles/slurm: also list what it submits, where, and
            the hours that it asks for.
        price_per_text: what a function takes for a text that it is asked about, in any currency:
            also say what all texts cost.
        time_texts: ask each function about so many texts now, and say how long all texts take.
    """
    if profile and not profile.is_dir():
        raise InputError(f"{profile}: no such folder; name a profile, such as profiles/slurm")
    experiment = read_experiment(configfile, config)
    for line in cautions(experiment):
        log.warning("%s", line)
    words = shlex.join([*map(str, configfile), *(["--config", *config] if config else [])])
    check_before_jobs(experiment)
    examples = PlannedExamples(experiment)
    samples = planned_samples(experiment, examples)
    check_samples(samples, experiment.config.statistics.alpha)
    finished_by_folder = _finished_in(Path(experiment.results), sources)
    finished = [*chain.from_iterable(finished_by_folder.values())]
    kind = device or _device(experiment, finished)
    jobs = estimated(planned_jobs(experiment, examples), finished, kind)
    *stages, total = totals(jobs)
    n_tests = len([*experiment.tests()])
    n_compare = sum(job.stage == "compare" for job in jobs)
    say(f"{words}: {total.jobs:,} jobs, {total.finished:,} of them finished")
    _say_sources(finished_by_folder)
    say(f"\n{table([*stages, total])}")
    counted = f"{total.jobs + N_OTHER_JOBS:,}"
    say(f"Snakemake says {counted}: it counts its rules cost, report and all as well")
    one_seed = f"--config 'seeds=[{experiment.seeds[0]}]'"
    _say_unknown(jobs, one_seed, nothing=total.unknown == total.jobs)
    if line := precision_line(experiment, kind):
        say(f"\n{line}")
    if n_tests:
        plural = "" if n_compare == 1 else "s"
        say(f"\n{n_tests:,} scores are tested, by {n_compare:,} job{plural} of `compare` in all")
    for model, texts in planned_calls(experiment, jobs, examples).items():
        seconds = seconds_a_text(experiment, model, time_texts) if time_texts else None
        worth = price_of(texts, price_per_text, seconds)
        calls = f"the function is asked about {texts:,} texts, roughly, by jobs to come"
        say(f"\n{model}: {calls}{worth}")
    say(f"\n{trainings_text(experiment, samples, _hours_by_trainings(experiment, jobs, total))}")
    if profile:
        flags = ["--configfile", *map(str, configfile), *(["--config", *config] if config else [])]
        _say_submissions(profile, flags)


def _finished_in(results: Path, sources: Sequence[Path]) -> dict[Path, list[JobCost]]:
    """Return the finished jobs of each folder of results."""
    for folder in sources:
        if not folder.is_dir():
            raise InputError(f"{folder}: no such folder; name a folder of results with --from")
    return {folder: read_finished(folder) for folder in (results, *sources)}


def _say_sources(finished_by_folder: Mapping[Path, Sequence[JobCost]]) -> None:
    """Say how many finished jobs of each folder the estimate is from."""
    for folder, folder_jobs in finished_by_folder.items():
        if folder_jobs:
            say(f"from {len(folder_jobs):,} finished jobs in {folder}")


def _hours_by_trainings(
    experiment: Experiment, jobs: Sequence[JobCost], total: Total
) -> list[tuple[int, str]]:
    """Return how many jobs each number of trainings has, and the hours that they take."""
    amounts: list[tuple[int, str]] = []
    for n_trainings in planned_numbers(experiment):
        n_jobs, seconds = at_trainings(jobs, len(experiment.seeds), n_trainings)
        if total.unknown == total.jobs:
            words = "unknown"
        elif total.unknown:
            words = f"{hours(seconds)}+"
        else:
            words = hours(seconds)
        amounts.append((n_jobs, words))
    return amounts


def _say_unknown(jobs: Sequence[JobCost], one_seed: str, *, nothing: bool) -> None:
    """Say which jobs are in no sum, and which flags measure them; ``nothing`` is known so far."""
    if nothing:
        say(f"\nNothing has been measured yet: run one seed, {one_seed}, and plan again")
    elif missing := Counter(map(_work, (job for job in jobs if job.seconds is None))):
        named = [f"{work} ({n:,})" for work, n in missing.most_common(_NAMED)]
        if more := len(missing) - len(named):
            named.append(f"{more} more")
        say(f"\nUnknown, and not in any sum (+): {', '.join(named)}")
        say(f"One seed, as a part of the run, measures it: {one_seed}, and plan again")


def _say_submissions(profile: Path, flags: Sequence[str]) -> None:
    """Say what the profile of a cluster submits of a config that the flags name."""
    run = ["--snakefile", str(workflow_file("Snakefile")), "--profile", str(profile), *flags]
    say(f"\nWith {profile}, of jobs that are not finished:")
    say(f"\n{submissions_table(planned_submissions(run))}")


def _work(job: JobCost) -> str:
    """Return the stage of a job with its method and metric."""
    ids = [str(job.ids[name]) for name in ("method", "metric") if name in job.ids]
    return " ".join([job.stage, *ids])


def _device(experiment: Experiment, finished: Sequence[JobCost]) -> str:
    """Return the kind of device to plan for."""
    configured = experiment.config.engine.device.partition(":")[0]
    on_gpu = any(job.runs_model and job.device.startswith("cuda") for job in finished)
    return configured if configured != "auto" else "cuda" if on_gpu else "cpu"
