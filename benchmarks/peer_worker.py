"""Time explanation methods and faithfulness metrics of one library: exparity or ferret.

Usage: python benchmarks/peer_worker.py --library ferret --checkpoint FOLDER --sentences FILE

FILE has one JSON object per line with ``text`` and ``target``. Prints one JSON object. It runs in
either library's environment and imports nothing but that library; ``peer.py`` compares the two.

Both do the same work: integrated gradients take 50 steps, LIME min(t², 5000) samples for t tokens,
Partition SHAP 500 evaluations, and comprehensiveness and sufficiency are those of ferret's
defaults. Each library is called as its users do: ferret one text at a time with its default batch
sizes, exparity all texts at once. Loading is not timed, and one text goes through everything first.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import numpy as np

GRADIENT_METHODS = (
    "gradient",
    "gradient_x_input",
    "integrated_gradients",
    "integrated_gradients_x_input",
)
METHODS = (*GRADIENT_METHODS, "lime", "shap")
METRICS = ("comprehensiveness", "sufficiency")

Explain = Callable[[str, list[str], list[int]], list[Any]]
Evaluate = Callable[[str, str, list[Any]], "np.ndarray"]


def main() -> None:
    arguments = parse_arguments()
    lines = Path(arguments.sentences).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    texts, targets = [row["text"] for row in rows], [int(row["target"]) for row in rows]
    with contextlib.redirect_stdout(sys.stderr):  # libraries print; stdout is for the result
        import torch

        torch.set_num_threads(arguments.threads)
        load = {"ferret": load_ferret, "exparity": load_exparity}[arguments.library]
        explain, evaluate = load(arguments.checkpoint, arguments.device, arguments.precision)
        measure(explain, evaluate, texts[:1], targets[:1], arguments.methods)
        result, scores = measure(explain, evaluate, texts, targets, arguments.methods)
    if arguments.scores:
        Path(arguments.scores).write_text(json.dumps(scores), encoding="utf-8")
    package = {"ferret": "ferret-xai", "exparity": "exparity"}[arguments.library]
    names = (package, "torch", "transformers", "shap", "lime")
    context = {
        "library": arguments.library,
        "precision": arguments.precision,
        "device": arguments.device,
        "threads": arguments.threads,
        "examples": len(rows),
        "versions": {name: version(name) for name in names},
    }
    print(json.dumps({**context, **result}))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", choices=("ferret", "exparity"), required=True)
    parser.add_argument("--checkpoint", required=True, help="folder of a classifier")
    parser.add_argument("--sentences", required=True, help="JSON lines with text and target")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--precision",
        choices=("fp32", "bf16", "fp32+", "bf16+"),
        default="fp32",
        help="bf16 (exparity): probabilities in bfloat16, gradients still in float32; with a plus "
        "sign, methods and metrics share work, and shortcuts are taken",
    )
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--scores", help="JSON file to write scores and metric values to")
    arguments = parser.parse_args()
    if arguments.library == "ferret" and arguments.precision != "fp32":
        parser.error("ferret runs in fp32 only")
    return arguments


def measure(
    explain: Explain,
    evaluate: Evaluate,
    texts: list[str],
    targets: list[int],
    methods: tuple[str, ...],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Time every method, and every metric on its explanations.

    Args:
        explain: takes a method and texts with targets.
        evaluate: takes a metric, the method whose explanations they are, and explanations.
        texts: to explain.
        targets: class index of each text.
        methods: which methods.

    Returns:
        Wall seconds, and scores with metric values.
    """
    seconds: dict[str, Any] = {"explain": {}, "evaluate": {metric: {} for metric in METRICS}}
    scores: dict[str, Any] = {"explain": {}, "evaluate": {metric: {} for metric in METRICS}}
    for method in methods:
        start = time.perf_counter()
        found = explain(method, texts, targets)
        seconds["explain"][method] = time.perf_counter() - start
        # Copied at once: ferret normalises in place.
        scores["explain"][method] = [np.asarray(e.scores, dtype=float).tolist() for e in found]
        for metric in METRICS:
            start = time.perf_counter()
            values = evaluate(metric, method, found)
            seconds["evaluate"][metric][method] = time.perf_counter() - start
            scores["evaluate"][metric][method] = np.asarray(values, dtype=float).tolist()
    stages = [seconds["explain"], *seconds["evaluate"].values()]
    total = sum(value for stage in stages for value in stage.values())
    return {"seconds": seconds, "total": total}, scores


