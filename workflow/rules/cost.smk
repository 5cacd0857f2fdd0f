# What the finished jobs took: a table of its own, and a part of the report.
rule cost:
    input:
        tests=get_cells(
            f"{RESULTS}/tests/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet"
        ),
        bias=get_cells(f"{RESULTS}/bias/{{dataset}}/{{model}}/{{seed}}.parquet"),
        controls=get_controls(),
    output:
        cost=f"{RESULTS}/cost.parquet",
    log:
        f"{RESULTS}/logs/cost.log",
    benchmark:
        f"{RESULTS}/benchmarks/cost.tsv"
    conda:
        "../envs/cpu.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=cost_options,
    message:
        "Gathering what the jobs took"
    shell:
        "exparity cost --output {output.cost:q} > {log:q} 2>&1"
