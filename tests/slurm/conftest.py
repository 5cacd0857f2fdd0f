"""Runs of the workflow through ``profiles/slurm``, on a cluster that the tests start themselves."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import pytest
from held import Held
from slurm.cluster import Cluster, missing_programs
from support import need, wait_until
from workflow.conftest import Checkout, add_slow, copy_checkout, copy_run
from workflow.conftest import baseline as baseline

from workflow import forked

SCORES = ("--until", "evaluate")
"""What is compared; tests/slurm/test_run.py goes on to the report."""


@dataclass
class ClusterCheckout(Checkout):
    """A copy of the project whose jobs go to the cluster."""

    cluster: Cluster
    config: Path
    slow_seconds: float = 0
    slow_memory: int = 0
    held_at: str = ""
    held_after: int = 0

    def __post_init__(self) -> None:
        self.held = Held(self.held_at, self.root / "held", self.held_after)
        if self.held_at:
            self.held.folder.mkdir()

    @property
    def config_path(self) -> Path:
        return self.root / self.config

    @property
    def calls(self) -> Path:
        """A file with a line for every batch that the slow plug-in has worked on."""
        return self.root / "calls"

    def command(self, *flags: str) -> list[str]:
        return [
            sys.executable, "-m", "snakemake", "--profile", "profiles/slurm",
            "--configfile", str(self.config),
            # A site waits longer, which is easier on its scheduler.
            "--slurm-init-seconds-before-status-checks", "1", *flags,
        ]  # fmt: skip

    @property
    def environment(self) -> dict[str, str]:
        return {
            **super().environment,
            **self.cluster.environment,
            "OMP_NUM_THREADS": "1",
            "SLOW_SECONDS": str(self.slow_seconds),
            "SLOW_MEMORY": str(self.slow_memory),
            "SLOW_CALLS": str(self.calls),
            **(self.held.environment if self.held_at else {}),
        }

    def start(self, *flags: str) -> forked.Run:
        """Start a run; what it says goes to ``run.log``."""
        log = self.root / "run.log"
        log.touch()
        return forked.start(self.command(*flags)[3:], self.root, self.environment, log, log)

    @property
    def said(self) -> str:
        return (self.root / "run.log").read_text()

    @property
    def submissions_said(self) -> str:
        """What SLURM and Snakemake wrote in submissions that failed.

        Snakemake repeats it, but not where the log of a job alone is empty.
        """
        logs = (self.root / ".snakemake" / "slurm_logs").rglob("*.log")
        return "".join(log.read_text() for log in logs)

    def evaluated(self) -> list[str]:
        """Return the examples that the slow plug-in has worked on, as often as it did."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        return [key for line in lines for key in line.split()[1:]]

    def wait_until(self, holds: Callable[[], bool], what: str, seconds: float = 900) -> None:
        # Each look at the queue starts a program; a hundred a second would take a core.
        wait_until(holds, seconds, what, pause=0.5)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory) -> Iterator[Cluster]:
    """SLURM with one node and two GPUs, until the session ends."""
    missing = missing_programs()
    need(not missing, f"SLURM ({', '.join(missing)}; Debian: slurm-wlm, munge)")
    made = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


def explanations(checkout: Checkout) -> dict[str, str]:
    """Return the digest of each file; it differs for each job that has made one, by its time."""
    paths = (checkout.results / "explanations").rglob("*.parquet")
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in paths}


def spoil_notes(root: Path) -> None:
    """Have Snakemake note of an earlier run that it explained with other parameters."""
    for path in (root / ".snakemake" / "metadata").iterdir():
        note = json.loads(path.read_text())
        if note["rule"] == "explain":
            path.write_text(json.dumps({**note, "params": ["others"]}))


@pytest.fixture(scope="module")
def small(baseline, cluster, tmp_path_factory, pytestconfig) -> ClusterCheckout:
    """The small experiment on the cluster, finished by a second run; its data only if exhaustive.

    The first is killed as a job of its training waits before it puts its result beside another one.
    That submission ends before the second run begins, and nobody but the files says so.
    """
    root = copy_run(baseline, tmp_path_factory.mktemp("cluster") / "checkout")
    for path in (root / "results").iterdir():
        if path.name == "data" and not pytestconfig.getoption("--exhaustive"):
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    spoil_notes(root)
    made = ClusterCheckout(
        root, cluster, Path("config/tiny.yaml"), held_at=".parquet", held_after=1
    )
    run = made.start()
    made.held.wait(run)
    (training,) = cluster.running("training", root)
    kill(run)
    made.held.release()
    made.wait_until(lambda: training.id not in {job.id for job in cluster.jobs()}, "it ends")
    made.finished = explanations(made)
    assert made.start().wait(timeout=600) == 0, made.said
    return made


@pytest.fixture(scope="session")
def undisturbed(repository, tmp_path_factory) -> Checkout:
    """A finished local run of sensitivity, in eight parts; each repeats a slow explanation once."""
    made = copy_checkout(repository, tmp_path_factory.mktemp("undisturbed") / "checkout")
    sensitivity = {"steps": 1, "radius": 5.0}  # so large that scores are more than rounding
    add_slow(made, repository, methods={"slow": {}}, metrics={"sensitivity": sensitivity})
    made.snakemake(*SCORES)
    return made


@pytest.fixture(scope="session")
def unevaluated(undisturbed, cluster, tmp_path_factory) -> Callable[..., ClusterCheckout]:
    """Return a function that copies that run without its scores."""

    def copy(name: str, **settings) -> ClusterCheckout:
        root = copy_run(undisturbed, tmp_path_factory.mktemp(name) / "checkout", "scores")
        return ClusterCheckout(root, cluster, Path("config/tiny.yaml"), **settings)

    return copy


def kill(run: forked.Run) -> None:
    """End Snakemake at once; its jobs in the queue live on."""
    if run.poll() is None:
        os.kill(run.pid, 9)
    run.wait(timeout=60)
