"""A run in a shell with an activated environment, as in the README, against a plain shell."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.workflow,
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only"),
]


@pytest.fixture
def activate() -> str:
    """What the script of an environment does to the variables of a shell, where there is none."""
    script = Path(sys.prefix, "bin", "activate")
    return f"source {script}" if script.is_file() else "export PS1='(env) $ '"


def test_jobs_of_an_activated_shell_do_not_start_anew(activate, repository, tmp_path):
    folder = tmp_path / "activated"
    shutil.copytree(repository / ".test", folder)
    environment = {k: v for k, v in os.environ.items() if k not in ("EXPARITY_WARM", "PS1")}
    environment.pop("PYTEST_CURRENT_TEST", None)
    environment["PYTHONPATH"] = str(repository / "src")
    snakemake = (
        f"{sys.executable} -m snakemake --cores 2 --configfile config/config.yaml --quiet all "
        "--until evaluate"
    )
    command = f"{activate}; {snakemake} --snakefile {repository}/Snakefile"
    run = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert "start anew" not in run.stderr
