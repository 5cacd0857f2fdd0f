"""How seconds and memory of a run grow with texts, their length, seeds and models.

Usage: python benchmarks/growth.py [--stages]

Every point is a real run of the workflow with one core, on made-up texts, of a small classifier
that it trains. Seconds are the processor's, of all jobs; Snakemake's own are not among them.

With --stages, the table has the seconds of each stage in a run of the least size, with texts of
eight words, and how many times as long it takes with ten times the texts, five times the groups,
as many of unequal sizes, or three times the methods.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from shared import ROOT, markdown, workflow_of

from exparity.artefacts.files import read_tables

BASE = {"texts": 64, "words": 16, "seeds": 1, "models": 1, "groups": 2, "methods": 1, "growing": 0}
STAGES_BASE = {**BASE, "words": 8}
STAGES_GROW = {
    "texts × 10": {"texts": 640},
    "groups × 5": {"groups": 10},
    "unequal groups × 5": {"groups": 10, "growing": 1},
    "methods × 3": {"methods": 3},
}
POINTS = {"texts": (64, 128, 256), "words": (16, 32, 64), "seeds": (1, 2, 4), "models": (1, 2, 4)}
WORDS = tuple("abcdefghijklmnop")


@cache
def jobs_of(
    texts: int, words: int, seeds: int, models: int, groups: int, methods: int, growing: int
) -> list[dict[str, Any]]:
    """Run the workflow once; return its jobs, as its table of costs has them."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_texts(root / "texts.jsonl", texts, words, groups, growing)
        config = configuration(seeds, models, methods)
        (root / "config.json").write_text(json.dumps(config), encoding="utf-8")
        workflow_of(ROOT, root, root / "config.json", "--cores", "1")
        jobs: list[dict[str, Any]] = read_tables(
            [root / "results" / "cost.parquet"], "cost"
        ).to_pylist()
    return jobs


def seconds_of(sizes: Mapping[str, int]) -> Counter[str]:
    """Return the CPU seconds of each stage of a run."""
    seconds = Counter[str]()
    for job in jobs_of(**sizes):
        seconds[job["stage"]] += job["cpu_seconds"] or 0
    return seconds


def cost_of(sizes: Mapping[str, int]) -> dict[str, float]:
    """Return a run's number of jobs, its CPU seconds, and the most MB of a job."""
    seconds = seconds_of(sizes)
    jobs = jobs_of(**sizes)
    return {
        "jobs": len(jobs),
        "CPU seconds": seconds.total(),
        "explain": seconds["explain"],
        "MB": round(max(job["max_rss_mb"] or 0 for job in jobs)),
    }


def growth_of_stages() -> list[dict[str, Any]]:
    """Return a row for each stage: its seconds, and by what they are multiplied."""
    least = seconds_of(STAGES_BASE)
    grown = {name: seconds_of({**STAGES_BASE, **sizes}) for name, sizes in STAGES_GROW.items()}
    return [
        {
            "stage": stage,
            "CPU seconds": seconds,
            **{name: more[stage] / seconds for name, more in grown.items()},
        }
        for stage, seconds in least.most_common()
    ]


def write_texts(path: Path, texts: int, words: int, groups: int, growing: int) -> None:
    """Write as many texts to test, and twice as many to train on; the first word is the label.

    Of every run of texts, the first group has two, and each other one ``growing`` more than the
    one before.
    """
    draw = random.Random(0)
    run = [group for group in range(groups) for _ in range(2 + growing * group)]
    rows = [
        {
            "text": " ".join([("good", "bad")[number % 2], *draw.choices(WORDS, k=words - 1)]),
            "label": str(number % 2),
            "group": f"group {run[number % len(run)]}",
            "split": "test" if number < texts else "train",
        }
        for number in range(3 * texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def configuration(seeds: int, models: int, methods: int) -> dict[str, Any]:
    """Return the config of a run, with each of four methods so many times."""
    layers = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    size = {**layers, "intermediate_size": 128}
    model = {"init": "scratch", "architecture": "bert", "size": size}
    return {
        "seeds": list(range(seeds)),
        "datasets": {"texts": {"use": "table", "path": "texts.jsonl", "split": "split"}},
        "models": {f"model_{number}": model for number in range(models)},
        "training": {"epochs": 3, "learning_rate": 0.003, "batch_size": 16},
        "methods": {
            f"{method}_{number}": {"use": method}
            for method in ("gradient", "integrated_gradients_x_input", "lime", "shap")
            for number in range(methods)
        },
        "metrics": {"comprehensiveness": {}, "gini": {}},
        "report": {"figures": False},
    }


def main() -> None:
    """Run every point, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stages", action="store_true")
    if parser.parse_args().stages:
        print(markdown(growth_of_stages()))
        return
    rows = [
        {"grows": axis, "to": value, **cost_of({**BASE, axis: value})}
        for axis in POINTS
        for value in POINTS[axis]
    ]
    print(markdown(rows))


if __name__ == "__main__":
    main()
