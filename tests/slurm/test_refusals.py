"""Submissions that SLURM refuses: its own line once, with what to change.

Each submission is a group of two jobs, and one run meets all refusals.
"""

import re

import pytest
import yaml
from slurm.conftest import SCORES, ClusterCheckout
from workflow.conftest import copy_run

pytestmark = [pytest.mark.slurm, pytest.mark.workflow, pytest.mark.timeout(600)]

REFUSALS = {
    "partition": ("slurm_partition", "nowhere", "cpu", "Invalid partition name specified"),
    "gpu_type": (
        *("gres", "gpu:a100:1", ""),
        "first: sbatch: error: Batch job submission failed: Requested node",
    ),
    "memory": ("mem_mb", 9_000_000, 1000, "Memory specification can not be satisfied"),
    "account": (
        *("slurm_partition", "closed", "cpu"),
        "Invalid account or account/partition combination specified",
    ),
    # Snakemake's plug-in refuses this one before it asks SLURM.
    "option": ("slurm_extra", "--comment=mine", "", "must not be overwritten"),
}
"""By the method whose submission is refused: the resource, its value there and elsewhere, and what
is said."""
REMEDIES = {
    "partition": "set cpu_partition and gpu_partition",
    "gpu_type": "set gres, constraint or mem_mb",
    "memory": "lower mem_mb",
    "account": "set slurm_account",
    "option": "is not allowed in the 'slurm_extra'",
}


def write_profile(checkout: ClusterCheckout) -> None:
    """Have each method's explanation and score be a submission that asks for what is refused."""
    choices: dict[str, str] = {}
    for method, (resource, refused, other, _) in REFUSALS.items():
        rest = choices.get(resource, repr(other))
        choices[resource] = f"{refused!r} if wildcards.method == {method!r} else ({rest})"
    rules = ("explain", "evaluate")
    profile = {
        "executor": "slurm",
        "jobs": 10,
        "retries": 2,
        "slurm-status-command": "squeue",
        "default-resources": {"slurm_partition": "cpu", "runtime": 10},
        "set-resources": {rule: {**choices, "gpu_slot": 0} for rule in rules},
        "groups": dict.fromkeys(rules, "cell.{method}"),
        "group-components": {"cell.{method}": 1000},
    }
    (checkout.root / "profiles/slurm/config.yaml").write_text(yaml.safe_dump(profile))


@pytest.fixture(scope="module")
def refused(baseline, cluster, tmp_path_factory) -> ClusterCheckout:
    """A run that has ended, as SLURM refused what it submitted."""
    target = tmp_path_factory.mktemp("refused") / "checkout"
    root = copy_run(baseline, target, "explanations", "scores")
    checkout = ClusterCheckout(root, cluster, baseline.config_path.relative_to(baseline.root))
    checkout.configure(
        methods={method: {"use": "gradient"} for method in REFUSALS},
        metrics={"gini": {}},
        controls={"random": {"draws": 0}},
    )
    write_profile(checkout)
    assert checkout.start(*SCORES).wait(timeout=300) == 1, checkout.said
    return checkout


@pytest.mark.parametrize("method", REFUSALS)
def test_a_refusal_is_said_once_with_what_to_change(refused, method):
    reason = REFUSALS[method][-1]
    (line,) = [line for line in refused.said.splitlines() if reason in line]
    assert line.startswith("exparity: the scheduler refuses submissions, ")
    assert REMEDIES[method] in line


def test_neither_the_jobs_of_a_refused_submission_are_listed_nor_is_it_sent_again(refused):
    assert "Error in" not in refused.said
    assert "message: None" not in refused.said
    assert "Trying to restart" not in refused.said
    told = re.findall(r"^exparity: the scheduler .*", refused.said, re.MULTILINE)
    assert len(told) == len(REFUSALS)
    assert "has been submitted" not in refused.said
