rule explain:
    input:
        data=get_path("data"),
        checkpoint=get_path("models"),
        predictions=get_path("predictions"),
        files=get_method_files,
    output:
        explanations=get_path("explanations"),
    log:
        get_log("explain", "explanations"),
    priority: get_priority("explain")
    group:
        get_group("explain")
    conda:
        get_environment()
    threads: 1
    resources:
        mem_mb=get_memory("explain"),
        runtime=get_runtime("explain"),
        gpu_slot=get_gpu_slots(),
    params:
        options=get_options("explain"),
    message:
        "Explaining {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed},"
        " with {wildcards.method}"
    shell:
        "exparity explain --options {params.options:q} --method-id {wildcards.method:q}"
        " --data {input.data:q} --checkpoint {input.checkpoint:q}"
        " --predictions {input.predictions:q} --output {output.explanations:q}"
        " --threads {threads} > {log:q} 2>&1"
