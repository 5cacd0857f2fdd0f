"""How seconds and memory of a run grow with texts, their length, seeds and models.

Every point is a real run of the workflow with one core, on made-up texts, of a small classifier
that it trains. Seconds are the processor's, of all jobs; Snakemake's own are not among them.
"""

from __future__ import annotations

import json
import random
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from shared import markdown, run_workflow

from exparity.artefacts.files import read_tables

BASE = {"texts": 64, "words": 16, "seeds": 1, "models": 1}
POINTS = {"texts": (64, 128, 256), "words": (16, 32, 64), "seeds": (1, 2, 4), "models": (1, 2, 4)}
WORDS = tuple("abcdefghijklmnop")


@cache
def cost_of(texts: int, words: int, seeds: int, models: int) -> dict[str, float]:
    """Run the workflow once; return its number of jobs, CPU seconds, and most MB of a job."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_texts(root / "texts.jsonl", texts, words)
        config = configuration(seeds, models)
        (root / "config.json").write_text(json.dumps(config), encoding="utf-8")
        run_workflow(root)
        jobs = read_tables([root / "results" / "cost.parquet"], "cost").to_pylist()
    seconds = [(job["stage"], job["cpu_seconds"] or 0) for job in jobs]
    return {
        "jobs": len(jobs),
        "CPU seconds": sum(used for _, used in seconds),
        "explain": sum(used for stage, used in seconds if stage == "explain"),
        "MB": round(max(job["max_rss_mb"] or 0 for job in jobs)),
    }


def write_texts(path: Path, texts: int, words: int) -> None:
    """Write as many texts to test, and twice as many to train on; the first word is the label."""
    draw = random.Random(0)
    rows = [
        {
            "text": " ".join([("good", "bad")[number % 2], *draw.choices(WORDS, k=words - 1)]),
            "label": str(number % 2),
            "group": ("first", "second")[number // 2 % 2],
            "split": "test" if number < texts else "train",
        }
        for number in range(3 * texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def configuration(seeds: int, models: int) -> dict[str, Any]:
    """Return the config of a run."""
    layers = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    size = {**layers, "intermediate_size": 128}
    model = {"init": "scratch", "architecture": "bert", "size": size}
    return {
        "seeds": list(range(seeds)),
        "datasets": {"texts": {"use": "table", "path": "texts.jsonl", "split": "split"}},
        "models": {f"model_{number}": model for number in range(models)},
        "training": {"epochs": 3, "learning_rate": 0.003, "batch_size": 16},
        "methods": {"gradient": {}, "integrated_gradients_x_input": {}, "lime": {}, "shap": {}},
        "metrics": {"comprehensiveness": {}, "gini": {}},
        "report": {"figures": False},
    }


def main() -> None:
    """Run every point, and print a table."""
    rows = [
        {"grows": axis, "to": value, **cost_of(**{**BASE, axis: value})}
        for axis in POINTS
        for value in POINTS[axis]
    ]
    print(markdown(rows))


if __name__ == "__main__":
    main()
