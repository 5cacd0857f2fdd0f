"""Wall time of an experiment on this machine and on the tests' SLURM on it, beside each other.

Runs the config from nothing with ``snakemake``, then with ``--profile profiles/slurm``, and then
with ``short_jobs`` in that profile, one after the other, and prints a Markdown table. The node is
this machine with all its cores and two GPUs that no job opens. Other work on it spoils the ratios.

    python benchmarks/slurm_wall.py --config 'seeds=[0]'

Flags are Snakemake's. Needs slurmctld, slurmd and munge (Debian: slurm-wlm, munge).
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from slurm.cluster import Cluster, missing_programs  # noqa: E402

WHERE = {"this machine": (), "SLURM": ("slurm",), "SLURM, `short_jobs`": ("slurm", "short")}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog="Other flags go to Snakemake."
    )
    _, flags = parser.parse_known_args()
    missing = missing_programs()
    if missing:
        sys.exit(f"needs {', '.join(missing)} (Debian: slurm-wlm, munge)")
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        cluster = Cluster(Path(folder) / "c")
        cluster.start()
        try:
            print("| Where | Submissions | Wall time | Ratio |\n|---|---:|---:|---:|")
            local = 0.0
            for number, (where, kind) in enumerate(WHERE.items()):
                before = len(cluster.jobs(ended=True))
                checkout = _copy(Path(folder) / str(number), "short" in kind)
                seconds = _run(checkout, cluster, "slurm" in kind, flags)
                local = local or seconds
                submissions = len(cluster.jobs(ended=True)) - before
                minutes = f"{seconds // 60:.0f}:{seconds % 60:02.0f}"
                ratio = f"{seconds / local:.2f}"
                print(f"| {where} | {submissions} | {minutes} | {ratio} |", flush=True)
        finally:
            cluster.stop()


def _copy(checkout: Path, short: bool) -> Path:
    for name in ("workflow", "config", "profiles", "src"):
        shutil.copytree(ROOT / name, checkout / name)
    shutil.copy(ROOT / "Snakefile", checkout)
    profile = checkout / "profiles/slurm/config.yaml"
    if short:
        profile.write_text(profile.read_text().replace("short_jobs: false", "short_jobs: true"))
    return checkout


def _run(checkout: Path, cluster: Cluster, slurm: bool, flags: Sequence[str]) -> float:
    """Return the seconds of a run from nothing."""
    profile = ("--profile", "profiles/slurm") if slurm else ()
    # Snakemake asks for SLURM's controller when it is imported, and waits where there is none.
    environment = {**os.environ, **cluster.environment, "PYTHONPATH": str(checkout / "src")}
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "snakemake", *profile, *flags],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode:
        sys.exit(run.stderr)
    return time.monotonic() - start


if __name__ == "__main__":
    main()
