rule test:
    input:
        scores=f"{RESULTS}/scores/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet",
    output:
        test=f"{RESULTS}/tests/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet",
    log:
        f"{RESULTS}/logs/test/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/test/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=test_options,
    message:
        "Testing {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity test --options {params.options:q} --scores {input.scores:q}"
        " --output {output.test:q} > {log:q} 2>&1"
