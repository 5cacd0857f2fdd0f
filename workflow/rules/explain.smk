rule explain:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        checkpoint=f"{RESULTS}/models/{{dataset}}/{{model}}/{{seed}}",
        predictions=f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet",
        shards=get_explain_shards,
    output:
        explanations=f"{RESULTS}/explanations/{{dataset}}/{{model}}/{{seed}}/{{method}}.parquet",
    log:
        f"{RESULTS}/logs/explain/{{dataset}}/{{model}}/{{seed}}/{{method}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/explain/{{dataset}}/{{model}}/{{seed}}/{{method}}.tsv"
    conda:
        "../envs/gpu.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu_slot=gpu_slots,
    params:
        options=explain_options,
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
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        checkpoint=f"{RESULTS}/models/{{dataset}}/{{model}}/{{seed}}",
        predictions=f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet",
    output:
        explanations=temp(EXPLANATIONS_SHARD),
    log:
        f"{RESULTS}/logs/explain_shard/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{shard}}-of-{{shards}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/explain_shard/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{shard}}-of-{{shards}}.tsv"
    params:
        options=explain_options,
        split=shard_flags,
    message:
        "Explaining {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed},"
        " with {wildcards.method}, shard {wildcards.shard} of {wildcards.shards}"
