"""What jobs cost besides their work: a whole run and single jobs, beside an earlier version.

Usage: python benchmarks/startup.py [--base CHECKOUT] [--configfile FILE] [--cores N]
       [--repeats R] [--jobs-only RESULTS] [--output results/bench/startup.parquet]

CHECKOUT is another checkout of exparity with a ``.venv`` of its own, such as an earlier commit.
The whole run is made in a new folder, by both in turns, as often as asked for. Then five jobs of
the last run are made again one by one: by CHECKOUT, here in a process of their own (cold), and here
by a warm worker. Ratios count; absolute times are those of this machine at this moment.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from exparity.artefacts.files import read_artefact
from exparity.warm.start import SWITCH, THREAD_VARIABLES, start_server

HERE = Path(__file__).resolve().parents[1]
TURNS = 5
MODEL_STAGES = ("explain", "evaluate")
ARTEFACTS = {"explain": "explanations", "evaluate": "scores", "test": "tests"}


def main() -> None:
    arguments = parse_arguments()
    checkouts = {"here": HERE}
    if arguments.base:
        checkouts = {"base": arguments.base.resolve(), **checkouts}
    measured: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        results = arguments.jobs_only and arguments.jobs_only.resolve()
        if not results:
            for repeat in range(arguments.repeats):
                for name, checkout in checkouts.items():
                    results = Path(folder, f"{name}-{repeat}", "results")
                    measured += whole_run(name, checkout, results, arguments)
        measured += single_jobs(checkouts, results, Path(folder))
    table = pd.DataFrame(measured)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    table.to_parquet(arguments.output)
    print(markdown(table))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base", type=Path, help="another checkout, with a .venv")
    parser.add_argument("--configfile", type=Path, default=HERE / "config" / "config.yaml")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--jobs-only", type=Path, help="finished results; no run is made")
    parser.add_argument("--output", type=Path, default=Path("results/bench/startup.parquet"))
    arguments = parser.parse_args()
    if arguments.base and not (arguments.base / ".venv").is_dir():
        parser.error(f"{arguments.base}: has no .venv; run `make .venv/.installed` there")
    return arguments


def whole_run(
    name: str, checkout: Path, results: Path, arguments: argparse.Namespace
) -> list[dict[str, Any]]:
    """Run the config in a new folder and return its wall seconds and those of its jobs."""
    results.parent.mkdir()
    command = [
        *(str(python_of(checkout)), "-m", "snakemake", "--quiet", "all"),
        *("--snakefile", str(checkout / "Snakefile"), "--directory", str(results.parent)),
        *("--profile", str(checkout / "profiles" / "default"), "--cores", str(arguments.cores)),
        *("--configfile", str(arguments.configfile.resolve())),
    ]
    print(f"{name}: the whole run", file=sys.stderr)
    start = time.monotonic()
    subprocess.run(command, cwd=results.parent, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    jobs = pd.read_parquet(results / "cost.parquet")
    of_model = jobs[jobs["stage"].isin(MODEL_STAGES)]
    figures = {
        "wall seconds": wall,
        "seconds of all jobs": jobs["seconds"].sum(),
        "seconds of explain and evaluate jobs": of_model["seconds"].sum(),
        "of these, work": of_model["work_seconds"].sum() / of_model["seconds"].sum(),
    }
    return [{"figure": k, "variant": name, "value": float(v)} for k, v in figures.items()]


def single_jobs(checkouts: dict[str, Path], results: Path, folder: Path) -> list[dict[str, Any]]:
    """Return the CPU seconds that single jobs take besides their work, of every variant in turn."""
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    server = start_server()
    if server is None:
        sys.exit("warm workers are switched off, or cannot be had here")
    variants = {name: (checkout, "0") for name, checkout in checkouts.items()}
    variants["cold"] = variants.pop("here")
    variants["warm"] = HERE, os.environ[SWITCH]
    seconds: dict[tuple[str, str], list[float]] = {}
    for turn in range(TURNS + 1):
        for job, words in commands(results).items():
            for variant, (checkout, address) in variants.items():
                output = folder / f"{variant}-{turn}-{job.replace(' ', '_')}.parquet"
                spent = start_of(checkout, [*words, "--output", str(output)], address, output)
                if turn:  # the first fills the machine's caches, and the server learns from it
                    seconds.setdefault((f"start of {job}, CPU seconds", variant), []).append(spent)
    return [
        {"figure": figure, "variant": variant, "value": median(values)}
        for (figure, variant), values in seconds.items()
    ]


def commands(results: Path) -> dict[str, list[str]]:
    """Return five jobs of a finished run as they are called, but for where they write."""
    explanations = min((results / "explanations").rglob("gradient.parquet"))
    dataset, model, seed = explanations.relative_to(results / "explanations").parts[:3]
    cell = f"{dataset}/{model}/{seed}"
    data = ["--data", str(results / "data" / f"{dataset}.parquet")]
    checkpoint = ["--checkpoint", str(results / "models" / cell)]
    evaluate = ["evaluate", *data, "--explanations", str(explanations)]
    explain = [
        *("explain", *data, *checkpoint, "--model-id", model, "--seed", seed),
        *("--predictions", str(results / "predictions" / f"{cell}.parquet")),
    ]
    scores = results / "scores" / cell / "gradient" / "gini.parquet"
    return {
        "explain gradient": [*explain, "--use", "gradient"],
        "explain shap": [*explain, "--use", "shap", "--max-examples", "4"],
        "evaluate comprehensiveness": [*evaluate, *checkpoint, "--use", "comprehensiveness"],
        "evaluate gini": [*evaluate, "--use", "gini"],
        "test": ["test", "--scores", str(scores)],
    }


def start_of(checkout: Path, words: list[str], address: str, output: Path) -> float:
    """Run a job and return the CPU seconds of it, and of its worker, but for its work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [str(python_of(checkout).with_name("exparity")), *words],
        env={**os.environ, SWITCH: address},
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    facts = read_artefact(output, ARTEFACTS[words[0]])[1]
    if address != "0":
        spent += facts["cpu_seconds"]  # the worker is no child of ours
    return float(spent - facts.get("work_seconds", 0))


def python_of(checkout: Path) -> Path:
    """Return the Python of a checkout; the one that runs this, of this checkout."""
    return Path(sys.executable) if checkout == HERE else checkout / ".venv" / "bin" / "python"


def markdown(table: pd.DataFrame) -> str:
    """Return the figures, a column a variant, and what is gained on the base."""
    wide = table.pivot_table("value", "figure", "variant", aggfunc="median", sort=False)
    head = ["", *wide.columns, *(f"{v} / base" for v in wide if v != "base" and "base" in wide)]
    lines = [f"| {' | '.join(head)} |", f"|---|{'---:|' * (len(head) - 1)}"]
    for figure, values in wide.iterrows():
        ratios = [values[v] / values["base"] for v in wide if v != "base" and "base" in wide]
        cells = [f"{v:.2f}" if v == v else "" for v in [*values, *ratios]]
        lines.append(f"| {' | '.join([str(figure), *cells])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
