"""Another workflow imports this one: its rules, its lock and its clean-up."""

from __future__ import annotations

import fcntl
import shutil

import pytest
import yaml
from support import N_METHODS, N_METRICS, TINY

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
rule count_tests:
    default_target: True
    input: rules.exparity_all.input
    output: config["count"]
    shell: "ls results/tests/*/*/*/*/*.parquet | wc -l > {output}"
"""
SQUEUE = """#!/bin/sh
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
    programs = {"squeue": SQUEUE, "scancel": "#!/bin/sh\necho $@ > cancelled\n"}
    for name, text in programs.items():
        (finished.decoy.parent / name).write_text(text)
        (finished.decoy.parent / name).chmod(0o755)
    return folder


def test_an_imported_workflow_plans_runs_locks_and_cleans_up(study, finished):
    snakefile = study / "Snakefile"
    flags = ("--snakefile", str(snakefile), "--directory", str(study))
    snakefile.write_text(OWN_START + IMPORT + OWN_RULE)
    cell = "pairs_all/bert_tiny/0/gradient/comprehensiveness.parquet"
    for path in (f"scores/{cell}", f"tests/{cell}", "report"):
        (study / "results" / path).rename(study / path.partition("/")[0])

    with (study / "results" / ".exparity.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused = finished.snakemake(*flags, check=2)
        assert "another run is using the results folder results" in refused.stderr
        planned = finished.plan(*flags)
    ours = ("evaluate", "test", "across_trainings", "adjusted_gaps", "control", "cost", "report")
    assert planned == {"count_tests": 1, **{f"exparity_{rule}": 1 for rule in ours}}
    assert not [name for name in ("started", "cancelled") if (study / name).exists()]

    snakefile.write_text(IMPORT + OWN_RULE + OWN_START)
    run = finished.snakemake(*flags)
    assert "cancelled 1 job that an earlier run had left" in run.stderr
    assert (study / "cancelled").read_text() == "7\n"
    assert (study / "started").exists()
    assert int((study / "count.txt").read_text()) == N_METHODS * N_METRICS
    assert not finished.results.exists()
