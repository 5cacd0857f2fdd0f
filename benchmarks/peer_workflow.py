"""Time the workflow itself on what ``peer.py`` gives the libraries: a real run of its DAG."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
# As peer_worker.py sets them for the library.
METHODS: Mapping[str, Mapping[str, Any]] = {
    "gradient": {},
    "gradient_x_input": {},
    "integrated_gradients": {"n_steps": 50},
    "integrated_gradients_x_input": {"n_steps": 50},
    "lime": {"max_samples": 5000},
    "shap": {"max_evals": 500},
}
METRICS = ("comprehensiveness", "sufficiency")
GROUPS = ("first", "second")
"""The workflow compares groups; here sentences are dealt to two in turn."""


def run_workflow(
    checkpoint: str, sentences: Path, precision: str, threads: int, methods: Sequence[str] | None
) -> dict[str, Any]:
    """Explain and evaluate sentences by ``snakemake`` on as many cores as a library has threads.

    Args:
        checkpoint: folder of the classifier, which is not trained further.
        sentences: JSON lines with ``text`` and ``target``.
        precision: ``fp32`` or ``bf16``, with ``=`` behind it for LIME's budget of equal error.
        threads: cores of the run; its jobs have one thread each.
        methods: only these; all if None.

    Returns:
        As a worker of ``peer_worker.py``: seconds that the jobs took, and as ``total`` the wall
        time of the whole run, Snakemake's own and the start of every job included.
    """
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        config = configuration(checkpoint, write_table(root, sentences), precision, methods)
        (root / "config.json").write_text(json.dumps(config), encoding="utf-8")
        run(root, threads, "--until", "finetune")  # predictions; loading is not timed either
        start = time.perf_counter()
        run(root, threads, "--until", "evaluate")
        total = time.perf_counter() - start
        seconds = seconds_of_jobs(root / "results" / "benchmarks")
    return {
        "library": "workflow",
        "precision": precision,
        "device": "cpu",
        "threads": threads,
        "examples": len(sentences.read_text(encoding="utf-8").splitlines()),
        "versions": {name: version(name) for name in ("exparity", "snakemake", "torch")},
        "seconds": seconds,
        "total": total,
    }


def write_table(root: Path, sentences: Path) -> Path:
    """Write the sentences as a table of one's own, all in the test split."""
    lines = sentences.read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    tested = [
        {
            "text": row["text"],
            "label": str(row["target"]),
            "group": GROUPS[number % 2],
            "split": "test",
        }
        for number, row in enumerate(rows)
    ]
    path = root / "sentences.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in tested), encoding="utf-8")
    return path


def configuration(
    checkpoint: str, table: Path, precision: str, methods: Sequence[str] | None
) -> dict[str, Any]:
    """Return the config of the run."""
    chosen = {id: METHODS[id] for id in methods or METHODS}
    if precision.endswith("=") and "lime" in chosen:
        chosen["lime"] = {"budget": "equal_error"}
    return {
        "title": "Beside ferret",
        "seeds": [0],
        "datasets": {"sentences": {"use": "table", "path": str(table), "split": "split"}},
        "models": {"peer": {"checkpoint": str(Path(checkpoint).resolve())}},
        "precision": precision.rstrip("="),
        "training": {"epochs": 0},
        "methods": chosen,
        "metrics": {id: {} for id in METRICS},
        "engine": {"shortcuts": True},
    }


def run(root: Path, cores: int, *flags: str) -> None:
    """Run the workflow in a folder with jobs of one thread."""
    command = [
        *(sys.executable, "-m", "snakemake", "--quiet", "all", "--directory", str(root)),
        *("--snakefile", str(HERE / "Snakefile"), "--cores", str(cores)),
        *("--profile", str(HERE / "profiles" / "default")),
        *("--configfile", str(root / "config.json"), *flags),
    ]
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the workflow failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def seconds_of_jobs(benchmarks: Path) -> dict[str, Any]:
    """Return the wall seconds of each job by method, and by metric and method."""

    def seconds(path: Path) -> float:
        return float(path.read_text(encoding="utf-8").splitlines()[1].split("\t")[0])

    explained = {path.stem: seconds(path) for path in (benchmarks / "explain").rglob("*.tsv")}
    evaluated: dict[str, dict[str, float]] = {metric: {} for metric in METRICS}
    for path in (benchmarks / "evaluate").rglob("*.tsv"):
        evaluated[path.stem][path.parent.name] = seconds(path)
    return {
        "explain": {method: explained[method] for method in METHODS if method in explained},
        "evaluate": evaluated,
    }
