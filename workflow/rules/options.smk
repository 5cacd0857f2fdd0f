# What jobs are told, from the ids in the path of the file they make.


# Both take the input, so that Snakemake does not count them as what a result depends on.
def gather_flags(wildcards, input):
    return ["--gather", *input.shards] if input.shards else []


def shard_flags(wildcards, input):
    return ["--shard", f"{wildcards.shard}/{wildcards.shards}"]


def prepare_options(wildcards):
    return EXPERIMENT.prepare_options(wildcards.dataset)


def finetune_options(wildcards):
    return EXPERIMENT.finetune_options(
        wildcards.dataset, wildcards.model, int(wildcards.seed)
    )


def explain_options(wildcards):
    return EXPERIMENT.explain_options(
        wildcards.dataset, wildcards.model, int(wildcards.seed), wildcards.method
    )


def evaluate_options(wildcards):
    return EXPERIMENT.evaluate_options(
        wildcards.dataset,
        wildcards.model,
        int(wildcards.seed),
        wildcards.method,
        wildcards.metric,
    )


def test_options(wildcards):
    return EXPERIMENT.test_options(
        wildcards.dataset,
        wildcards.model,
        int(wildcards.seed),
        wildcards.method,
        wildcards.metric,
    )


# Only where these jobs are to run: a job on a cluster starts a Snakemake of its own, which has no use
# for what the report depends on.
def cost_options(wildcards):
    return EXPERIMENT.cost_options()


def report_options(wildcards):
    return EXPERIMENT.report_options()
