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


def get_group(cost):
    """Jobs that a cluster may run as one."""
    return lambda wildcards: cost(wildcards)[0]


def get_minutes(cost):
    return lambda wildcards, attempt: cost(wildcards)[1] * attempt


def get_priority(cost):
    """The longest jobs first: short ones fill the other cores while the last of these run."""
    return lambda wildcards: cost(wildcards)[1]


def get_memory(stage, least=8000):
    """What a job is given that runs a model."""
    if not EXPERIMENT.weights:
        return least
    return lambda wildcards: EXPERIMENT.memory_mb(stage, get_ids(wildcards), least)


def get_analysis_memory(name, facts):
    """What an analysis is given; one that runs a model has room for it."""
    return get_memory(name, facts.memory_mb) if facts.runs_model else facts.memory_mb


def explain_cost(wildcards):
    return EXPERIMENT.explain_cost(wildcards.method)


def evaluate_cost(wildcards):
    return EXPERIMENT.evaluate_cost(wildcards.metric)
