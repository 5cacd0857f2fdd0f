import gc
import os
import re

from exparity.config import load_or_exit
from exparity.runlock import hold

EXPERIMENT = load_or_exit(
    config, Path(workflow.basedir) / "workflow" / "schemas" / "config.schema.yaml"
)
# A large grid makes millions of objects that live as long as the run; looking through them for
# garbage again and again would take a fifth of the time of planning it.
gc.set_threshold(200_000, 50, 100)

# How jobs use the machine and where raw files lie: not what results depend on, so not in params.
os.environ.update(EXPERIMENT.environment)

RESULTS = EXPERIMENT.results


wildcard_constraints:
    dataset="|".join(map(re.escape, EXPERIMENT.datasets)),
    model="|".join(map(re.escape, EXPERIMENT.models)),
    seed="|".join(map(str, EXPERIMENT.seeds)),
    method="|".join(map(re.escape, EXPERIMENT.methods)),
    metric="|".join(map(re.escape, EXPERIMENT.metrics)),


onstart:
    hold()


def get_final_output():
    return f"{RESULTS}/report/index.html"


def get_cells(pattern):
    """Fill a path pattern with the ids of every cell; those it does not name collapse."""
    return list(dict.fromkeys(pattern.format(**cell) for cell in EXPERIMENT.cells()))


def get_checkpoint(wildcards):
    """The checkpoint, for metrics that run the model."""
    if not EXPERIMENT.runs_model(wildcards.metric):
        return []
    return f"{RESULTS}/models/{wildcards.dataset}/{wildcards.model}/{wildcards.seed}"


def prepare_options(wildcards):
    return EXPERIMENT.prepare_options(wildcards.dataset)


def finetune_options(wildcards):
    return EXPERIMENT.finetune_options(
        wildcards.dataset, wildcards.model, int(wildcards.seed)
    )


def explain_options(wildcards):
    return EXPERIMENT.explain_options(
        wildcards.dataset, wildcards.model, int(wildcards.seed), wildcards.method
    )


def evaluate_options(wildcards):
    return EXPERIMENT.evaluate_options(
        wildcards.dataset,
        wildcards.model,
        int(wildcards.seed),
        wildcards.method,
        wildcards.metric,
    )


def test_options(wildcards):
    return EXPERIMENT.test_options(
        wildcards.dataset,
        wildcards.model,
        int(wildcards.seed),
        wildcards.method,
        wildcards.metric,
    )
