# One rule for every registered analysis that the config asks for, or that is always made.
for analysis in EXPERIMENT.analyses:

    rule:
        name:
            analysis.id
        input:
            unpack(get_analysis_inputs(analysis.id)),
        output:
            [get_path(artefact) for artefact in analysis.facts.writes],
        log:
            get_log(analysis.id, analysis.facts.artefact),
        priority: get_priority(analysis.id) if analysis.facts.runs_model else 0
        group:
            get_group(analysis.id)
        conda:
            get_environment()
        threads: 1
        resources:
            mem_mb=get_analysis_memory(analysis.id, analysis.facts),
            runtime=get_runtime(analysis.id),
            gpu_slot=get_gpu_slots(runs_model=analysis.facts.runs_model),
        params:
            command=command_of(analysis.id),
            options=get_options(analysis.id),
            flags=get_analysis_flags(analysis.id),
        message:
            analysis.display
            + "".join(f", {{wildcards.{id}}}" for id in analysis.facts.levels)
        shell:
            "exparity {params.command:q} --options {params.options:q} {params.flags:q}"
            " > {log:q} 2>&1"
