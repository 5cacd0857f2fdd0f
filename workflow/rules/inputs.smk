# What jobs read, from the ids in the path of the file they make. Snakemake asks before it looks at any
# file, of one of these at least, whatever a run is to make.
def get_ids(wildcards):
    """The ids of a cell."""
    ids = dict(wildcards.items())
    return {**ids, "seed": int(ids["seed"])} if "seed" in ids else ids


def get_data_files(wildcards):
    """Files of the user's own that a dataset is read from."""
    begin()
    return EXPERIMENT.own_inputs("prepare", get_ids(wildcards))


@with_signature
def get_method_files(wildcards):
    """Files of the user's own that a method reads."""
    begin()
    return EXPERIMENT.own_inputs("explain", get_ids(wildcards))


@with_signature
def get_checkpoint(wildcards):
    """The checkpoint, for metrics that run the model."""
    begin()
    if not EXPERIMENT.runs_model(wildcards.metric):
        return []
    return get_path("models").format(**wildcards)


def get_of_metric(artefact, needs):
    """A file that only metrics read that need something, such as counterfactuals."""
    if not EXPERIMENT.metrics_that_need(needs):
        return []
    return with_signature(
        lambda wildcards: EXPERIMENT.of_metric(artefact, get_ids(wildcards))
    )


def get_analysis_inputs(name):
    """The input function of an analysis: what it reads, by the names of its function's inputs."""

    @with_signature
    def inputs(wildcards):
        begin()
        return EXPERIMENT.inputs(name, get_ids(wildcards))

    return inputs


def get_report_inputs(wildcards):
    """Return the inputs of the report that no other job reads; these need the rest."""
    begin()
    return last_results(EXPERIMENT)
