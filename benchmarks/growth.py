#!/usr/bin/env python
"""How seconds and memory of a run grow with texts, their length, seeds and models.

Every point is a real run of the workflow with one core, on made-up texts, of a small classifier
that it trains. Seconds are the processor's, of all jobs; Snakemake's own are not among them.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from engine_tables import markdown

from exparity.artefacts.files import read_tables

HERE = Path(__file__).resolve().parents[1]
BASE = {"texts": 64, "words": 16, "seeds": 1, "models": 1}
POINTS = {
    "texts": (64, 128, 256),
    "words": (16, 32, 64),
    "seeds": (1, 2, 4),
    "models": (1, 2, 4),
}
STAGES = ("finetune", "explain", "evaluate", "compare")
WORDS = tuple("abcdefghijklmnop")


class Cost(NamedTuple):
    """What one run took.

    Attributes:
        jobs: how many it ran.
        seconds: the processor's, by stage, and of all jobs as ``all``.
        max_rss_mb: most memory of a job.
    """

    jobs: int
    seconds: dict[str, float]
    max_rss_mb: float


def cost_of(size: dict[str, int]) -> Cost:
    """Run the workflow once for a size, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_texts(root / "texts.jsonl", size["texts"], size["words"])
        (root / "config.json").write_text(json.dumps(configuration(size)), encoding="utf-8")
        run(root, 1)
        jobs = read_tables([root / "results" / "cost.parquet"], "cost").to_pylist()
    seconds = {
        stage: sum((job["cpu_seconds"] or 0) for job in jobs if job["stage"] == stage)
        for stage in STAGES
    }
    seconds["all"] = sum((job["cpu_seconds"] or 0) for job in jobs)
    return Cost(len(jobs), seconds, max(job["max_rss_mb"] or 0 for job in jobs))


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


def write_texts(path: Path, texts: int, words: int) -> None:
    """Write as many texts to test, and twice as many to train on; the first word is the label."""
    draw = random.Random(0)
    with path.open("w", encoding="utf-8") as file:
        for number in range(3 * texts):
            label = number % 2
            text = [("good", "bad")[label], *draw.choices(WORDS, k=words - 1)]
            row = {
                "text": " ".join(text),
                "label": str(label),
                "group": ("first", "second")[number // 2 % 2],
                "split": "test" if number < texts else "train",
            }
            file.write(json.dumps(row) + "\n")


def configuration(size: dict[str, int]) -> dict[str, Any]:
    """Return the config of a run."""
    model = {
        "init": "scratch",
        "architecture": "bert",
        "size": {
            "hidden_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "intermediate_size": 128,
        },
    }
    return {
        "seeds": list(range(size["seeds"])),
        "datasets": {"texts": {"use": "table", "path": "texts.jsonl", "split": "split"}},
        "models": {f"model_{number}": model for number in range(size["models"])},
        "training": {"epochs": 3, "learning_rate": 0.003, "batch_size": 16},
        "methods": {"gradient": {}, "integrated_gradients_x_input": {}, "lime": {}, "shap": {}},
        "metrics": {"comprehensiveness": {}, "gini": {}},
        "report": {"figures": False},
    }


def main() -> None:
    """Run every point, log each, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--axes", nargs="+", choices=POINTS, default=list(POINTS))
    axes = parser.parse_args().axes
    costs = cache(lambda *size: cost_of(dict(zip(BASE, size, strict=True))))
    rows = []
    for axis in axes:
        for value in POINTS[axis]:
            jobs, seconds, memory = costs(*{**BASE, axis: value}.values())
            by_stage = {stage: round(seconds[stage], 1) for stage in ("all", *STAGES)}
            rows.append({"grows": axis, "to": value, "jobs": jobs, **by_stage, "MB": round(memory)})
            logging.info("%s", rows[-1])
    print(markdown(rows))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
