"""Occlusion (Zeiler and Fergus 2014): leave one token or word out."""

from __future__ import annotations

from typing import Literal

import numpy as np

from exparity.methods import MethodBatch, method
from exparity.methods._words import spread_over_tokens
from exparity.types import BoolArray, Encoding, FloatArray


@method(
    "occlusion",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline="removed, or the mask token",
    stochastic=False,
    reference="Zeiler and Fergus 2014, arXiv:1311.2901; Li et al. 2016, arXiv:1612.08220",
    display="Occlusion",
    passes=20,
)
def occlusion(
    batch: MethodBatch,
    *,
    per: Literal["token", "word"] = "token",
    absent: Literal["removed", "masked"] = "removed",
) -> list[FloatArray]:
    r"""Fall in the target's probability when one token or word is left out.

    :math:`s_i = p_y(x) - p_y(x \setminus x_i)`: one model pass for each content token or word.

    Args:
        batch: the texts.
        per: leave out one ``token`` at a time; or one ``word``, which shares its fall evenly among
            its tokens.
        absent: what is left out is ``removed``, so that the rest moves together; or ``masked``, its
            embeddings replaced by the mask token's.

    Returns:
        (t,) signed scores for each text, in probability; special tokens score 0.
    """
    from exparity.engine.masking import MaskedTexts, kept_target_probabilities

    units = [_units(encoding, per) for encoding in batch.encodings]
    masks = [np.vstack([np.ones(own.shape[1], dtype=bool), ~own]) for own in units]
    if absent == "masked":
        masked = MaskedTexts(batch.classifier, batch.rows, token_ids=batch.token_ids)
        values = masked.target_probabilities(masks, batch.targets)
    else:
        values = kept_target_probabilities(batch.classifier, batch.rows, masks, batch.targets)
    scores = []
    for encoding, own, left in zip(batch.encodings, units, values, strict=True):
        falls = left[0] - left[1:]
        if per == "word":
            words = encoding.word_ids[own.argmax(axis=1)] if len(own) else ()
            scores.append(
                spread_over_tokens(encoding, dict(zip(map(int, words), falls, strict=True)))
            )
        else:
            scores.append(falls @ own)
    return scores


def _units(encoding: Encoding, per: Literal["token", "word"]) -> BoolArray:
    """Return (u, t) True for the tokens of each content token or word."""
    content = ~encoding.special_mask
    if per == "token":
        return np.eye(len(encoding), dtype=bool)[content]
    words = np.unique(encoding.word_ids[content & (encoding.word_ids >= 0)])
    units: BoolArray = (encoding.word_ids == words[:, None]) & content
    return units
