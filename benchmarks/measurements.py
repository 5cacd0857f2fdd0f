"""What the engine costs: against the bare model, as work grows, and of one costly metric.

Rates count the tokens that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from timing import (
    Summary,
    bare_forward,
    bare_gradient,
    flops_per_token,
    matrix_product,
    place,
    random_ids,
    seconds_of,
    timed,
)

from exparity.types import IntArray

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

Row = dict[str, Any]
Work = tuple[Callable[[], object], str, int]
"""What runs, the bare loop it compares with, and its passes."""
_BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16384)
_LENGTHS = (8, 16, 32, 64, 128, 256)
_SHARES = (8, 4, 2, 1)
_STEPS = 10
_N_STEPS = 50  # of integrated gradients
# Methods whose sensitivity is measured, and on which share of the texts.
_METHODS = {
    "gradient": 1,
    "gradient_x_input": 1,
    "integrated_gradients_x_input": 8,
    "lime": 64,
    "shap": 64,
}


@dataclass(frozen=True)
class Setup:
    """What is measured.

    Attributes:
        classifier: the model.
        checkpoint: its folder.
        options: how it was loaded.
        length: tokens of each text, where that does not vary.
        examples: number of texts, where that does not vary.
        summary: of the repeats of a measurement against the bare loop.
    """

    classifier: Classifier
    checkpoint: Path
    options: dict[str, Any]
    length: int
    examples: int
    summary: Summary = min

    def row(self, **measured: object) -> Row:
        """Return what was measured, after what it was measured on."""
        return {**place(self.classifier.device), "precision": self.options["precision"], **measured}


def measure_engine(setup: Setup) -> Iterator[Row]:
    """Measure forward, perturbation and gradient work, a row each.

    Perturbation work is what LIME does: masks of few texts, from drawing batches to probabilities.
    """
    from exparity.engine.classifier import load_classifier

    ids = random_ids(setup.classifier, setup.examples, setup.length)
    works = _works(setup.classifier, ids)
    if setup.classifier.in_fp32 is not None:  # which takes them in fp32
        del works["gradient"]
    if setup.classifier.model.config.model_type in ("bert", "roberta", "gpt2"):
        quick = load_classifier(str(setup.checkpoint), **setup.options, shortcuts=True)
        works["perturbation with shortcuts"] = _works(quick, ids)["perturbation"]
    yield from _rates(setup, works, ids.size)


def _rates(setup: Setup, works: Mapping[str, Work], tokens: int) -> Iterator[Row]:
    product, flops = matrix_product(setup.classifier)
    runs = {name: run for name, (run, _, _) in works.items()}
    seconds = timed(setup.classifier, {**runs, "product": product}, summary=setup.summary)
    peak = flops / seconds["product"]
    for name, (_, bare, passes) in works.items():
        rate = tokens * passes * flops_per_token(setup.classifier) / seconds[name]
        yield setup.row(
            work=name,
            tokens_per_second=tokens / seconds[name],
            of_bare=seconds[bare] / seconds[name],
            GFLOP_per_second=rate / 1e9,
            of_matrix_product=rate / peak,
        )


def _works(classifier: Classifier, ids: IntArray) -> dict[str, Work]:
    """Return kinds of work on token ids."""
    from exparity.engine.classifier import padded
    from exparity.engine.masking import MaskedTexts

    examples, length = ids.shape
    texts = max(1, examples // 64)
    masks = list(np.random.default_rng(1).random((examples, length)) < 0.5)
    owners = np.arange(examples) % texts
    targets = np.zeros(examples, dtype=np.int64)
    budget = classifier.token_budget

    def perturb() -> object:
        embedded = [classifier.embed(ids[i]) for i in range(texts)]
        return MaskedTexts(classifier, embedded).probabilities(owners, masks)

    def gradient() -> None:
        embedded = padded([classifier.embed(text) for text in ids])
        for _ in classifier.input_gradients([length] * examples, embedded, targets):
            pass

    def plain_gradient() -> None:
        bare_gradient(classifier, ids, classifier.gradient_budget)

    return {
        "bare forward": (lambda: bare_forward(classifier, ids, budget), "bare forward", 1),
        "forward": (lambda: classifier.probabilities(list(ids)), "bare forward", 1),
        "perturbation": (perturb, "bare forward", 1),
        "bare gradient": (plain_gradient, "bare gradient", 2),
        "gradient": (gradient, "bare gradient", 2),
    }


def measure_scaling(setup: Setup) -> Iterator[Row]:
    """Measure forward passes over token budgets, text lengths and numbers of texts, a row each.

    Texts of other lengths are as many as have the same tokens in all.
    """
    length, examples = setup.length, setup.examples
    usual = setup.classifier.token_budget
    for budget in _BUDGETS:
        yield _forward(setup, "tokens a batch", budget, (examples, length), budget)
    for size in _LENGTHS:
        if size <= setup.classifier.max_length:
            shape = max(4, examples * length // size), size
            yield _forward(setup, "length", size, shape, usual)
    for share in _SHARES:
        shape = max(1, examples // share), length
        yield _forward(setup, "texts", examples // share, shape, usual)


def _forward(setup: Setup, varied: str, value: int, shape: tuple[int, int], budget: int) -> Row:
    classifier = setup.classifier
    ids, usual = random_ids(classifier, *shape), classifier.token_budget
    texts = list(ids)
    runs: dict[str, Callable[[], object]] = {
        "bare": lambda: bare_forward(classifier, ids, budget),
        "engine": lambda: classifier.probabilities(texts),
    }
    classifier.token_budget = budget
    seconds = timed(classifier, runs, repeats=3)
    classifier.token_budget = usual
    return setup.row(
        varied=varied,
        value=value,
        tokens_per_second=ids.size / seconds["engine"],
        milliseconds_per_text=1000 * seconds["engine"] / len(ids),
        of_bare=seconds["bare"] / seconds["engine"],
    )


def measure_sensitivity(setup: Setup) -> Iterator[Row]:
    """Measure the sensitivity of each method on texts of one length, a row each.

    The bound is what the model passes alone would take at the bare loop's rate, measured right
    before: for each of the ascent's copies one forward and one backward pass, and the method's own
    passes. A fused method (gradient) shares the ascent's forward pass. Costly methods get fewer
    texts.
    """
    from exparity import evaluate
    from exparity.methods import explain_encodings

    classifier = setup.classifier
    for method, share in _METHODS.items():
        count = max(2, setup.examples // share)
        ids = random_ids(classifier, count, setup.length - 2)
        encodings = classifier.encode([classifier.tokenizer.decode(text) for text in ids])
        lengths = [len(e) for e in encodings]
        targets, keys = np.zeros(count, dtype=np.int64), [str(i) for i in range(count)]
        explanations = explain_encodings(classifier, encodings, targets, keys, method, 0, {}, set())
        sample = random_ids(classifier, 256, round(float(np.mean(lengths))))
        budget = classifier.token_budget
        runs: dict[str, Callable[[], object]] = {
            "forward": partial(bare_forward, classifier, sample, budget),
            "both": partial(bare_gradient, classifier, sample, classifier.gradient_budget),
        }
        bare = timed(classifier, runs, repeats=2)
        forward, both = (sample.size / bare[name] for name in runs)
        ascend = partial(evaluate, classifier, explanations, "sensitivity", steps=_STEPS)
        seconds = seconds_of(classifier, ascend)
        bound = sum(_bound(method, tokens, forward, both) for tokens in lengths)
        yield setup.row(
            method=method,
            texts=count,
            tokens_a_text=float(np.mean(lengths)),
            seconds_a_text=seconds / count,
            bound_a_text=bound / count,
            of_bound=bound / seconds,
        )


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
