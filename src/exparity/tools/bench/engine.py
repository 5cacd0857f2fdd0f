"""How close the engine comes to the bare model, and both to the machine's matrix products."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.tools.bench._table import Row
from exparity.tools.bench._timing import (
    PRODUCT_FLOPS,
    bare_forward,
    bare_gradient,
    facts,
    flops_per_token,
    matrix_product,
    random_ids,
    shortest,
)

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier


def measure_engine(
    classifier: Classifier,
    checkpoint: Path,
    options: dict[str, Any],
    *,
    length: int,
    examples: int,
) -> list[Row]:
    """Measure forward, perturbation and gradient work.

    Perturbation work is what LIME does: masks of few texts, from drawing batches to probabilities.
    Rates count the tokens that were asked for.

    Args:
        classifier: the model.
        checkpoint: its folder.
        options: how it was loaded.
        length: tokens of each text.
        examples: number of texts, and of masked texts.

    Returns:
        One row per kind of work.
    """
    from exparity.engine import load_classifier
    from exparity.engine.classifier import GRADIENT_SHARE, padded
    from exparity.engine.masking import MaskedTexts

    ids = random_ids(classifier, examples, length)
    texts = max(1, examples // 64)
    masks = list(np.random.default_rng(1).random((examples, length)) < 0.5)
    owners = np.arange(examples) % texts
    targets = np.zeros(examples, dtype=np.int64)
    budget = classifier.token_budget

    def masked(model: Classifier) -> object:
        rows = [model.embed(ids[i]) for i in range(texts)]
        return MaskedTexts(model, rows).probabilities(owners, masks)

    def gradient() -> None:
        rows = [classifier.embed(row) for row in ids]
        lengths = [length] * len(ids)
        classifier.input_gradients(lengths, padded(rows), targets, lambda *_: None)

    works: dict[str, tuple[Callable[[], object], str, int]] = {
        "bare forward": (lambda: bare_forward(classifier, ids, budget), "bare forward", 1),
        "forward": (lambda: classifier.probabilities(list(ids)), "bare forward", 1),
        "perturbation": (lambda: masked(classifier), "bare forward", 1),
        "bare gradient": (
            lambda: bare_gradient(classifier, ids, budget // GRADIENT_SHARE), "bare gradient", 2,
        ),
        "gradient": (gradient, "bare gradient", 2),
    }  # fmt: skip
    if classifier.model.config.model_type in ("bert", "roberta", "gpt2"):
        quick = load_classifier(str(checkpoint), **options, shortcuts=True)
        works["perturbation with shortcuts"] = (lambda: masked(quick), "bare forward", 1)
    runs = {name: run for name, (run, _, _) in works.items()}
    seconds = shortest(classifier, {**runs, "product": matrix_product(classifier)})
    peak = PRODUCT_FLOPS / seconds["product"]
    flops = flops_per_token(classifier)
    return [
        {
            **facts(classifier, options["precision"]),
            "work": name,
            "tokens_per_second": ids.size / seconds[name],
            "of_bare": seconds[bare] / seconds[name],
            "GFLOP_per_second": ids.size * passes * flops / seconds[name] / 1e9,
            "of_matrix_product": ids.size * passes * flops / seconds[name] / peak,
        }
        for name, (_, bare, passes) in works.items()
    ]
