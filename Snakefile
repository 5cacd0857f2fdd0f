# So that `snakemake` at the root runs the workflow.
include: "workflow/Snakefile"


# An included file has no say in what is made by default.
workflow.default_target = "all"
