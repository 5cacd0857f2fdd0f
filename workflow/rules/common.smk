import gc
import os
import re
import sys
from functools import cache
from itertools import filterfalse

from snakemake.utils import update_config

try:
    from exparity.artefacts.layout import pattern_of, stem_of
    from exparity.config.cautions import omissions
    from exparity.jobs.at_start import (
        at_start,
        before_plan,
        cancel_leftovers,
        end_on_term,
    )
    from exparity.config.command_line import as_in_a_file
    from exparity.core.command_line import command_of
    from exparity.config.experiment import load_or_exit
    from exparity.costs.planned import check_data_or_exit
    from exparity.config.outdated import level_times, mark_outdated, up_to_date
    from exparity.core.errors import InputError
    from exparity.jobs.locks import hold
    from exparity.jobs.outcome import (
        explain_failures,
        name_orphans,
        name_report,
        stop_in_one_line,
    )
    from exparity.tools.data import fetch
    from exparity.warm.start import ENGINE, FACTS, start_server
except ModuleNotFoundError as error:
    if "--lint" not in sys.argv:
        raise WorkflowError(
            f"{error.name} is missing where Snakemake runs; install exparity: "
            f"{sys.executable} -m pip install -e FOLDER_OF_EXPARITY"
        ) from None
    from unittest.mock import MagicMock

    # The workflow catalogue lints with nothing but Snakemake installed: the rules, and no cells.
    EXPERIMENT = MagicMock(results="results")

    def pattern_of(artefact):
        return artefact

    def stem_of(rule, artefact):
        return rule

else:
    # Not where another workflow imports this one and gives it a config of its own.
    is_own = config is workflow.modifier_stack[0].globals["config"]
    if is_own:
        update_config(config, as_in_a_file(workflow.config_settings.config))
    EXPERIMENT = load_or_exit(
        config,
        workflow.configfiles if is_own else (),
        workflow.resource_settings.cores,
    )

    # Jobs read this file as well.
    if workflow.is_main_process:
        check_data_or_exit(EXPERIMENT)
    for omission in omissions(EXPERIMENT) if workflow.is_main_process else ():
        logger.info(f"exparity: {omission}")

    before_plan(workflow, EXPERIMENT.results, lambda executor: begin(executor))

# A large grid makes millions of objects that live as long as the run; looking through them for
# garbage again and again would take a fifth of the time of planning it.
gc.set_threshold(200_000, 50, 100)

# How jobs use the machine and where raw files lie: not what results depend on, so not in params.
os.environ.update(EXPERIMENT.environment)

RESULTS = EXPERIMENT.results


def get_path(artefact):
    """Where an artefact, or a part of the report, lies, its ids in braces."""
    return f"{RESULTS}/{pattern_of(artefact)}"


def get_log(rule, artefact):
    return f"{RESULTS}/logs/{stem_of(rule, artefact)}.log"


def get_benchmark(rule, artefact):
    return f"{RESULTS}/benchmarks/{stem_of(rule, artefact)}.tsv"


if workflow.remote_exec:
    # A submission has one CPU and one GPU at most, and is not told of --resources.
    workflow.register_resource("gpu_slot", 1)


wildcard_constraints:
    dataset="|".join(map(re.escape, EXPERIMENT.datasets)),
    model="|".join(map(re.escape, EXPERIMENT.models)),
    seed="|".join(map(str, EXPERIMENT.seeds)),
    method="|".join(map(re.escape, EXPERIMENT.methods)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),


def lock_folders():
    # Snakemake's own records lie in the one, and runs from elsewhere may share the other.
    hold(Path(".snakemake", "exparity.lock"), "this folder")
    hold(Path(RESULTS, ".exparity.lock"), f"the results folder {RESULTS}")


def begin(executor):
    """Settle what earlier jobs have left, before Snakemake looks at files."""
    settings = workflow.dag_settings
    if workflow.is_main_process:
        if not executor.dryrun_exec and set(settings.targets) != {"fetch"}:
            lock_folders()
            cancel_leftovers()
            name_orphans(RESULTS)
            # Here, since Snakemake calls no onstart where nothing is to do.
            EXPERIMENT.write_grid()
    elif workflow.remote_exec and is_repeated():
        settings.target_jobs = [*filterfalse(is_finished, settings.target_jobs)]
        if not settings.target_jobs:
            raise SystemExit(0)


def is_repeated():
    """Whether a submission runs once more, sent by Snakemake or by SLURM itself."""
    return (
        workflow.execution_settings.attempt > 1 or "SLURM_RESTART_COUNT" in os.environ
    )


