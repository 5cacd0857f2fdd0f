rule evaluate:
    input:
        data=get_path("data"),
        explanations=get_path("explanations"),
        checkpoint=get_checkpoint,
        counterfactuals=get_of_metric("counterfactuals", "counterfactual"),
        foresight=get_of_metric("foresight", "foresight"),
        predictions=get_of_metric("predictions", "messages"),
    output:
        scores=get_path("scores"),
    log:
        get_log("evaluate", "scores"),
    priority: get_priority("evaluate")
    group:
        get_group("evaluate")
    conda:
        get_environment()
    threads: 1
    resources:
        mem_mb=get_memory("evaluate"),
        runtime=get_runtime("evaluate"),
        gpu_slot=get_gpu_slots(of_metric=True),
    params:
        options=get_options("evaluate"),
    message:
        "Evaluating {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity evaluate --options {params.options:q} --metric-id {wildcards.metric:q}"
        " --data {input.data:q} --explanations {input.explanations:q}"
        " --checkpoint {input.checkpoint:q} --counterfactuals {input.counterfactuals:q}"
        " --foresight {input.foresight:q} --predictions {input.predictions:q}"
        " --output {output.scores:q} --threads {threads}"
        " > {log:q} 2>&1"
