"""Uniform random scores: a null model of explanations."""

from __future__ import annotations

from typing import Literal

import numpy as np

from exparity.methods import MethodBatch, method
from exparity.methods._words import spread_over_tokens
from exparity.types import FloatArray


@method(
    "uniform_random",
    signed=False,
    needs_gradient=False,
    target="none",
    baseline=None,
    stochastic=True,
    reference="Wilming et al. 2024, arXiv:2406.11547, section 2.2",
    display="Uniform random",
)
def uniform_random(
    batch: MethodBatch, *, per: Literal["word", "token"] = "word"
) -> list[FloatArray]:
    """Scores drawn uniformly from 0 to 1, whatever the model and the target.

    Args:
        batch: the texts.
        per: draw one number per ``word``, which its tokens share evenly, so that every word has the
            same share on average; or one per ``token``.

    Returns:
        (t,) scores for each text, in [0, 1).
    """
    scores = []
    for row, encoding in enumerate(batch.encodings):
        drawn = batch.generator(row).random(len(encoding))
        if per == "word":
            content = encoding.word_ids >= 0
            words, first = np.unique(encoding.word_ids[content], return_index=True)
            by_word = dict(zip(words.tolist(), drawn[content][first].tolist(), strict=True))
            drawn = np.where(content, spread_over_tokens(encoding, by_word), drawn)
        scores.append(drawn)
    return scores
