"""Measure what bf16 or fp16 changes: scores, metric values and decisions of tests.

Usage: python benchmarks/precision.py CHECKPOINT --data DATA.parquet [--examples N]
       [--precision bf16|fp16]

DATA is the artefact of `exparity prepare`. Explains and evaluates a sample of its test split in
fp32 and in the other precision, and compares: rank correlation of attributions within texts, of
metric values over texts, and the p-value of the comparison of groups. In fp16 it counts the texts
and passes that were run in fp32. A CPU computes in float16 as a GPU rounds, but slowly.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from engine_tables import markdown
from scipy.stats import spearmanr

from exparity import compare_groups, evaluate, load_classifier
from exparity.data.table import read_prepared, sample
from exparity.methods import explain_encodings

METHODS = ("gradient_x_input", "lime", "shap")
METRICS = (
    "comprehensiveness", "sufficiency", "soft_comprehensiveness", "soft_sufficiency", "gini",
    "sparsity",
)  # fmt: skip
ALPHA = 0.05


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--examples", type=int, default=60)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=("bf16", "fp16"), default="bf16")
    arguments = parser.parse_args()
    other = arguments.precision
    torch.set_num_threads(arguments.threads)
    prepared = read_prepared(arguments.data, "test")
    chosen = sample(prepared.examples, arguments.examples)
    labels = np.array([e.label for e in chosen])
    groups = [e.group for e in chosen]
    keys = [e.example_id for e in chosen]
    first, second = prepared.groups
    models = {p: load_classifier(str(arguments.checkpoint), precision=p) for p in ("fp32", other)}
    encodings = models["fp32"].encode([e.words for e in chosen])
    rows = []
    for method in METHODS:
        found = {}
        for precision, model in models.items():
            # As in the workflow: gradients are always taken in fp32.
            by = models["fp32"] if method == "gradient_x_input" else model
            found[precision] = explain_encodings(by, encodings, labels, keys, method, 0, {}, set())
        within = [
            spearmanr(a.scores[a.content_mask], b.scores[b.content_mask])[0]
            for a, b in zip(found["fp32"], found[other], strict=True)
        ]
        for metric in METRICS:
            values = {
                p: evaluate(models[p], found[p], metric, normalise_over="sequence") for p in models
            }
            tests = {
                p: compare_groups(v, groups, order=(first, second)).p for p, v in values.items()
            }
            rows.append(
                {
                    "method": method,
                    "metric": metric,
                    "attributions": float(np.nanmean(within)),
                    "values": float(spearmanr(values["fp32"], values[other])[0]),
                    "largest_difference": float(np.nanmax(np.abs(values["fp32"] - values[other]))),
                    "p_fp32": float(tests["fp32"]),
                    f"p_{other}": float(tests[other]),
                    "decision": "same"
                    if (tests["fp32"] < ALPHA) == (tests[other] < ALPHA)
                    else "changes",
                }
            )
    print(markdown(rows))
    print(f"\n{len(chosen)} texts; in fp32 for want of range: {dict(models[other].refusals)}")


if __name__ == "__main__":
    main()