def is_finished(target):
    """Whether an earlier attempt of a submission has finished a job of it."""
    maker, wildcards = workflow.get_rule(target.rulename), target.wildcards_dict
    output = {str(path.apply_wildcards(wildcards)) for path in maker.output}
    # Snakemake misses it as it would an output.
    benchmark = maker.benchmark.apply_wildcards(wildcards)
    return Path(benchmark).exists() and up_to_date(EXPERIMENT, output) == output


def drop_notes():
    """Have Snakemake forget what it noted of results that are to be made anew.

    If it is killed, jobs go on without it. Beside an old note, what they have finished would look
    outdated. Results say themselves whether they are.
    """
    for job in workflow.dag.needrun_jobs():
        for path in job.output:
            workflow.persistence.cleanup_metadata(path)


onstart:
    lock_folders()
    stop_in_one_line(logger)
    drop_notes()
    if workflow.non_local_exec:
        end_on_term(workflow.scheduler)
        # The plug-in for SLURM keeps groups to itself: a submission would start a Snakemake, and torch,
        # for each of its jobs.
        workflow.executor_plugin.common_settings.pass_group_args = True
    else:
        serve(
            (job.rule.name, job.wildcards_dict)
            for job in workflow.dag.needrun_jobs()
        )
    limiter = workflow.scheduler.job_rate_limiter
    # With Snakemake's own limit, of 100 jobs a second, every round of scheduling ends in another one a
    # second later, and every job that ends begins such a chain: after some hundred jobs the rounds take
    # a whole core. Nothing here starts jobs that fast. A limit that was asked for is kept.
    if limiter and (limiter.max_jobs, limiter.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


onsuccess:
    name_report(workflow, get_path("page"))


onerror:
    explain_failures(workflow)


if not workflow.modifier.is_main_snakefile():
    at_start(workflow, RESULTS, onstart)


def get_final_output():
    return [get_path("page"), get_path("cost")]


@cache
def look_for_outdated():
    """Have outdated results made again, before Snakemake decides on what to run."""
    # Jobs on a cluster read this file as well, and make what they are told to.
    if workflow.is_main_process:
        mark_outdated(EXPERIMENT, workflow.dag.forcefiles)
        level_times(EXPERIMENT, workflow.iocache)


def serve(jobs):
    """Have a server fork the jobs that this process starts."""
    running = [job for job in jobs if runs_model(*job)]
    start_server(ahead=(*FACTS, *(ENGINE if len(running) > 1 else ())))


@cache
def serve_group():
    """Serve the jobs that a submission to a cluster runs one after the other."""
    # What runs them is known only now, and such a Snakemake calls no handler.
    targets = workflow.dag_settings.target_jobs
    if workflow.remote_exec and workflow.local_exec and len(targets) > 1:
        serve((target.rulename, target.wildcards_dict) for target in targets)


def get_data_files(wildcards):
    """Files of the user's own that a dataset is read from."""
    look_for_outdated()  # here, since all that is made from data needs it
    return EXPERIMENT.own_inputs("prepare", get_ids(wildcards))


def get_method_files(wildcards):
    """Files of the user's own that a method reads."""
    return EXPERIMENT.own_inputs("explain", get_ids(wildcards))


def get_report_inputs():
    """Everything that the report is made from."""
    return EXPERIMENT.report_inputs()


def get_analysis_inputs(name):
    """The input function of an analysis: what it reads, by the names of its function's inputs."""
    return lambda wildcards: EXPERIMENT.analyses.inputs(name, get_ids(wildcards))


def get_analysis_options(name):
    return lambda wildcards: EXPERIMENT.analyses.options(name, get_ids(wildcards))


def get_analysis_flags(name):
    # The input is asked for so that Snakemake does not count them as what a result depends on.
    return lambda wildcards, input, output, threads: EXPERIMENT.analyses.flags(
        name, dict(input.items()), output, {**wildcards, "threads": threads}
    )


def get_ids(wildcards):
    """The ids of a cell."""
    ids = dict(wildcards.items())
    return {**ids, "seed": int(ids["seed"])} if "seed" in ids else ids


def get_checkpoint(wildcards):
    """The checkpoint, for metrics that run the model."""
    if not EXPERIMENT.runs_model(wildcards.metric):
        return []
    return get_path("models").format(**wildcards)


def get_counterfactuals(wildcards):
    """The counterfactuals of a dataset, for metrics that ask which words they change."""
    return EXPERIMENT.counterfactuals(get_ids(wildcards))
