"""Run one script of ferret-xai, and the same one with its import changed, on the same model.

Usage: python benchmarks/ferret_script.py --peer-python PATH --checkpoint FOLDER [--text TEXT]

PATH is the Python of an environment that has ferret-xai 0.4.2. The script is that of ferret's paper
(Figure 2): it explains a text, also for each class, evaluates the explanations and makes the
tables. Each table is printed for both, then the largest differences of their rows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SCRIPT = """
import json, sys
import numpy as np
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from {module} import Benchmark

name, query = sys.argv[1:]
np.random.seed(0)
model = AutoModelForSequenceClassification.from_pretrained(name)
tokenizer = AutoTokenizer.from_pretrained(name)
bench = Benchmark(model, tokenizer)
scores = bench.score(query)
explanations = bench.explain(query, target=1)
class_explanations = [bench.explain(query, target=target) for target in range(len(scores))]
evaluations = bench.evaluate_explanations(
    explanations, target=1, class_explanations=class_explanations
)
tables = [
    bench.show_table(explanations),
    bench.show_evaluation_table(evaluations),
]
print(json.dumps([scores, *(json.loads(table.data.to_json(orient="split")) for table in tables)]))
"""
"""Lines of a user of ferret; the last two print what a notebook shows."""


def run(python: str, module: str, arguments: argparse.Namespace) -> tuple[Any, ...]:
    """Return what the script shows: probabilities, scores of tokens and evaluations."""
    import pandas as pd

    environment = dict(os.environ)
    if module == "ferret":
        environment.pop("PYTHONPATH", None)
    command = [python, "-c", SCRIPT.format(module=module), arguments.checkpoint, arguments.text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the script failed with {module}:\n{done.stderr[-2000:]}")
    scores, *tables = json.loads(done.stdout.splitlines()[-1])
    return scores, *(
        pd.DataFrame(table["data"], table["index"], table["columns"]) for table in tables
    )


def main() -> None:
    """Print both sides and their differences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--peer-python", required=True, help="Python that has ferret-xai")
    parser.add_argument("--checkpoint", required=True, help="folder of a classifier")
    parser.add_argument("--text", default="Great movie for a great nap!")
    arguments = parser.parse_args()
    theirs = run(arguments.peer_python, "ferret", arguments)
    ours = run(sys.executable, "exparity.ferret", arguments)
    largest = max(abs(ours[0][name] - theirs[0][name]) for name in theirs[0])
    print(f"probabilities: largest difference {largest:.1e}\n")
    for title, one, other in zip(("tokens", "evaluations"), ours[1:], theirs[1:], strict=True):
        print(f"{title}, ferret\n{other.round(3).to_string()}\n")
        print(f"{title}, exparity.ferret\n{one.round(3).to_string()}\n")
        gaps = (one.set_axis(other.columns, axis=1) - other).abs().max(axis=1)
        print(f"{title}, largest difference\n{gaps.to_string(float_format='{:.1e}'.format)}\n")


if __name__ == "__main__":
    main()
