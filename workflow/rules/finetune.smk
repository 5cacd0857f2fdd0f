rule finetune:
    input:
        data=f"{RESULTS}/data/{{dataset}}.parquet",
    output:
        checkpoint=directory(f"{RESULTS}/models/{{dataset}}/{{model}}/{{seed}}"),
        predictions=f"{RESULTS}/predictions/{{dataset}}/{{model}}/{{seed}}.parquet",
    log:
        f"{RESULTS}/logs/finetune/{{dataset}}/{{model}}/{{seed}}.log",
    benchmark:
        f"{RESULTS}/benchmarks/finetune/{{dataset}}/{{model}}/{{seed}}.tsv"
    conda:
        "../envs/gpu.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=240,
        gpu_slot=gpu_slots,
    params:
        options=finetune_options,
    message:
        "Fine-tuning {wildcards.model} on {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity finetune --options {params.options:q} --model-id {wildcards.model:q}"
        " --seed {wildcards.seed} --data {input.data:q} --output {output.checkpoint:q}"
        " --predictions {output.predictions:q} --threads {threads}"
        " > {log:q} 2>&1"
