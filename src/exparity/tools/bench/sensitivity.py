"""What sensitivity costs a text and method, against its own bound."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.interface import IntArray
from exparity.tools.bench._table import Row
from exparity.tools.bench._timing import bare_forward, bare_gradient, facts, random_ids, synchronise

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_STEPS = 10
_N_STEPS = 50  # of integrated gradients
_METHODS = (
    "gradient", "gradient_x_input", "integrated_gradients_x_input", "lime", "shap",
)  # fmt: skip


def measure_sensitivity(
    classifier: Classifier,
    checkpoint: Path,
    options: dict[str, Any],
    *,
    length: int,
    examples: int,
) -> list[Row]:
    """Measure the sensitivity of each method on texts of one length.

    The bound is what the model passes alone would take at the bare loop's rate, measured right
    before: for each of the ascent's copies one forward and one backward pass, and the method's own
    passes. A fused method (gradient) shares the ascent's forward pass.

    Args:
        classifier: the model.
        checkpoint: its folder.
        options: how it was loaded.
        length: tokens of each text.
        examples: number of texts for the cheapest methods; a 64th for LIME and SHAP, an 8th for
            integrated gradients.

    Returns:
        One row per method.
    """
    from exparity import evaluate
    from exparity.engine.classifier import GRADIENT_SHARE
    from exparity.methods import explain_encodings

    rows: list[Row] = []
    for method in _METHODS:
        costly = {"integrated_gradients_x_input": 8, "lime": 64, "shap": 64}
        count = max(2, examples // costly.get(method, 1))
        ids = random_ids(classifier, count, length - 2)
        texts = [classifier.tokenizer.decode(row) for row in ids]
        encodings = classifier.encode(texts)
        lengths = [len(e) for e in encodings]
        targets = np.zeros(count, dtype=np.int64)
        keys = [str(i) for i in range(count)]
        explanations = explain_encodings(classifier, encodings, targets, keys, method, 0, {}, set())
        sample = random_ids(classifier, 256, round(float(np.mean(lengths))))
        budget = classifier.token_budget
        forward = _rate(classifier, bare_forward, sample, budget)
        both = _rate(classifier, bare_gradient, sample, budget // GRADIENT_SHARE)
        start = time.perf_counter()
        evaluate(classifier, explanations, "sensitivity", steps=_STEPS)
        synchronise(classifier)
        seconds = time.perf_counter() - start
        bound = sum(_bound(method, t, forward, both) for t in lengths)
        rows.append(
            {
                **facts(classifier, options["precision"]),
                "method": method,
                "texts": count,
                "tokens_a_text": float(np.mean(lengths)),
                "seconds_a_text": seconds / count,
                "bound_a_text": bound / count,
                "of_bound": bound / seconds,
            }
        )
    return rows


def _rate(
    classifier: Classifier,
    run: Callable[[Classifier, IntArray, int], None],
    ids: IntArray,
    budget: int,
) -> float:
    """Return tokens a second of a run, the better of two after one that warms up."""
    best = float("inf")
    for turn in range(3):
        start = time.perf_counter()
        run(classifier, ids, budget)
        synchronise(classifier)
        if turn:
            best = min(best, time.perf_counter() - start)
    return float(ids.size / best)


def _bound(method: str, tokens: int, forward: float, both: float) -> float:
    """Return the seconds that the model passes of one text take at bare rates."""
    backward = 1 / both - 1 / forward
    ascent = _STEPS * tokens / both
    if method in ("gradient", "gradient_x_input"):
        # One forward pass at each of 11 points; 10 gradients of the loss, 10 of the logit.
        return tokens * ((_STEPS + 1) / forward + 2 * _STEPS * backward)
    if method.startswith("integrated_gradients"):
        return ascent + _STEPS * _N_STEPS * tokens / both
    samples = min(tokens**2, 5000) if method == "lime" else min(500, tokens * (tokens - 1))
    copies = _STEPS + (method == "shap")  # SHAP asks about the text itself as well
    return ascent + copies * samples * tokens / forward
