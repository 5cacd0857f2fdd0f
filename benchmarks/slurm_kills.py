"""What kills cost a run of several hundred jobs on the tests' own SLURM.

Runs a grid of small jobs once undisturbed on this machine, and once through profiles/slurm with
disturbances at random moments: the run killed or terminated, a submission cancelled, killed or
requeued, the node's or the controller's daemon killed and started again. Prints what each of them
was, how long the next run took until it had submitted a job, how many results were made twice, and
whether the tables are those of the undisturbed run.

    python benchmarks/slurm_kills.py --kills 12

Needs slurmctld, slurmd and munge (Debian: slurm-wlm, munge).
"""

from __future__ import annotations

import argparse
import io
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.parquet as pq
import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from slurm.cluster import Cluster, missing_programs  # noqa: E402

RUN = ("killed", "terminated")
SUBMISSION = ("cancelled", "killed at once", "requeued")
DAEMON = ("slurmd", "slurmctld")
MADE = "exparity.started"


class Run:
    """A run of the grid in a folder, with the cluster that its jobs go to."""

    def __init__(self, folder: Path, cluster: Cluster, seeds: int) -> None:
        self.folder, self.cluster = folder, cluster
        for name in ("workflow", "config", "profiles", "src"):
            shutil.copytree(ROOT / name, folder / name)
        shutil.copy(ROOT / "Snakefile", folder)
        (folder / "grid.yaml").write_text(yaml.safe_dump(grid(seeds)))
        self.log = folder / "run.log"
        self.made: dict[Path, str] = {}
        self.twice: list[Path] = []

    def start(self, *profile: str) -> subprocess.Popen[bytes]:
        """Start Snakemake; what it says goes to ``run.log``."""
        path = str(self.folder / "src")
        environment = {**os.environ, **self.cluster.environment, "PYTHONPATH": path}
        command = [sys.executable, "-m", "snakemake", *profile, "--configfile", "grid.yaml"]
        with self.log.open("wb") as log:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log
            )

    def watch(self, process: subprocess.Popen[bytes], seconds: float = math.inf) -> None:
        """Note results every second for a while, or until a process ends."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and process.poll() is None:
            self.note()
            time.sleep(1)

    def note(self) -> int:
        """Remember when each result was made, and those that are made once more."""
        for path in (self.folder / "results").rglob("*.parquet"):
            try:
                made = pq.read_metadata(path).metadata.get(MADE.encode(), b"").decode()
            except (OSError, ValueError):  # gone, or not all there
                continue
            if self.made.get(path, made) != made:
                self.twice.append(path)
            self.made[path] = made
        return len(self.made)

    def tables(self) -> dict[str, bytes]:
        """Return all results without times: costs and history, and the files' metadata."""
        tables = {}
        for path in sorted((self.folder / "results").rglob("*.parquet")):
            if path.name not in ("cost.parquet", "history.parquet"):
                content = io.BytesIO()
                pq.write_table(pq.read_table(path).replace_schema_metadata(None), content)
                tables[str(path.relative_to(self.folder))] = content.getvalue()
        return tables


def grid(seeds: int) -> dict[str, object]:
    """Return a config of some two hundred jobs a seed, of less than a second each."""
    small = ROOT / ".test" / "config" / "config.yaml"
    return {
        **yaml.safe_load(small.read_text()),
        "seeds": [*range(seeds)],
        "methods": {f"gradient_{i}": {"use": "gradient"} for i in range(10)},
        "metrics": {f"gini_{i}": {"use": "gini"} for i in range(9)},
        "controls": {"random": {"draws": 0}},
    }


def disturb(what: str, run: Run, process: subprocess.Popen[bytes], chance: random.Random) -> str:
    """Do it, and return what it met."""
    cluster = run.cluster
    if what in RUN:
        process.send_signal(signal.SIGKILL if what == "killed" else signal.SIGTERM)
        begun = time.monotonic()
        process.wait(timeout=120)
        return f"ended after {time.monotonic() - begun:.0f} s"
    if what in DAEMON:
        cluster.crash(what, 5)
        return "again after 5 s"
    running = [job for job in cluster.jobs() if job.state == "RUNNING"]
    if not running:
        return "no submission ran"
    job = chance.choice(running)
    if what == "requeued":
        cluster.command("scontrol", "requeue", job.id)
        cluster.command("scontrol", "update", f"JobId={job.id}", "StartTime=now")
    else:
        signal_ = ["--full", "--signal=KILL"] if what == "killed at once" else []
        cluster.command("scancel", *signal_, job.id)
    return str(job.comment)


def wait_for_submission(run: Run, process: subprocess.Popen[bytes]) -> float:
    begun = time.monotonic()
    while b"has been submitted" not in run.log.read_bytes() and process.poll() is None:
        time.sleep(0.5)
    return time.monotonic() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=40, help="between two, on average")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--seeds", type=int, default=2, help="trainings: two hundred jobs each")
    arguments = parser.parse_args()
    missing = missing_programs()
    if missing:
        sys.exit(f"needs {', '.join(missing)} (Debian: slurm-wlm, munge)")
    chance = random.Random(arguments.seed)
    kinds = [*RUN, *SUBMISSION, *DAEMON]
    with tempfile.TemporaryDirectory(prefix="kills") as name:
        folder = Path(name)
        cluster = Cluster(folder / "c", cpus=4)
        cluster.start()
        try:
            local = Run(folder / "local", cluster, arguments.seeds)
            assert local.start().wait() == 0, local.log.read_text()
            run = Run(folder / "run", cluster, arguments.seeds)
            process = run.start("--profile", "profiles/slurm")
            wait_for_submission(run, process)
            print("| Disturbance | Finished | Made twice so far | What it met | Next submission |")
            print("|---|---:|---:|---|---:|", flush=True)
            for number in range(arguments.kills):
                run.watch(process, chance.uniform(0.3, 1.7) * arguments.seconds)
                if process.poll() is not None:
                    break
                what = kinds[number % len(kinds)]
                finished = run.note()
                met = disturb(what, run, process, chance)
                waited = ""
                if what in RUN:
                    process = run.start("--profile", "profiles/slurm")
                    waited = f"{wait_for_submission(run, process):.0f} s"
                run.note()
                print(f"| {what} | {finished} | {len(run.twice)} | {met} | {waited} |", flush=True)
            run.watch(process)
            run.note()
            expected, tables = local.tables(), run.tables()
            other = sorted(
                path for path in expected | tables if expected.get(path) != tables.get(path)
            )
            print(f"\nended with {process.returncode}; {len(run.made)} results")
            print(f"made twice: {[str(path.relative_to(run.folder)) for path in run.twice]}")
            print(f"other than in the undisturbed run: {other}")
            if process.returncode or other:
                sys.exit(run.log.read_text()[-20000:])
        finally:
            cluster.stop()


if __name__ == "__main__":
    main()
