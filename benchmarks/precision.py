"""Print how far explanations in bfloat16 rank tokens as those in float32 do.

Usage: python benchmarks/precision.py CHECKPOINT --data FILE [--texts N]

Explains test texts of a data artefact with each method that needs probabilities alone, twice in
float32 with other draws, and once in bfloat16. A row has the mean of Spearman's rank correlations
over texts, and their tenth percentile. A processor without bfloat16 emulates it.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from scipy.stats import spearmanr
from shared import markdown

import exparity
from exparity.data.table import read_prepared
from exparity.explanations import Explanation

METHODS = ("lime", "shap")


def rank_correlations(first: Sequence[Explanation], second: Sequence[Explanation]) -> list[float]:
    """Return Spearman's correlation of the tokens' scores of each text; constant ones left out."""
    correlations = []
    for one, other in zip(first, second, strict=True):
        if len(set(one.scores)) > 1 and len(set(other.scores)) > 1:
            correlations.append(float(spearmanr(one.scores, other.scores).statistic))
    return correlations


def main() -> None:
    """Explain the texts and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("checkpoint", help="folder of a classifier")
    parser.add_argument("--data", required=True, type=Path, help="a data artefact")
    parser.add_argument("--texts", type=int, default=50, help="how many (default: 50)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    examples = read_prepared(options.data, "test").examples[: options.texts]
    texts = [example.text for example in examples]
    exact = exparity.load_classifier(options.checkpoint, "cpu")
    coarse = exparity.load_classifier(options.checkpoint, "cpu", precision="bf16")
    targets = exact.predict_proba(texts).argmax(1).tolist()
    rows = []
    for method in METHODS:
        runs = {"fp32": (exact, 0), "other draws": (exact, 1), "bf16": (coarse, 0)}
        found = {}
        seconds = {}
        for name, (classifier, seed) in runs.items():
            start = time.process_time()
            found[name] = exparity.explain(classifier, texts, targets, method, seed)
            seconds[name] = time.process_time() - start
        for name in ("bf16", "other draws"):
            correlations = rank_correlations(found["fp32"], found[name])
            rows.append(
                {
                    "Method": method,
                    "fp32 and": name,
                    "mean": float(np.mean(correlations)),
                    "tenth percentile": float(np.quantile(correlations, 0.1)),
                    "texts": len(correlations),
                    "CPU seconds": seconds[name],
                }
            )
    print(markdown(rows))


if __name__ == "__main__":
    main()
