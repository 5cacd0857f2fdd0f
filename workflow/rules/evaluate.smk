rule evaluate:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        explanations=f"{RESULTS}/explanations/{{dataset}}/{{model}}/{{seed}}/{{method}}.parquet",
        checkpoint=get_checkpoint,
    output:
        scores=f"{RESULTS}/scores/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/evaluate/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.tsv"
    conda:
        "../envs/gpu.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
    params:
        options=evaluate_options,
    message:
        "Evaluating {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity evaluate --options {params.options:q} --metric-id {wildcards.metric:q}"
        " --data {input.data:q} --explanations {input.explanations:q}"
        " --checkpoint {input.checkpoint:q} --output {output.scores:q} --threads {threads} > {log:q} 2>&1"
