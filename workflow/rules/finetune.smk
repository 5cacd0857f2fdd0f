rule finetune:
    input:
        data=get_path("data"),
    output:
        checkpoint=directory(get_path("models")),
        predictions=get_path("predictions"),
    log:
        get_log("finetune", "models"),
    priority: 1_000_000
    group:
        get_group("finetune")
    conda:
        get_environment()
    threads: get_processes()
    resources:
        mem_mb=get_memory("finetune"),
        runtime=240,
        gpu_slot=get_gpu_slots(),
    params:
        options=get_options("finetune"),
    message:
        "Fine-tuning {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity finetune --options {params.options:q} --model-id {wildcards.model:q}"
        " --seed {wildcards.seed} --data {input.data:q} --output {output.checkpoint:q}"
        " --predictions {output.predictions:q} --threads {threads}"
        " > {log:q} 2>&1"
