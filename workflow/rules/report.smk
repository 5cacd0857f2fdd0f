rule report:
    input:
        get_report_inputs,
        cost=get_path("cost"),
    output:
        page=report(
            get_path("page"),
            caption="../report/page.rst",
            category="Report",
            labels={"what": "The page", "format": "HTML"},
        ),
        tables=report(
            directory(get_path("tables")),
            patterns=["{table}.csv"],
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}", "format": "CSV"},
        ),
        figures=report(
            directory(get_path("figures")),
            patterns=["{figure}_2col.svg"],
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}", "format": "SVG"},
        ),
    log:
        get_log("report", "page"),
    group:
        get_group("report")
    conda:
        get_environment()
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
        gpu_slot=get_gpu_slots(runs_model=False),
    params:
        options=get_options("report"),
        statistics=EXPERIMENT.config.statistics.all_values,
        seeds=EXPERIMENT.seeds,
    message:
        "Writing the report"
    shell:
        "exparity report --options {params.options:q} --page {output.page:q}"
        # With 3 the page lacks a part and is kept; `onsuccess` ends the run with 3.
        " > {log:q} 2>&1 || [ $? -eq 3 ]"
