from pathlib import Path

from snakemake.utils import min_version

from exparity.config import check_or_exit

min_version("9.20")


report: "workflow/report/workflow.rst"


DEFAULT_CONFIG = Path(workflow.basedir) / "config" / "config.yaml"
check_or_exit(workflow.overwrite_configfiles or [DEFAULT_CONFIG])

# A config file given on the command line is whole in itself; it is not merged into the default.
if not workflow.overwrite_configfiles:

    configfile: DEFAULT_CONFIG


include: "workflow/rules/common.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/options.smk"
include: "workflow/rules/fetch.smk"
include: "workflow/rules/prepare.smk"
include: "workflow/rules/finetune.smk"
include: "workflow/rules/explain.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/test.smk"
include: "workflow/rules/control.smk"
include: "workflow/rules/bias.smk"
include: "workflow/rules/analyses.smk"
include: "workflow/rules/cost.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        get_final_output(),
