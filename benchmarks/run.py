"""Measure exparity on this machine: the engine against the bare model, and the start-up of jobs.

Usage: python benchmarks/run.py [CHECKPOINT ...]

Without an argument the demo's checkpoints are measured (run `make demo` first). Ratios of one run
count; absolute times are those of this machine at this moment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from exparity.tools.bench import bench

RESULTS = Path(__file__).resolve().parents[1] / "results"
REPEATS = 5


def start_up(label: str, *arguments: str) -> None:
    """Print the shortest wall time of a command, which other programs disturb least."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        command = [sys.executable, "-m", "exparity", *arguments]
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    print(f"{label:<40}{min(times):>8.2f} s  (best of {REPEATS})")


def main() -> None:
    given = [Path(p) for p in sys.argv[1:]]
    found = given or sorted(RESULTS.glob("models/*/*/0"))
    if not found:
        sys.exit("no checkpoint: run `make demo` first, or name a folder")
    for checkpoint in found:
        print(f"\n{checkpoint}")
        bench(checkpoint)
    scores = next(RESULTS.glob("scores/**/gini.parquet"), None)
    if scores is not None:
        print("\nWhole jobs")
        start_up("exparity --help", "--help")
        with tempfile.TemporaryDirectory() as folder:
            output = str(Path(folder) / "t.parquet")
            start_up("exparity test", "test", "--scores", str(scores), "--output", output)


if __name__ == "__main__":
    main()
