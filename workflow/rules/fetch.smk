# Everything that a run takes from the network, for compute nodes that have none. It is asked for by
# name, on a machine with a network, before the run: snakemake fetch
rule fetch:
    log:
        f"{RESULTS}/logs/fetch.log",
    localrule: True
    message:
        "Fetching raw files and checkpoints"
    run:
        try:
            fetch(EXPERIMENT, log[0])
        except InputError as error:
            raise WorkflowError(f"exparity: {error}") from None
