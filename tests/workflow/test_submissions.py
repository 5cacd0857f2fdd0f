"""What a dry run with the SLURM profile would submit, and what the submissions ask for."""

import re

import pytest
from workflow.conftest import Checkout, add_slow

from workflow import forked

pytestmark = pytest.mark.workflow
TRAINING = "training.pairs_all.bert_tiny.0"
SENSITIVITY = {"metrics": {"sensitivity": {}, "gini": {}}, "seeds": [0]}


def dry_run(checkout: Checkout, *flags: str) -> tuple[dict[str, list[str]], list[str]]:
    """Return the messages of grouped jobs, by group, and those of jobs of their own."""
    command = ["-n", "--profile", "profiles/slurm", "--configfile", str(checkout.config_path)]
    run = forked.run([*command, *flags], checkout.root, checkout.environment, 600)
    assert run.returncode == 0, run.stdout + run.stderr
    groups: dict[str, list[str]] = {}
    alone = []
    for line in run.stdout.splitlines():
        if found := re.search(r"Group job (\S+) ", line):
            group = groups.setdefault(found.group(1), [])
        elif found := re.fullmatch(r"( *)Job \d+: (.+)", line):
            (group if found.group(1) else alone).append(found.group(2))
    return groups, alone


def test_long_jobs_are_alone_and_the_others_of_a_training_share_a_submission(checkout, repository):
    add_slow(checkout, repository, methods={"slow": {}, "gradient": {}}, **SENSITIVITY)
    groups, alone = dry_run(checkout)
    assert {name: len(jobs) for name, jobs in groups.items()} == {
        TRAINING: 4,  # the training, and an explanation with two scores
        f"{TRAINING}.slow": 1,
        "statistics": 3,
        "report": 3,
    }
    cell = "bert_tiny on pairs_all, seed 0"
    assert sorted(alone) == [
        f"Evaluating sensitivity of slow: {cell}",
        f"Explaining {cell}, with slow",
        "Preparing pairs_all",
    ]


def test_a_profile_that_has_no_gpu_has_the_time_of_a_core(checkout):
    """A method that a GPU runs in its training's submission takes an hour there."""
    methods = {"lime": {"num_samples": 200}}
    checkout.configure(methods=methods, metrics={"gini": {}})
    assert len(dry_run(checkout)[1]) == 1
    profile = checkout.root / "profiles/slurm/config.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("  gres: gpu:v100:1\n", "  gres: ''\n"))
    assert profile.read_text() != text
    assert len(dry_run(checkout)[1]) == 2


def test_a_rule_can_be_put_back_into_the_submission_of_its_training(checkout, repository):
    add_slow(checkout, repository, methods={"slow": {}}, **SENSITIVITY)
    group = "training.{dataset}.{model}.{seed}"
    groups, alone = dry_run(checkout, "--groups", f"evaluate={group}", f"explain={group}")
    assert len(groups[TRAINING]) == 4
    assert alone == ["Preparing pairs_all"]


def test_on_one_machine_nothing_is_grouped(checkout, repository):
    add_slow(checkout, repository)
    assert "Group job " not in checkout.snakemake("-n").stdout


@pytest.mark.parametrize(
    ("gres", "of_two"),
    [
        pytest.param("gpu:1", "gpu:2", marks=pytest.mark.exhaustive),
        ("gpu:a100", "gpu:a100:2"),
        pytest.param("''", "", marks=pytest.mark.exhaustive),
    ],
)
def test_a_training_of_two_processes_asks_for_two_gpus(checkout, run, monkeypatch, gres, of_two):
    """Wherever the plan is made, as in a folder that holds modules of any name."""
    training = {"epochs": 1, "learning_rate": 0.003, "processes": 2}
    checkout.configure(training=training)
    (checkout.root / "json.py").write_text("raise SystemExit('the module of the folder')\n")
    monkeypatch.chdir(checkout.root)
    profile = checkout.root / "profiles/slurm/config.yaml"
    text = profile.read_text()
    profile.write_text(text.replace("  gres: gpu:v100:1\n", f"  gres: {gres}\n"))
    code, said, errors = run("plan", checkout.config_path, "--profile", profile.parent)
    assert code == 0, errors
    _, _, submitted = said.partition("hours asked for")
    rows = [re.split(r" {2,}", line.strip()) for line in submitted.splitlines()[1:]]
    gpus = {row[0]: row[-1] for row in rows}
    partitions = {row[0]: row[-2] for row in rows}
    assert gpus["finetune"] == (of_two or "–")
    assert gpus["training"] == (gres.strip("'") or "–")
    assert gpus["statistics"] == "–"
    assert (partitions["finetune"], partitions["statistics"]) == ("gpu", "cpu")