def load_ferret(checkpoint: str, device: str, precision: str) -> tuple[Explain, Evaluate]:
    """Load a checkpoint for ferret; return how to explain and how to evaluate with it."""
    from ferret import (
        AOPC_Comprehensiveness_Evaluation,
        AOPC_Sufficiency_Evaluation,
        GradientExplainer,
        IntegratedGradientExplainer,
        LIMEExplainer,
        SHAPExplainer,
    )
    from ferret.benchmark import lp_normalize
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint, trust_remote_code=False)
    loaded = AutoModelForSequenceClassification.from_pretrained(checkpoint, trust_remote_code=False)
    model = loaded.to(device).eval()
    gradient, integrated = GradientExplainer, IntegratedGradientExplainer
    explainers = {
        "gradient": gradient(model, tokenizer, multiply_by_inputs=False),
        "gradient_x_input": gradient(model, tokenizer, multiply_by_inputs=True),
        "integrated_gradients": integrated(model, tokenizer, multiply_by_inputs=False),
        "integrated_gradients_x_input": integrated(model, tokenizer, multiply_by_inputs=True),
        "lime": LIMEExplainer(model, tokenizer),
        "shap": SHAPExplainer(model, tokenizer),
    }
    evaluators = {
        "comprehensiveness": AOPC_Comprehensiveness_Evaluation(model, tokenizer),
        "sufficiency": AOPC_Sufficiency_Evaluation(model, tokenizer),
    }

    def explain(method: str, texts: list[str], targets: list[int]) -> list[Any]:
        np.random.seed(0)  # noqa: NPY002  lime and shap draw from the global generator
        run = explainers[method]
        return [run(text, target=target) for text, target in zip(texts, targets, strict=True)]

    def evaluate(metric: str, method: str, explanations: list[Any]) -> np.ndarray:
        run = evaluators[metric]
        normalised = lp_normalize(explanations)  # what ferret's Benchmark does
        return np.array([float(run.compute_evaluation(e, e.target).score) for e in normalised])

    return explain, evaluate


def load_exparity(checkpoint: str, device: str, precision: str) -> tuple[Explain, Evaluate]:
    """Load a checkpoint for exparity; return how to explain and how to evaluate with it."""
    import exparity
    from exparity.methods import explain_encodings

    sharing = precision.endswith("+")
    exact = exparity.load_classifier(checkpoint, device, shortcuts=sharing)
    fast = exact
    if precision.startswith("bf16"):
        fast = exparity.load_classifier(checkpoint, device, precision="bf16", shortcuts=sharing)
    memos: dict[int, dict[Any, Any]] = {}
    # What ferret does, said once more in case a default changes.
    options: dict[str, dict[str, Any]] = {
        "integrated_gradients": {"n_steps": 50},
        "integrated_gradients_x_input": {"n_steps": 50},
        "lime": {"max_samples": 5000},
        "shap": {"max_evals": 500},
    }

    def explain(method: str, texts: list[str], targets: list[int]) -> list[Any]:
        classifier = exact if method in GRADIENT_METHODS else fast
        settings = options.get(method, {})
        if not sharing:
            return exparity.explain(classifier, texts, targets, method=method, seed=0, **settings)
        encodings = classifier.encode(texts)
        memo = memos.setdefault(len(texts), {})  # as exparity.methods.explain_many does
        wanted = np.array(targets)
        return explain_encodings(
            classifier, encodings, wanted, texts, method, 0, settings, set(), memo
        )

    stack = contextlib.ExitStack()
    if sharing:
        stack.enter_context(fast.remembering())  # as exparity.metrics.evaluate_many does

    def evaluate(metric: str, method: str, explanations: list[Any]) -> np.ndarray:
        return exparity.evaluate(fast, explanations, metric)

    return explain, evaluate


if __name__ == "__main__":
    main()
