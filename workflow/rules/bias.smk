rule bias:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
        predictions=f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet",
    output:
        bias=f"{RESULTS}/bias/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/bias/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/bias/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=bias_options,
    message:
        "Measuring bias of {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity bias --options {params.options:q} --data {input.data:q}"
        " --predictions {input.predictions:q} --output {output.bias:q} > {log:q} 2>&1"
