"""A run in a shell with an activated environment, as in the README, against a plain shell."""

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only"),
]
PAIRS = 3  # the CPU time of one run alone varies by a tenth on a busy machine


def cpu_seconds(before: str, repository: Path, folder: Path) -> float:
    """CPU time of the small experiment, served warm, in a shell that does something else before."""
    shutil.copytree(repository / ".test", folder)
    environment = {k: v for k, v in os.environ.items() if k not in ("EXPARITY_WARM", "PS1")}
    environment.pop("PYTEST_CURRENT_TEST", None)
    environment["PYTHONPATH"] = str(repository / "src")
    snakemake = (
        f"{sys.executable} -m snakemake --cores 2 --configfile config/config.yaml --quiet all "
        "--until evaluate"
    )
    command = f"{before}; {snakemake} --snakefile {repository}/Snakefile"
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "start anew" not in run.stderr
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return end.ru_utime - start.ru_utime + end.ru_stime - start.ru_stime


@pytest.fixture
def activate() -> str:
    """What the script of an environment does to the variables of a shell, where there is none."""
    script = Path(sys.prefix, "bin", "activate")
    return f"source {script}" if script.is_file() else "export PS1='(env) $ '"


def test_jobs_of_an_activated_shell_do_not_start_anew(activate, repository, tmp_path):
    cpu_seconds(activate, repository, tmp_path / "activated")


@pytest.mark.exhaustive
def test_an_activated_shell_costs_no_more_cpu(activate, repository, tmp_path):
    ratios = []
    for number in range(PAIRS):
        plain, activated = (
            cpu_seconds(before, repository, tmp_path / f"{number}{name}")
            for name, before in (("plain", ":"), ("activated", activate))
        )
        ratios.append(activated / plain)
        if ratios[-1] <= 1.1:
            return
    raise AssertionError(ratios)
