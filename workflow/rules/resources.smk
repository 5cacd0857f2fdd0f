# How jobs share a machine or a cluster. No result depends on it.


# Where one number is known for all jobs it is given as such: Snakemake would call a function for each.
def get_environment():
    """The environment to make, where Snakemake is asked to: it plans with the parameters of all jobs then."""
    ways = {way.name for way in workflow.deployment_settings.deployment_method}
    asked = "CONDA" in ways or {"--lint", "--containerize"} & {*sys.argv}
    return "../envs/exparity.yaml" if asked else None


def has_submissions_of_several():
    """Whether jobs go to a cluster whose profile names submissions of several jobs."""
    # Snakemake does not know it yet while it reads rules.
    return TRAINING in workflow.group_settings.group_components


def get_gpu_slots(of_metric=False, runs_model=True):
    """One for jobs that run a model on this machine's GPU; some metrics do without a model.

    A submission of several jobs has one slot, so that it runs them one after the other, on one CPU.
    """

    @with_signature
    def slots(wildcards):
        if has_submissions_of_several():
            return 1
        metric = wildcards.metric if of_metric else None
        return EXPERIMENT.gpu_slots(metric) if runs_model else 0

    return slots


def get_processes():
    """The processes of a training; each has a core or a GPU."""
    return with_signature(lambda wildcards: EXPERIMENT.processes(get_ids(wildcards)))


def get_gflops():
    """The operations a second of what a cluster's jobs run on, in billions; None if its profile tells none."""
    resources = workflow.resource_settings.default_resources or {}
    return resources["gflops"].raw if "gflops" in resources else None


EFFORT = effort_or_exit(EXPERIMENT, get_gflops())
GROUPS = Groups(EXPERIMENT, EFFORT)


def get_priority(stage):
    """Return the minutes that a job needs: long jobs start first."""
    return with_signature(lambda wildcards: EFFORT.minutes(stage, get_ids(wildcards)))


def get_runtime(stage):
    """Return the time limit of a job's attempt, in minutes."""
    return with_signature(
        lambda wildcards, attempt: EFFORT.limit(stage, get_ids(wildcards), attempt)
    )


def get_group(stage):
    """Return the submission of a job, on a cluster whose profile has submissions of several jobs."""
    if GROUPS.kind_of(stage) is None:
        return None

    @with_signature
    def group(wildcards):
        if not has_submissions_of_several():
            return None
        name = GROUPS.group_of(stage, get_ids(wildcards))
        # As Snakemake does with a group that is text, so that `group-components` holds for it.
        workflow.parent_groupids[name] = GROUPS.kind_of(stage)
        return name

    return group


def get_memory(stage, least=8000):
    """Return the memory in MB of a job that runs a model."""
    if not EXPERIMENT.weights:
        return least
    return with_signature(
        lambda wildcards: EXPERIMENT.memory_mb(stage, get_ids(wildcards), least)
    )


def get_table_memory(wildcards, attempt):
    """Return the memory in MB of a job that reads tables: by their size, more after a failure."""
    return EXPERIMENT.table_memory_mb(get_ids(wildcards), 2000) * attempt


def get_analysis_memory(name, facts):
    """Return the memory in MB of an analysis: with room for a model if it runs one, else more after a failure."""
    if facts.runs_model:
        return get_memory(name, facts.memory_mb)
    return with_signature(lambda wildcards, attempt: facts.memory_mb * attempt)
