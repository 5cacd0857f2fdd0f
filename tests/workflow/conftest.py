"""Real runs of the workflow in a copy of the checkout, on a tiny experiment."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import held
import pytest
import yaml
from support import TINY, made_once, write_program

from workflow import forked


@dataclass
class Checkout:
    """A copy of the project that a test may change, and a config file in it."""

    root: Path

    @property
    def config_path(self) -> Path:
        return self.root / "config" / "tiny.yaml"

    @property
    def results(self) -> Path:
        return self.root / "results"

    def configure(self, **changes) -> dict:
        config = {**TINY, **changes}
        self.config_path.write_text(yaml.safe_dump(config))
        return config

    def command(self, *flags: str) -> list[str]:
        return [
            sys.executable, "-m", "snakemake", "--cores", "2",
            "--configfile", str(self.config_path), *flags,
        ]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        # The copy's own source, not the installed one; a program that is not ours comes first.
        path = os.pathsep.join([str(self.decoy.parent), os.environ["PATH"]])
        source = os.pathsep.join([str(self.root / "src"), str(held.HERE)])
        return {**os.environ, "PATH": path, "PYTHONPATH": source, "HF_HUB_OFFLINE": "1"}

    @property
    def decoy(self) -> Path:
        """Another program called exparity."""
        return self.root / "decoy" / "exparity"

    def snakemake(self, *flags: str, check: int | None = 0) -> subprocess.CompletedProcess[str]:
        run = forked.run(self.command(*flags)[3:], self.root, self.environment, 600)
        if check is not None:
            assert run.returncode == check, run.stdout + run.stderr
        return run

    def start(self, *flags: str) -> forked.Run:
        return forked.start(self.command(*flags)[3:], self.root, self.environment)

    def plan(self, *flags: str) -> dict[str, int]:
        """Jobs by rule that a dry run announces."""
        return planned(self.snakemake("-n", *flags).stdout)


def planned(said: str) -> dict[str, int]:
    """Jobs by rule that a run announces before it starts them, on its standard error."""
    _, _, table = said.partition("\njob  ")
    counts = re.findall(r"^(\w+) +(\d+)$", table.partition("\n\n")[0], re.MULTILINE)
    return {rule: int(count) for rule, count in counts if rule not in ("total", "all")}


def copy_checkout(repository: Path, target: Path) -> Checkout:
    target.mkdir(parents=True)
    for name in ("Snakefile", "workflow", "config", "profiles", "src"):
        source = repository / name
        if source.is_dir():
            # Compiled modules are copied as well: no job has to compile its own.
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            shutil.copy(source, target / name)
    checkout = Checkout(target)
    checkout.configure()
    write_program(checkout.decoy, 'touch "$0.ran"\nexit 1')
    return checkout


@pytest.fixture
def checkout(repository, tmp_path) -> Checkout:
    """A fresh copy without results."""
    return copy_checkout(repository, tmp_path / "checkout")


@pytest.fixture(scope="session")
def baseline(repository, tmp_path_factory) -> Checkout:
    """An undisturbed, finished run."""
    made = made_once(
        "baseline",
        tmp_path_factory,
        lambda folder: copy_checkout(repository, folder / "checkout").snakemake(),
    )
    return Checkout(made / "checkout")


def copy_run(run: Checkout, target: Path, *without: str) -> Path:
    """Copy a finished run to a folder that is new, but for some folders of its results."""
    # Times are kept: Snakemake decides by them too.
    shutil.copytree(run.root, target, symlinks=True)
    for name in without:
        shutil.rmtree(target / "results" / name)
    return target


@pytest.fixture
def finished(baseline, tmp_path) -> Checkout:
    """A copy of the finished run that a test may change."""
    return Checkout(copy_run(baseline, tmp_path / "checkout"))


def add_slow(checkout: Checkout, repository: Path, **changes) -> None:
    """Configure a method and a metric of many small parts, as slow as the environment says."""
    source = repository / "tests" / "stages" / "slow_plugin.py"
    shutil.copy(source, checkout.root / "slow_plugin.py")
    settings = {
        "plugins": ["slow_plugin.py"],
        "datasets": {"pairs_all": {"n_pairs": 80}},
        "methods": {"slow": {}, "gradient": {}},
        "metrics": {"slow_drop": {}, "gini": {}},
        "controls": {"random": {"draws": 0}},
    }
    checkout.configure(**{**settings, **changes})
