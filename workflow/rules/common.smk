import gc
import inspect
import os
import re
import sys
from functools import cache

from snakemake.utils import update_config

try:
    from exparity.runs.signals import end_on_signals, own_queue

    # Not where another workflow imports this one and gives it a config of its own. The first of the
    # stack (undocumented) belongs to the main file.
    is_own = config is workflow.modifier_stack[0].globals["config"]
    if is_own:
        end_on_signals(workflow)  # before the other imports, which take a second

    from exparity.artefacts.layout import pattern_of, stem_of
    from exparity.config.cautions import omissions
    from exparity.config.command_line import as_in_a_file
    from exparity.config.experiment import load_or_exit
    from exparity.config.tasks import last_results
    from exparity.core.command_line import command_of
    from exparity.core.errors import InputError
    from exparity.core.strict import canonical
    from exparity.costs.effort import effort_or_exit
    from exparity.runs.begin import (
        before_jobs,
        before_plan,
        fail_without_inputs,
        lock_folders,
    )
    from exparity.runs.groups import TRAINING, Groups
    from exparity.runs.outcome import explain_failures, name_report
    from exparity.tools.data import fetch
except ModuleNotFoundError as error:
    if "--lint" not in sys.argv:
        raise WorkflowError(
            f"{error.name} is missing where Snakemake runs; install exparity: "
            f"{sys.executable} -m pip install -e FOLDER_OF_EXPARITY"
        ) from None
    from unittest.mock import MagicMock

    # The workflow catalogue lints with nothing but Snakemake installed: the rules, and no cells.
    EXPERIMENT = MagicMock(results="results")
    effort_or_exit = Groups = MagicMock()

    def pattern_of(artefact):
        return artefact

    def stem_of(rule, artefact):
        return rule

else:
    if is_own:
        update_config(config, as_in_a_file(workflow.config_settings.config))
    EXPERIMENT = load_or_exit(
        config,
        workflow.configfiles if is_own else (),
        workflow.resource_settings.cores,
    )

    # Jobs read this file as well.
    for omission in omissions(EXPERIMENT) if workflow.is_main_process else ():
        logger.info(f"exparity: {omission}")

    fail_without_inputs(workflow)

# A large grid makes millions of objects that live as long as the run; looking through them for
# garbage again and again would take a fifth of the time of planning it.
gc.set_threshold(200_000, 50, 100)

# How jobs use the machine and where raw files lie: not what results depend on, so not in params.
os.environ.update(EXPERIMENT.environment)

RESULTS = EXPERIMENT.results

if workflow.remote_exec:
    # A submission has one CPU and one GPU at most, and does not get --resources.
    workflow.register_resource("gpu_slot", 1)


wildcard_constraints:
    dataset="|".join(map(re.escape, EXPERIMENT.datasets)),
    model="|".join(map(re.escape, EXPERIMENT.models)),
    seed="|".join(map(str, EXPERIMENT.seeds)),
    method="|".join(map(re.escape, EXPERIMENT.methods)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),


onstart:
    lock_folders(RESULTS)  # for `fetch`, which needs no plan
    end_on_signals(workflow)  # Snakemake has taken SIGTERM meanwhile
    if workflow.non_local_exec:
        own_queue()


onsuccess:
    name_report(workflow, get_path("page"))


onerror:
    explain_failures(workflow)


def with_signature(function):
    """The function, with its signature: Snakemake would work it out twice at each of thousands of calls."""
    function.__signature__ = inspect.signature(function)
    return function


def get_path(artefact):
    """Return the path of an artefact, or of a part of the report, with its ids in braces."""
    return f"{RESULTS}/{pattern_of(artefact)}"


def get_log(rule, artefact):
    return f"{RESULTS}/logs/{stem_of(rule, artefact)}.log"


def get_final_output():
    return [get_path("page"), get_path("cost")]


@cache
def begin():
    """Settle what is there, before Snakemake looks at files."""
    before_plan(workflow, EXPERIMENT)


@cache
def serve():
    """Have the imports of jobs done once."""
    before_jobs(workflow, EXPERIMENT)
