# How jobs share a machine or a cluster. No result depends on it.
def gpu_slots(wildcards):
    return EXPERIMENT.gpu_slots(wildcards.get("metric"))


def evaluate_group(wildcards):
    """Jobs that a cluster may run as one; None for shards, which are there to run side by side."""
    sharded = "shard" in wildcards.keys()
    return None if sharded else EXPERIMENT.evaluate_cost(wildcards.metric)[0]


def evaluate_minutes(wildcards, attempt):
    return EXPERIMENT.evaluate_cost(wildcards.metric)[1] * attempt
