# What the finished jobs took, all but the report, which shows it.
rule cost:
    input:
        get_report_inputs,
    output:
        cost=get_path("cost"),
    log:
        get_log("cost", "cost"),
    group:
        get_group("cost")
    conda:
        get_environment()
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
        gpu_slot=get_gpu_slots(runs_model=False),
    message:
        "Gathering what the jobs took"
    shell:
        "exparity cost --output {output.cost:q} > {log:q} 2>&1"
