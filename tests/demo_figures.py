"""Figures of the default experiment that the docs quote.

``python tests/demo_figures.py RESULTS`` takes them from the results of ``make demo`` and keeps them
beside this file; ``tests/test_docs.py`` holds the docs to them.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import exparity
from exparity.stats.verdicts import VERDICTS

KEPT = Path(__file__).with_suffix(".json")
CELL = "dataset == 'pairs_all' and model == 'bert_scratch' and method == 'gradient' and seed == 0"
"""The tests that the quickstart prints."""


COLUMNS = ("metric", "mean_a", "mean_b", "cohens_d", "wilcoxon_p", "random_significant")


def figures(results: Path) -> dict[str, Any]:
    """Return what the docs quote of the results of the default experiment."""
    tests = exparity.read_results(results, "disparity")
    cells = exparity.read_results(results, "verdicts").query("quantity == 'excess'")
    random = tests.groupby(["dataset", "metric"])["random_significant"].mean().dropna()
    detectable = cells.groupby("dataset")["minimal_detectable_effect"].median()
    log = (results / "logs" / "report.log").read_text().splitlines()
    shown = (
        subprocess.run(["exparity", "show", results], capture_output=True, text=True, check=True)
        .stdout.split("\n\n")[1]
        .splitlines()
    )
    return {
        "log": [
            line.partition(" INFO ")[2] for line in log if re.search("seed 0|significant", line)
        ],
        "verdicts": {one.id: int((cells["verdict"] == one.id).sum()) for one in VERDICTS},
        "headline": [line for line in shown if not re.search(": decided", line)],
        "random": {dataset: dict(random[dataset]) for dataset in random.index.unique(0)},
        "detectable": dict(detectable),
        "cell": tests.query(CELL)[[*COLUMNS]].round(3).to_string(index=False).splitlines(),
    }


if __name__ == "__main__":
    KEPT.write_text(json.dumps(figures(Path(sys.argv[1])), indent=1, ensure_ascii=False) + "\n")
