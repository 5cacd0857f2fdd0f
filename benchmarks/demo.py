"""Measure an experiment in two checkouts, in alternating runs of both.

Usage: python benchmarks/demo.py --before CHECKOUT [--pairs N] [--seeds N] [--config FILE]
       [--config-before FILE] [--data FOLDER] [--together]

FILE is a config that both versions read, the default experiment's of each where none is given; the
other version may read one of its own.

A run takes all cores. Where a machine's speed changes within minutes, --together runs both of a
pair at the same time, on a core each, which they exchange after each pair. Seconds are the
processor's: of the jobs of each stage, and of all processes of the run together, with Snakemake,
its server and the report. The last row is the machine's rate of a 1024 × 1024 product just before a
run; other work on the machine moves it.

Tables of both are compared value by value, but for seconds, memory and sizes of files: for each
table that is not equal, columns that differ and by how much of their largest number.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from shared import ROOT, add_together, both_of_a_pair, markdown, ratios, workflow_of

_SIDE = 1024
_PRODUCTS = 20
_RESULTS = "results"
_OF_THE_RUN = ("seconds", "rss", "bytes")
"""Parts of names of columns that tell what a run took."""


class Run(NamedTuple):
    """A run of a checkout: its folder, and seconds by what they are of."""

    folder: Path
    seconds: dict[str, float]


def rate() -> float:
    """Return the GFLOP/s of a product on one thread."""
    torch.set_num_threads(1)
    square = torch.randn(_SIDE, _SIDE)
    start = time.thread_time()
    for _ in range(_PRODUCTS):
        square @ square
    return 2 * _SIDE**3 * _PRODUCTS / (time.thread_time() - start) / 1e9


def run_of(checkout: Path, config: Path | None, folder: Path, options: argparse.Namespace) -> Run:
    """Run the experiment of a checkout in an empty folder."""
    folder.mkdir()
    gflops = rate()
    settings = [f"results={_RESULTS}"]
    if options.seeds:
        settings.append(f"seeds={list(range(options.seeds))}")
    if options.data:
        settings.append(f"data_dir={options.data.resolve()}")
    config = config or checkout / "config" / "config.yaml"
    cores = ("--cores", "1") if options.together else ()
    start = time.monotonic()
    used = workflow_of(checkout, folder, config, "--config", *settings, *cores)
    wall = time.monotonic() - start
    seconds: dict[str, float] = defaultdict(float)
    for job in pq.read_table(folder / _RESULTS / "cost.parquet").to_pylist():
        seconds[job["stage"]] += job["cpu_seconds"] or 0
    seconds["all jobs"] = sum(seconds.values())
    seconds["the whole run"] = used
    seconds["elapsed"] = wall
    seconds["GFLOP/s"] = gflops
    return Run(folder, dict(seconds))


def compared(before: Run, after: Run) -> str:
    """Return how many tables of two runs have equal values, and what differs in the others."""
    missing = []
    different = []
    n_tables = 0
    for path in sorted((before.folder / _RESULTS).rglob("*.parquet")):
        name = path.relative_to(before.folder)
        other = after.folder / name
        if not other.exists():
            missing.append(f"{name}: missing")
            continue
        n_tables += 1
        if columns := differing_columns(pq.read_table(path), pq.read_table(other)):
            different.append(f"{name}: {', '.join(columns)}")
    n_equal = n_tables - len(different)
    summary = f"{n_equal} of {n_tables} tables that both runs have are equal"
    return "\n".join([summary, *missing, *different])


def differing_columns(before: pa.Table, after: pa.Table) -> list[str]:
    """Return what differs between two tables, by column."""
    if len(before) != len(after):
        return [f"{len(before)} and {len(after)} rows"]
    names = before.column_names
    if only_one := sorted(set(names).symmetric_difference(after.column_names)):
        return [f"columns of one run alone: {' '.join(only_one)}"]
    compared_names = [name for name in names if not any(part in name for part in _OF_THE_RUN)]
    shares = {name: difference(before[name], after[name]) for name in compared_names}
    return [f"{name} {share:.1e}" for name, share in shares.items() if share]


def difference(before: pa.ChunkedArray, after: pa.ChunkedArray) -> float:
    """Return the largest difference as a share of the largest number; infinite if no number."""
    # Written out, a number has all its digits, and undefined ones are equal.
    if repr(before.to_pylist()) == repr(after.to_pylist()):
        return 0.0
    try:
        numbers, others = (
            np.concatenate([np.atleast_1d(np.asarray(value, float)) for value in column])
            for column in (before.to_pandas(), after.to_pandas())
        )
        undefined = np.isnan(numbers)
        if not np.array_equal(undefined, np.isnan(others)):
            return np.inf
        gap = np.abs(numbers - others)[~undefined].max()
        return float(gap / np.abs(numbers[~undefined]).max())
    except (TypeError, ValueError):
        return np.inf


def main() -> None:
    """Print a row for each stage."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, required=True, help="checkout of another version")
    parser.add_argument("--pairs", type=int, default=2)
    parser.add_argument("--seeds", type=int, help="how many (default: those of the config)")
    parser.add_argument("--config", type=Path, help="a config that both versions read")
    parser.add_argument("--config-before", type=Path, help="one that only the other version reads")
    parser.add_argument("--data", type=Path, help="folder of raw files (data_dir)")
    add_together(parser)
    options = parser.parse_args()
    sides = (
        (options.before.resolve(), options.config_before or options.config),
        (ROOT, options.config),
    )
    pairs: list[tuple[Run, Run]] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.pairs):
            runs = [
                partial(run_of, checkout, config, Path(folder, f"{number}-{place}"), options)
                for place, (checkout, config) in enumerate(sides)
            ]
            pairs.append(both_of_a_pair(runs, number, together=options.together))
            print(compared(*pairs[-1]), file=sys.stderr, flush=True)
    print(markdown(ratios([(before.seconds, after.seconds) for before, after in pairs])))


if __name__ == "__main__":
    main()
