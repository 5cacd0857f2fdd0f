rule prepare:
    input:
        files=get_data_files,
    output:
        data=get_path("data"),
    log:
        get_log("prepare", "data"),
    conda:
        get_environment()
    threads: 1
    resources:
        mem_mb=get_table_memory,
        runtime=30,
    params:
        options=get_options("prepare"),
    message:
        "Preparing {wildcards.dataset}"
    shell:
        "exparity prepare --options {params.options:q} --dataset-id {wildcards.dataset:q}"
        " --output {output.data:q} > {log:q} 2>&1"
