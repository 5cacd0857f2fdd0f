"""How cost grows with batches, lengths and numbers of texts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.tools.bench._table import Row
from exparity.tools.bench._timing import bare_forward, facts, random_ids, shortest

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_BUDGETS = (256, 512, 1024, 2048, 4096, 8192, 16384)
_LENGTHS = (8, 16, 32, 64, 128, 256)
_SHARES = (8, 4, 2, 1)


def measure_scaling(
    classifier: Classifier,
    checkpoint: Path,
    options: dict[str, Any],
    *,
    length: int,
    examples: int,
) -> list[Row]:
    """Measure forward passes over token budgets, text lengths and numbers of texts.

    Args:
        classifier: the model.
        checkpoint: its folder.
        options: how it was loaded.
        length: tokens of each text, where it does not vary.
        examples: number of texts, where it does not vary; texts of other lengths are as many as
            have the same tokens in all.

    Returns:
        One row per setting.
    """
    usual = classifier.token_budget
    rows: list[Row] = []

    def measure(varied: str, value: int, size: int, count: int, budget: int) -> None:
        ids = random_ids(classifier, count, size)
        texts = list(ids)
        classifier.token_budget = budget
        seconds = shortest(
            classifier,
            {
                "bare": lambda: bare_forward(classifier, ids, budget),
                "engine": lambda: classifier.probabilities(texts),
            },
            repeats=3,
        )
        classifier.token_budget = usual
        rows.append(
            {
                **facts(classifier, options["precision"]),
                "varied": varied,
                "value": value,
                "tokens_per_second": ids.size / seconds["engine"],
                "milliseconds_per_text": 1000 * seconds["engine"] / count,
                "of_bare": seconds["bare"] / seconds["engine"],
            }
        )

    for budget in _BUDGETS:
        measure("tokens a batch", budget, length, examples, budget)
    for size in _LENGTHS:
        if size <= classifier.max_length:
            measure("length", size, size, max(4, examples * length // size), usual)
    for share in _SHARES:
        measure("texts", examples // share, length, max(1, examples // share), usual)
    return rows
