rule control:
    input:
        scores=get_scores,
    output:
        control=f"{RESULTS}/controls/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/control/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/control/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        options=control_options,
    message:
        "Permuting the groups of {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity control --options {params.options:q} --scores {input.scores:q}"
        " --output {output.control:q} > {log:q} 2>&1"
