rule evaluate:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        explanations=f"{RESULTS}/explanations/{{dataset}}/{{model}}/{{seed}}/{{method}}.parquet",
        checkpoint=get_checkpoint,
        shards=get_evaluate_shards,
    output:
        scores=f"{RESULTS}/scores/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.tsv"
    group:
        evaluate_group
    conda:
        "../envs/gpu.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=evaluate_minutes,
        gpu_slot=gpu_slots,
    params:
        options=evaluate_options,
        split=gather_flags,
    message:
        "Evaluating {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity evaluate --options {params.options:q} --metric-id {wildcards.metric:q}"
        " --data {input.data:q} --explanations {input.explanations:q}"
        " --checkpoint {input.checkpoint:q} --output {output.scores:q} --threads {threads}"
        " {params.split:q} > {log:q} 2>&1"


use rule evaluate as evaluate_shard with:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        explanations=f"{RESULTS}/explanations/{{dataset}}/{{model}}/{{seed}}/{{method}}.parquet",
        checkpoint=get_checkpoint,
    output:
        scores=temp(SCORES_SHARD),
    log:
        f"{RESULTS}/logs/evaluate_shard/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate_shard/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}/{{shard}}-of-{{shards}}.tsv"
    params:
        options=evaluate_options,
        split=shard_flags,
    message:
        "Evaluating {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}, shard {wildcards.shard} of {wildcards.shards}"
