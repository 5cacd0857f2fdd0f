# What the finished jobs took: a table of its own, and a part of the report.
rule cost:
    input:
        tests=get_cells(get_path("tests")),
        bias=get_cells(get_path("bias")),
        controls=get_cells(get_path("controls")) if EXPERIMENT.has_controls else [],
    output:
        cost=get_path("cost"),
    log:
        get_log("cost", "cost"),
    benchmark:
        get_benchmark("cost", "cost")
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
