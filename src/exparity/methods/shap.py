"""Partition SHAP (Lundberg and Lee 2017) on the units of a text, with a hierarchy of them."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from exparity.core.flags import Range
from exparity.explanations.alignment import laid_on
from exparity.methods import MethodBatch
from exparity.methods._masks import masking_method
from exparity.methods._owen import Search, owen_values, unit_hierarchy
from exparity.types import BoolArray, FloatArray, IntArray

_TOGETHER = 64  # texts that run side by side; what they ask fills the engine's batches


@masking_method(
    "shap",
    baseline="mask token",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874; Owen 1977, doi:10.1007/978-3-642-45494-3_7",
    display="Partition SHAP",
    adaptive=True,
    passes=500,
)
def shap(
    batch: MethodBatch, *, max_evals: Annotated[int, Range(at_least=10, at_most=1_000_000)] = 500
) -> list[FloatArray]:
    r"""Owen values: Shapley values that respect a hierarchy of the text's tokens, or larger units.

    The shap package builds the hierarchy (pieces of words, then words, then clauses), splits the
    branch with the largest weighted effect first, and shares what is not split any more evenly.
    Absent tokens are replaced by the mask token; special tokens and those of a prompt stay. The
    tokens of a larger unit share its value. Draws decide between branches of equal effect only.

    Args:
        batch: the texts.
        max_evals: most masks to evaluate per text.

    Returns:
        (t,) signed scores for each text, in probability; where every branch was split they sum to
        f(input) − f(all masked).
    """
    scores: list[FloatArray] = [np.zeros(0)] * len(batch)
    leaders = np.unique(batch.leaders)
    for first in range(0, len(leaders), _TOGETHER):
        is_here = np.isin(batch.leaders, leaders[first : first + _TOGETHER])
        places = np.flatnonzero(is_here).tolist()
        together = _explain_together(batch.part(batch.classifier, places), max_evals)
        for place, values in together.items():
            scores[places[place]] = values
    return scores


def _explain_together(batch: MethodBatch, max_evals: int) -> dict[int, FloatArray]:
    """Explain texts, each with the versions that follow it, in shared batches."""
    from exparity.engine.masking import MaskedTexts

    masked = MaskedTexts(batch.classifier, batch.rows, token_ids=batch.token_ids)
    versions = {}
    for leader in np.unique(batch.leaders).tolist():
        followers = np.flatnonzero(batch.leaders == leader)
        versions[leader] = np.array([leader, *followers[followers != leader]], dtype=np.int64)

    def answer(questions: dict[int, BoolArray]) -> list[FloatArray]:
        """Return the (v, m, c) probabilities of all versions of the texts that ask."""
        owners = []
        masks = []
        shapes = []
        for text, text_masks in questions.items():
            on_tokens = batch.units[text].on_tokens(
                laid_on(batch.text_masks[text], text_masks, elsewhere=True)
            )
            owners += np.repeat(versions[text], len(text_masks)).tolist()
            masks += list(on_tokens) * len(versions[text])
            shapes.append((len(versions[text]), len(text_masks), -1))
        probabilities = masked.probabilities(np.array(owners, dtype=np.int64), masks)
        parts = np.split(probabilities, np.cumsum([v * m for v, m, _ in shapes])[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    scores: dict[int, FloatArray] = {}
    searches = {text: _search(batch, items, max_evals) for text, items in versions.items()}
    replies: dict[int, Any] = dict.fromkeys(searches)
    while replies:
        questions = {}
        for text, reply in replies.items():
            try:
                questions[text] = searches[text].send(reply)
            except StopIteration as end:
                for item, values in zip(versions[text], end.value, strict=True):
                    laid = laid_on(batch.text_masks[text], values, elsewhere=0.0)
                    scores[int(item)] = batch.units[text].shared(laid)
        replies = dict(zip(questions, answer(questions), strict=True)) if questions else {}
    return scores


def _search(batch: MethodBatch, items: IntArray, max_evals: int) -> Search:
    """Return the search for the values of a text's own units, and of its versions."""
    text = int(items[0])
    inside = batch.text_masks[text]
    return owen_values(
        unit_hierarchy(batch, text),
        ~batch.content_masks[text][inside],
        batch.targets[items],
        max_evals,
        int(batch.generator(text).integers(2**32)),
    )
