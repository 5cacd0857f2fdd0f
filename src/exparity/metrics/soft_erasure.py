"""Soft comprehensiveness and soft sufficiency: one core, keeping or removing.

Follows Zhao and Aletras 2023 without normalising by the sufficiency of an empty text.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from exparity.interface import BoolArray, Count, FloatArray
from exparity.metrics import MetricBatch, metric

if TYPE_CHECKING:
    import torch

_WHOLE = -1  # the draw that keeps everything


def keep_probabilities(scores: FloatArray, content_mask: BoolArray, keep: bool) -> FloatArray:
    """Return the probability with which each embedding element of a token stays.

    Args:
        scores: (t,) attributions.
        content_mask: (t,) True for tokens that may lose elements.
        keep: keep elements in proportion to the token's score instead of removing them.

    Returns:
        (t,) in [0, 1]: absolute scores scaled to it from their smallest to their largest, or 1
        minus that; 1 for tokens without content; all NaN where this is not defined.
    """
    size = np.abs(scores[content_mask])
    span = float(np.ptp(size))
    if not (np.isfinite(scores).all() and span > 0):
        return np.full(len(scores), np.nan)
    scaled = (size - size.min()) / span
    result = np.ones(len(scores))
    result[content_mask] = scaled if keep else 1 - scaled
    return result


def mean_soft_drop(batch: MetricBatch, *, keep: bool, num_samples: int) -> FloatArray:
    """Mean fall in target probability, not below 0, when elements of embeddings are set to 0.

    Draws are made batch by batch, each from a generator of its own, so that memory stays bounded
    and batches do not matter. NaN where :func:`keep_probabilities` is.
    """
    chances = [
        keep_probabilities(scores, mask, keep)
        for scores, mask in zip(batch.scores, batch.content_masks, strict=True)
    ]
    defined = np.array([i for i, q in enumerate(chances) if not np.isnan(q).any()], dtype=np.int64)
    owners = np.repeat(defined, num_samples + 1)
    draws = np.tile(np.arange(_WHOLE, num_samples), len(defined))

    def build(positions: list[int], width: int) -> torch.Tensor:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        rows = pad_sequence([batch.rows[owners[p]] for p in positions], batch_first=True)
        kept = np.ones(rows.shape, dtype=bool)
        for place, position in enumerate(positions):
            owner, draw = int(owners[position]), int(draws[position])
            if draw != _WHOLE:
                chance = chances[owner][:, None]
                drawn = batch.generator(owner, draw).random((len(chance), rows.shape[2]))
                kept[place, : len(chance)] = drawn < chance
        return rows * torch.as_tensor(kept, device=rows.device)

    probabilities = batch.classifier.forward([len(chances[owner]) for owner in owners], build)
    target = probabilities[np.arange(len(owners)), batch.targets[owners]].reshape(
        -1, num_samples + 1
    )
    drops = np.maximum(target[:, :1] - target[:, 1:], 0.0)  # (defined, s)
    values = np.full(len(batch), np.nan)
    values[defined] = drops.mean(1)
    return values


_soft_metric = partial(
    metric,
    direction="higher",
    bounds=(0.0, 1.0),
    unit="probability",
    kind="faithfulness",
    needs="probabilities",
    stochastic=True,
    reference="Zhao and Aletras 2023, arXiv:2305.10496",
    passes=10,
)


@_soft_metric("soft_comprehensiveness", display="Soft comprehensiveness")
def soft_comprehensiveness(batch: MetricBatch, *, num_samples: Count = 10) -> FloatArray:
    r"""Mean fall in target probability when high-scored tokens lose most of their embedding.

    :math:`\frac1S \sum_d \max(0, p_y(x) - p_y(x_d))`, where :math:`x_d` keeps each element of the
    embedding of token :math:`i` with probability :math:`1 - s_i`, and :math:`s_i` is its absolute
    attribution scaled to [0, 1] over the content tokens. Special tokens stay whole.

    Args:
        batch: the explanations.
        num_samples: S, draws per text.

    Returns:
        (n,) in [0, 1], higher is better; NaN where absolute attributions of the content tokens are
        all equal (so where there is one token), or one is not finite.
    """
    return mean_soft_drop(batch, keep=False, num_samples=num_samples)


@_soft_metric("soft_sufficiency", display="Soft sufficiency")
def soft_sufficiency(batch: MetricBatch, *, num_samples: Count = 10) -> FloatArray:
    r"""How well the target's probability holds when low-scored tokens lose most of their embedding.

    :math:`1 - \frac1S \sum_d \max(0, p_y(x) - p_y(x_d))`, where :math:`x_d` keeps each element of
    the embedding of token :math:`i` with probability :math:`s_i`, and :math:`s_i` is its absolute
    attribution scaled to [0, 1] over the content tokens. Special tokens stay whole.

    Args:
        batch: the explanations.
        num_samples: S, draws per text.

    Returns:
        (n,) in [0, 1], higher is better; NaN where absolute attributions of the content tokens are
        all equal (so where there is one token), or one is not finite.
    """
    return 1 - mean_soft_drop(batch, keep=True, num_samples=num_samples)
