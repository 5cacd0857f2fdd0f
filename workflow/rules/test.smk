rule test:
    input:
        scores=get_path("scores"),
        random_scores=get_random_scores,
    output:
        test=get_path("tests"),
    log:
        get_log("test", "tests"),
    benchmark:
        get_benchmark("test", "tests")
    conda:
        "../envs/exparity.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        options=get_options("test"),
    message:
        "Testing {wildcards.metric} of {wildcards.method}: {wildcards.model} on"
        " {wildcards.dataset}, seed {wildcards.seed}"
    shell:
        "exparity test --options {params.options:q} --scores {input.scores:q}"
        " --random-scores {input.random_scores:q}"
        " --output {output.test:q} > {log:q} 2>&1"
