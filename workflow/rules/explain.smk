rule explain:
    input:
        data=get_path("data"),
        checkpoint=get_path("models"),
        predictions=get_path("predictions"),
        files=get_method_files,
        shards=get_shards("explanations"),
    output:
        explanations=get_path("explanations"),
    log:
        get_log("explain", "explanations"),
    benchmark:
        get_benchmark("explain", "explanations")
    priority: get_priority(explain_cost)
    group:
        get_group(explain_cost)
    conda:
        "../envs/exparity.yaml"
    threads: 1
    resources:
        mem_mb=get_memory("explain"),
        runtime=get_minutes(explain_cost),
        gpu_slot=get_gpu_slots(),
    params:
        options=get_options("explain"),
        split=gather_flags,
    message:
        "Explaining {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed},"
        " with {wildcards.method}"
    shell:
        "exparity explain --options {params.options:q} --method-id {wildcards.method:q}"
        " --model-id {wildcards.model:q} --seed {wildcards.seed} --data {input.data:q}"
        " --checkpoint {input.checkpoint:q} --predictions {input.predictions:q}"
        " --output {output.explanations:q} --threads {threads} {params.split:q} > {log:q} 2>&1"


use rule explain as explain_shard with:
    input:
        data=get_path("data"),
        checkpoint=get_path("models"),
        predictions=get_path("predictions"),
        files=get_method_files,
    output:
        explanations=temp(
            get_shard("shards", "explanations", "explanations", "parquet")
        ),
    log:
        get_shard("logs", "explain_shard", "explanations", "log"),
    benchmark:
        get_shard("benchmarks", "explain_shard", "explanations", "tsv")
    params:
        options=get_options("explain"),
        split=shard_flags,
    message:
        "Explaining {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed},"
        " with {wildcards.method}, shard {wildcards.shard} of {wildcards.shards}"
