rule correctness:
    input:
        scores=get_rationale_scores,
        predictions=f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet",
    output:
        correctness=f"{RESULTS}/correctness/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/correctness/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/correctness/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=correctness_options,
    message:
        "Describing correctness of {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity correctness --options {params.options:q} --scores {input.scores:q}"
        " --predictions {input.predictions:q} --output {output.correctness:q} > {log:q} 2>&1"


rule attribution_difference:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        explanations=get_explanations,
    output:
        differences=f"{RESULTS}/attribution_differences/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/attribution_difference/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/attribution_difference/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=attribution_difference_options,
    message:
        "Comparing attributions within matched sets: {wildcards.model} on {wildcards.dataset},"
        " seed {wildcards.seed}"
    shell:
        "exparity attribution-difference --options {params.options:q} --data {input.data:q}"
        " --explanations {input.explanations:q} --output {output.differences:q} > {log:q} 2>&1"


rule dataset_bias:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
    output:
        bias=f"{RESULTS}/dataset_bias/{{dataset}}.parquet",
    log:
        f"{RESULTS}/logs/dataset_bias/{{dataset}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/dataset_bias/{{dataset}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        options=dataset_bias_options,
    message:
        "Measuring bias of {wildcards.dataset} itself"
    shell:
        "exparity dataset-bias --options {params.options:q} --data {input.data:q}"
        " --output {output.bias:q} > {log:q} 2>&1"


rule mlm_score:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        checkpoint=f"{RESULTS}/models/{{dataset}}/{{model}}/{{seed}}",
    output:
        scores=f"{RESULTS}/mlm_scores/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/mlm_score/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/mlm_score/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/gpu.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu_slot=gpu_slots,
    params:
        options=mlm_score_options,
    message:
        "Asking {wildcards.model} for masked words of {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity mlm-score --options {params.options:q} --model-id {wildcards.model:q}"
        " --seed {wildcards.seed} --data {input.data:q} --checkpoint {input.checkpoint:q}"
        " --output {output.scores:q} --threads {threads} > {log:q} 2>&1"
