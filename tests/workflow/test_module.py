"""Another workflow imports this one: its rules, its lock and its clean-up."""

import fcntl
import os
import re
import shutil
import subprocess

import pytest
import yaml
from support import N_METHODS, N_METRICS, TINY, write_program

from workflow import forked

pytestmark = pytest.mark.workflow

OWN_START = """
onstart:
    open("started", "w").close()
"""
IMPORT = """
module exparity:
    snakefile: "../checkout/workflow/Snakefile"
    config: config["exparity"]

use rule * from exparity as exparity_*

use rule report from exparity as exparity_report with:
    priority: 1
"""
OWN_RULE = """
rule count_scores:
    default_target: True
    input: rules.exparity_all.input
    output: config["count"]
    shell: "ls results/scores/*/*/*/*/*.parquet | wc -l > {output}"
"""
# What snakedeploy writes, but for the place of the clone.
DEPLOYED = """
from snakemake.utils import min_version

min_version("6.10.0")

configfile: "config/config.yaml"

module exparity:
    snakefile:
        gitfile("{clone}", path="workflow/Snakefile", commit="{commit}")
    config:
        config

use rule * from exparity
"""
SQUEUE = """\
[ -e cancelled ] || echo "7|$PWD|rule_exparity_explain_wildcards_gradient"
"""


@pytest.fixture
def study(finished):
    """A workflow in a folder of its own that goes on with a finished run."""
    folder = finished.root.parent / "study"
    folder.mkdir()
    for name in ("results", ".snakemake"):
        shutil.move(finished.root / name, folder / name)
    config = {"count": "count.txt", "exparity": TINY}
    finished.config_path.write_text(yaml.safe_dump(config))
    for name, script in {"squeue": SQUEUE, "scancel": "echo $@ > cancelled"}.items():
        write_program(finished.decoy.parent / name, script)
    return folder


def test_an_imported_workflow_plans_runs_locks_and_cleans_up(study, finished):
    snakefile = study / "Snakefile"
    flags = ("--snakefile", str(snakefile), "--directory", str(study))
    snakefile.write_text(OWN_START + IMPORT + OWN_RULE)
    cell = "pairs_all/bert_tiny/0/gradient/comprehensiveness.parquet"
    for path in (f"scores/{cell}", "tests", "report"):
        (study / "results" / path).rename(study / path.partition("/")[0])

    with (study / "results" / ".exparity.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = finished.snakemake(*flags, check=2)
        assert "another run is using the results folder results" in refused.stderr
        planned = finished.plan(*flags)
    ours = ("evaluate", "compare", "judge", "ranking", "cost", "report")
    assert planned == {"count_scores": 1, **{f"exparity_{rule}": 1 for rule in ours}}
    assert not [name for name in ("started", "cancelled") if (study / name).exists()]

    snakefile.write_text(IMPORT + OWN_RULE + OWN_START)
    run = finished.snakemake(*flags)
    assert "cancelled 1 job that an earlier run had left" in run.stderr
    assert (study / "cancelled").read_text() == "7\n"
    assert (study / "started").exists()
    assert int((study / "count.txt").read_text()) == N_METHODS * N_METRICS
    assert not finished.results.exists()
    # Times of results count for nothing here too.
    for made in (study / "results").glob("models/*/*/*/.snakemake_timestamp"):
        os.utime(made, (2e9, 2e9))
    assert finished.plan(*flags) == {}


def test_a_deployed_workflow_plans_from_a_commit_of_a_clone(checkout, tmp_path):
    git = ("git", "-C", str(checkout.root), "-c", "user.name=x", "-c", "user.email=x@example.org")
    for words in ("init -q", "add Snakefile workflow", "commit -q -m x"):
        subprocess.run([*git, *words.split()], check=True)
    commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
    # What the commit holds counts, and not what lies in the clone.
    (checkout.root / "workflow" / "rules" / "evaluate.smk").unlink()
    study = tmp_path / "study"
    (study / "workflow").mkdir(parents=True)
    (study / "config").mkdir()
    snakefile = study / "workflow" / "Snakefile"
    snakefile.write_text(DEPLOYED.format(clone=checkout.root, commit=commit))
    shutil.copytree(checkout.root / "profiles", study / "profiles")
    shutil.move(checkout.config_path, study / "config" / "config.yaml")
    run = forked.run(["-n", "--cores", "1"], study, checkout.environment, 600)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "profiles/default" in run.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", run.stdout, re.M))
    assert jobs["evaluate"] == str(N_METHODS * N_METRICS)
    assert jobs["report"] == "1"
