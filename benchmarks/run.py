"""Measure exparity on this machine: the engine against the bare model, and the start-up of jobs.

Usage: python benchmarks/run.py [CHECKPOINT ...] [--parts engine scaling sensitivity] …

Without an argument the demo's checkpoints are measured (run `make demo` first). Ratios of one run
count; absolute times are those of this machine at this moment.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from engine_tables import PARTS, bench

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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoints", nargs="*", type=Path, metavar="CHECKPOINT")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=["engine"])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="of one operation; torch's choice if left out")
    parser.add_argument("--token-budget", type=int, help="padded tokens a batch")
    parser.add_argument(
        "--precisions", nargs="+", choices=("fp32", "bf16", "fp16"), default=["fp32"]
    )
    parser.add_argument("--length", type=int, default=32, help="tokens of each text")
    parser.add_argument("--examples", type=int, default=512, help="number of texts")
    parser.add_argument("--output", type=Path, help="folder for a Parquet file a part")
    options = vars(parser.parse_args())
    checkpoints = options.pop("checkpoints") or sorted(RESULTS.glob("models/*/*/0"))
    if not checkpoints:
        sys.exit("no checkpoint: run `make demo` first, or name a folder")
    for checkpoint in checkpoints:
        print(f"\n{checkpoint}")
        bench(checkpoint, **options)
    scores = next(RESULTS.glob("scores/**/gini.parquet"), None)
    if scores is not None:
        print("\nWhole jobs")
        start_up("exparity --help", "--help")
        with tempfile.TemporaryDirectory() as folder:
            output = str(Path(folder) / "t.parquet")
            start_up("exparity test", "test", "--scores", str(scores), "--output", output)


if __name__ == "__main__":
    main()
