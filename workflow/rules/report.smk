rule report:
    input:
        tests=get_cells(
            f"{RESULTS}/tests/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet"
        ),
        bias=get_cells(f"{RESULTS}/bias/{{dataset}}/{{model}}/{{seed}}.parquet"),
        controls=get_controls(),
    output:
        page=f"{RESULTS}/report/index.html",
        disparity=f"{RESULTS}/report/disparity.parquet",
        tables=directory(f"{RESULTS}/report/tables"),
    log:
        f"{RESULTS}/logs/report.log",
    benchmark:
        f"{RESULTS}/benchmarks/report.tsv"
    conda:
        "../envs/report.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        options=EXPERIMENT.report_options(),
    message:
        "Writing the report"
    shell:
        "exparity report --options {params.options:q} --page {output.page:q}"
        " > {log:q} 2>&1"
