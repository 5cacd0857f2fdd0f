"""What the engine costs against the bare model.

Rates count the tokens that were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
    timed,
)

from exparity.types import IntArray

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

Row = dict[str, Any]
Work = tuple[Callable[[], object], str, int]
"""What runs, the bare loop it compares with, and its passes."""


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
