# What jobs are told, from the ids in the path of the file they make.


def get_options(stage):
    """What the result of a stage depends on."""

    # Only where these jobs are to run: a job on a cluster starts a Snakemake of its own, which has no
    # use for what the report depends on.
    def options(wildcards):
        serve_group()
        return EXPERIMENT.options(stage, get_ids(wildcards))

    return options
