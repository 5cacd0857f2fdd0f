rule report:
    input:
        tests=get_cells(
            f"{RESULTS}/tests/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet"
        ),
        data=get_cells(f"{RESULTS}/data/{{dataset}}.parquet"),
        predictions=get_cells(
            f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet"
        ),
        explanations=get_cells(
            f"{RESULTS}/explanations/{{dataset}}/{{model}}/{{seed}}/{{method}}.parquet"
        ),
        scores=get_cells(
            f"{RESULTS}/scores/{{dataset}}/{{model}}/{{seed}}/{{method}}/{{metric}}.parquet"
        ),
        bias=get_cells(f"{RESULTS}/bias/{{dataset}}/{{model}}/{{seed}}.parquet"),
        controls=get_controls(),
        analyses=get_analyses(),
    output:
        page=report(
            f"{RESULTS}/report/index.html",
            caption="../report/page.rst",
            category="Report",
            labels={"what": "The page", "format": "HTML"},
        ),
        disparity=f"{RESULTS}/report/disparity.parquet",
        tables=report(
            directory(f"{RESULTS}/report/tables"),
            patterns=["{table}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "format": "CSV"},
        ),
        figures=report(
            directory(f"{RESULTS}/report/figures"),
            patterns=["{figure}_2col.svg"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "format": "SVG"},
        ),
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
        options=report_options,
        statistics=EXPERIMENT.config["statistics"],
        seeds=EXPERIMENT.seeds,
    message:
        "Writing the report"
    shell:
        "exparity report --options {params.options:q} --page {output.page:q}"
        " > {log:q} 2>&1"
