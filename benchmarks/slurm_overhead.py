"""Submissions and scheduler time of a large grid through profiles/slurm, with and without groups.

Starts the one-node SLURM of the tests, plans the evaluate and test jobs of a config, and submits
them for real; but what each submission runs is a sleep, so
that the figures are those of Snakemake, sbatch and slurmctld alone.

    python benchmarks/slurm_overhead.py [--configfile config/paper.yaml] [--seeds 5]

Needs slurmctld, slurmd and munge (Debian: slurm-wlm, munge).
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from slurm.cluster import Cluster, missing_programs  # noqa: E402

RULES = ("evaluate", "test")
# In place of sbatch: submits the same, but for the command, which becomes a sleep that leaves the
# files behind that Snakemake waits for.
SBATCH = """\
#!{python}
import os, re, sys
wrap = next(at for at, word in enumerate(sys.argv) if word.startswith("--wrap"))
text = " ".join(sys.argv[wrap:])
files = []
for rule, ids in re.findall(r"(evaluate_shard|evaluate|test):([\\w=,.-]+)", text):
    ids = dict(pair.split("=") for pair in ids.split(","))
    cell = "/".join(ids[k] for k in ("dataset", "model", "seed", "method", "metric"))
    if rule == "evaluate_shard":
        cell += f"/{{ids['shard']}}-of-{{ids['shards']}}"
    folder = {{"evaluate": "scores", "test": "tests"}}.get(rule, "shards/scores")
    files += [
        f"{results}/{{folder}}/{{cell}}.parquet", f"{results}/benchmarks/{{rule}}/{{cell}}.tsv"
    ]
command = "mkdir -p " + " ".join(sorted({{os.path.dirname(f) for f in files}}))
command += "; touch " + " ".join(files) + "; sleep {seconds}"
words = sys.argv[1:wrap] + ["--wrap", command] + sys.argv[wrap + 1 + (sys.argv[wrap] == "--wrap"):]
os.execv("{sbatch}", ["{sbatch}", *words])
"""


@dataclass
class Figures:
    """What one run took."""

    jobs: int
    submissions: int
    seconds: float
    controller: float
    login: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configfile", type=Path, default=ROOT / "config/paper.yaml")
    parser.add_argument("--seeds", type=int, help="take the first so many seeds (default: all)")
    parser.add_argument("--sleep", type=float, default=0.2, help="seconds of a submission's job")
    parser.add_argument("--only", choices=("grouped", "single"), help="one of the two runs")
    arguments = parser.parse_args()
    missing = missing_programs()
    if missing:
        sys.exit(f"needs {', '.join(missing)} (Debian: slurm-wlm, munge)")
    config = yaml.safe_load(arguments.configfile.read_text())
    if arguments.seeds:
        config["seeds"] = config["seeds"][: arguments.seeds]
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        cluster = Cluster(Path(folder) / "c", cpus=64)
        cluster.start()
        try:
            checkout, results = _checkout(Path(folder), config)
            found = {}
            for name in ("grouped", "single"):
                if arguments.only in (None, name):
                    found[name] = _run(checkout, results, cluster, name, arguments.sleep)
                    _print(name, found[name])
        finally:
            cluster.stop()
    if len(found) == 2:
        one, other = found["grouped"], found["single"]
        print(f"submissions {other.submissions / one.submissions:.1f}x fewer in groups")
        print(f"slurmctld {other.controller / one.controller:.1f}x less CPU time in groups")


def _checkout(folder: Path, config: dict[str, Any]) -> tuple[Path, str]:
    """A copy of the project in which the files of every job are there, and empty."""
    sys.path.insert(0, str(ROOT / "src"))
    from exparity.config.experiment import Experiment

    checkout = folder / "checkout"
    for name in ("workflow", "config", "profiles"):
        shutil.copytree(ROOT / name, checkout / name)
    shutil.copy(ROOT / "Snakefile", checkout)
    (checkout / "grid.yaml").write_text(yaml.safe_dump(config))
    grid = Experiment.from_mapping(config)
    cells = list(grid.cells())
    for pattern in (  # inputs first, so that no output is older
        "data/{dataset}.parquet",
        "models/{dataset}/{model}/{seed}/config.json",
        "predictions/{dataset}/{model}/{seed}.parquet",
        "explanations/{dataset}/{model}/{seed}/{method}.parquet",
        "scores/{dataset}/{model}/{seed}/{method}/{metric}.parquet",
        "tests/{dataset}/{model}/{seed}/{method}/{metric}.parquet",
    ):
        for path in {checkout / grid.results / pattern.format(**cell) for cell in cells}:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    return checkout, grid.results


def _run(checkout: Path, results: str, cluster: Cluster, name: str, seconds: float) -> Figures:
    programs = checkout.parent / f"bin-{name}"
    programs.mkdir()
    counted = checkout.parent / f"{name}.log"
    real = shutil.which("sbatch")
    assert real is not None
    stub = programs / "sbatch"
    stub.write_text(
        SBATCH.format(python=sys.executable, sbatch=real, seconds=seconds, results=results)
    )
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, **cluster.environment, "PYTHONPATH": str(ROOT / "src")}
    environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
    if name == "single":
        profile = checkout / "profiles/slurm/config.yaml"
        text = profile.read_text()
        profile.write_text(re.sub(r"(?ms)^groups:.*?(?=^# One slot)", "", text))
        rules = checkout / "workflow/rules/evaluate.smk"
        rules.write_text(rules.read_text().replace("    group: evaluate_group\n", ""))
    command = [
        sys.executable, "-m", "snakemake", "--profile", "profiles/slurm",
        "--configfile", "grid.yaml", "--forcerun", *RULES, "--until", "test",
        "--ignore-incomplete", "--latency-wait", "5",
    ]  # fmt: skip
    before = cluster.controller_seconds()
    own = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    with counted.open("wb") as log:
        run = subprocess.run(
            command, cwd=checkout, env=environment, stdout=log, stderr=log, check=False
        )
    wall = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    said = counted.read_text()
    if run.returncode:
        sys.exit(said[-3000:])
    return Figures(
        jobs=int(re.search(r"^total\s+(\d+)", said, re.M)[1]),  # type: ignore[index]
        submissions=len(set(re.findall(r"SLURM jobid[= ](\d+)", said))),
        seconds=wall,
        controller=cluster.controller_seconds() - before,
        login=used.ru_utime + used.ru_stime - own.ru_utime - own.ru_stime,
    )


def _print(name: str, figures: Figures) -> None:
    print(
        f"{name:8} {figures.jobs:6} jobs {figures.submissions:6} submissions "
        f"{figures.controller:7.1f} s CPU of slurmctld {figures.login:7.1f} s CPU of Snakemake and "
        f"sbatch {figures.seconds:7.0f} s wall",
        flush=True,
    )


if __name__ == "__main__":
    main()
