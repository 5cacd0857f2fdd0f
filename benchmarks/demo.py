"""Measure the default experiment in two checkouts, in alternating runs of both.

Usage: python benchmarks/demo.py --before CHECKOUT [--pairs N] [--seeds N]

A run takes all cores. Seconds are the processor's: of the jobs of each stage, and of all processes
of the run together, with Snakemake, its server and the report. The last row is the machine's rate
of a 1024 × 1024 product just before a run; other work on the machine moves it. Tables of both are
compared value by value, but for seconds.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import mean, median
from typing import NamedTuple

import pyarrow.parquet as pq
import torch
from shared import ROOT, markdown

_SIDE = 1024
_PRODUCTS = 20
_TIMED = ("cost.parquet", "history.parquet")
"""Tables that hold seconds."""


class Run(NamedTuple):
    """A run of a checkout: its folder, and seconds by what they are of."""

    folder: Path
    seconds: dict[str, float]


def rate() -> float:
    """Return the GFLOP/s of a product on one thread."""
    torch.set_num_threads(1)
    square = torch.randn(_SIDE, _SIDE)
    start = time.process_time()
    for _ in range(_PRODUCTS):
        square @ square
    return 2 * _SIDE**3 * _PRODUCTS / (time.process_time() - start) / 1e9


def run_of(checkout: Path, folder: Path, n_seeds: int) -> Run:
    """Run the experiment of a checkout in an empty folder."""
    folder.mkdir()
    gflops = rate()
    command = [
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--directory", str(folder)),
        *("--snakefile", str(checkout / "Snakefile")),
        *("--profile", str(checkout / "profiles" / "default")),
        *("--configfile", str(checkout / "config" / "config.yaml")),
        *("--config", f"seeds={list(range(n_seeds))}"),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PYTHONPATH"] = str(checkout / "src")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds: dict[str, float] = defaultdict(float)
    for job in pq.read_table(folder / "results" / "cost.parquet").to_pylist():
        seconds[job["stage"]] += job["cpu_seconds"] or 0
    seconds["all jobs"] = sum(seconds.values())
    seconds["the whole run"] = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    seconds["elapsed"] = wall
    seconds["GFLOP/s"] = gflops
    return Run(folder, dict(seconds))


def compared(before: Run, after: Run) -> str:
    """Return how many tables of two runs have equal values."""
    others = []
    tables = [
        path.relative_to(before.folder)
        for path in sorted((before.folder / "results").rglob("*.parquet"))
        if path.name not in _TIMED
    ]
    for table in tables:
        values = [
            pq.read_table(run.folder / table).to_pandas().to_json() for run in (before, after)
        ]
        if values[0] != values[1]:
            others.append(str(table))
    return f"{len(tables) - len(others)} of {len(tables)} tables are equal {' '.join(others)}"


def main() -> None:
    """Print a row for each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="checkout of another version")
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=8)
    options = parser.parse_args()
    pairs: list[tuple[Run, Run]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.pairs):
            runs = {}
            order = [options.before.resolve(), ROOT]
            for checkout in order if number % 2 == 0 else order[::-1]:
                place = Path(folder, f"{number}-{order.index(checkout)}")
                runs[checkout] = run_of(checkout, place, options.seeds)
            pairs.append((runs[order[0]], runs[order[1]]))
            print(compared(*pairs[-1]), file=sys.stderr, flush=True)
    rows = []
    for name in pairs[-1][1].seconds:
        before = [pair[0].seconds.get(name, 0.0) for pair in pairs]
        after = [pair[1].seconds[name] for pair in pairs]
        ratios = [b / a for a, b in zip(before, after, strict=True) if a]
        ratio = median(ratios) if ratios else None
        rows.append({"": name, "before": mean(before), "after": mean(after), "ratio": ratio})
    print(markdown(rows))


if __name__ == "__main__":
    main()
