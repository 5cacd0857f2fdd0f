# How jobs share a machine or a cluster. No result depends on it.


# Where one number is known for all jobs it is given as such: Snakemake would call a function for each.
def get_environment():
    """The environment to make, where Snakemake is asked to: it plans with the parameters of all jobs then."""
    ways = {way.name for way in workflow.deployment_settings.deployment_method}
    asked = "CONDA" in ways or {"--lint", "--containerize"} & {*sys.argv}
    return "../envs/exparity.yaml" if asked else None


def get_gpu_slots():
    """One for jobs that run a model on this machine's GPU; some metrics do without a model."""
    if not EXPERIMENT.gpu_slots():
        return 0
    return lambda wildcards: EXPERIMENT.gpu_slots(wildcards.get("metric"))


def get_processes():
    """The processes of a training, each of which has a core or a GPU."""
    return lambda wildcards: EXPERIMENT.processes(get_ids(wildcards))


def get_minutes(stage, part):
    """Return the minutes of a method or metric; as a priority, they start long jobs first."""
    return with_signature(lambda wildcards: EXPERIMENT.minutes(stage, wildcards[part]))


def get_memory(stage, least=8000):
    """Return the memory in MB of a job that runs a model."""
    if not EXPERIMENT.weights:
        return least
    return lambda wildcards: EXPERIMENT.memory_mb(stage, get_ids(wildcards), least)


def get_table_memory(wildcards, attempt):
    """Return the memory in MB of a job that reads tables: by their size, more after a failure."""
    return EXPERIMENT.table_memory_mb(get_ids(wildcards), 2000) * attempt


def get_analysis_memory(name, facts):
    """Return the memory in MB of an analysis, with room for a model if it runs one."""
    return get_memory(name, facts.memory_mb) if facts.runs_model else facts.memory_mb
