# Options of jobs, from the ids in the path of the file they make.


def get_options(name):
    """Return the options that the result of a stage or an analysis depends on."""

    # Only where these jobs are to run: a job on a cluster starts a Snakemake of its own, which has no
    # use for what the report depends on.
    @with_signature
    def options(wildcards):
        if workflow.scheduler is not None:  # it comes after the plan
            serve()
        return canonical(EXPERIMENT.options(name, get_ids(wildcards)))

    return options


def get_analysis_flags(name):
    # The input is asked for so that Snakemake does not count them as what a result depends on.
    return with_signature(
        lambda wildcards, input, output, threads: EXPERIMENT.flags(
            name, dict(input.items()), output, {**wildcards, "threads": threads}
        )
    )
