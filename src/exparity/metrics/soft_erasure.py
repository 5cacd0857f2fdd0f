"""Soft comprehensiveness, soft sufficiency and the share that they retain: one core.

Follows Zhao and Aletras 2023 without normalising by the sufficiency of an empty text. A fixed share
follows the idea of Huang and Chan 2026.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np

from exparity.core.flags import Count, Range
from exparity.metrics import MetricBatch, metric
from exparity.types import BoolArray, Falls, FloatArray

if TYPE_CHECKING:
    import torch

RetainedShare = Annotated[float, Range(above=0, below=1)] | None

_WHOLE = -1  # the draw that keeps everything


def keep_probabilities(
    scores: FloatArray, content_mask: BoolArray, *, keep: bool, retained_share: float | None = None
) -> FloatArray:
    """Return the (u,) probability with which embedding elements of each unit stay.

    It is 1 for units without content, and all NaN where this is not defined.
    """
    size = np.abs(scores[content_mask])
    span = float(np.ptp(size))
    if not (np.isfinite(scores).all() and span > 0):
        return np.full(len(scores), np.nan)
    scaled = (size - size.min()) / span
    kept = scaled if keep else 1 - scaled
    result = np.ones(len(scores))
    result[content_mask] = kept if retained_share is None else with_mean(kept, retained_share)
    return result


def with_mean(kept: FloatArray, share: float) -> FloatArray:
    """Scale probabilities of keeping, or those of losing, so that their mean is ``share``."""
    mean = kept.mean()
    if share <= mean:
        return np.asarray(kept * (share / mean))
    return np.asarray(1 - (1 - kept) * ((1 - share) / (1 - mean)))


def mean_soft_drop(
    batch: MetricBatch, *, keep: bool, num_samples: int, retained_share: float | None
) -> FloatArray:
    """Mean fall in target probability, not below 0, when elements of embeddings are set to 0.

    Draws are made batch by batch, so that memory stays bounded. NaN where keep_probabilities is.
    """
    chances = [
        units.on_tokens(keep_probabilities(scores, mask, keep=keep, retained_share=retained_share))
        for scores, mask, units in zip(batch.scores, batch.content_masks, batch.units, strict=True)
    ]
    defined = np.array([i for i, q in enumerate(chances) if not np.isnan(q).any()], dtype=np.int64)
    owners = np.repeat(defined, num_samples + 1)
    draws = np.tile(np.arange(_WHOLE, num_samples), len(defined))

    def build(positions: list[int], width: int) -> torch.Tensor:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        texts = [int(owners[p]) for p in positions]
        rows = pad_sequence([batch.rows[text] for text in texts], batch_first=True)
        words = pad_sequence([batch.word_rows[text] for text in texts], batch_first=True)
        kept = np.ones(rows.shape, dtype=bool)
        for place, (owner, position) in enumerate(zip(texts, positions, strict=True)):
            draw = int(draws[position])
            if draw != _WHOLE:
                chance = chances[owner][:, None]
                drawn = batch.generator(owner, draw).random((len(chance), rows.shape[2]))
                kept[place, : len(chance)] = drawn < chance
        return words * torch.as_tensor(kept, device=rows.device) + (rows - words)

    answer = batch.classifier.outputs_of([len(chances[owner]) for owner in owners], build)
    probability, log_odds = answer.of_targets(batch.targets[owners])
    drops = _falls_of_draws(probability, num_samples)
    in_log_odds = _falls_of_draws(log_odds, num_samples)
    sizes = np.zeros(num_samples, dtype=np.int64)
    batch.falls.update(
        (int(index), Falls(sizes, *falls))
        for index, *falls in zip(defined, drops, in_log_odds, strict=True)
    )
    values = np.full(len(batch), np.nan)
    values[defined] = np.maximum(drops, 0.0).mean(1)
    return values


def _falls_of_draws(values: FloatArray, num_samples: int) -> FloatArray:
    """Return (m, s) falls from whole texts; each text comes before its s draws."""
    by_text = values.reshape(-1, num_samples + 1)
    return np.asarray(by_text[:, :1] - by_text[:, 1:])


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
    skill="draws",
    per="token",
)


@_soft_metric("soft_comprehensiveness", display="Soft comprehensiveness")
def soft_comprehensiveness(
    batch: MetricBatch, *, num_samples: Count = 10, retained_share: RetainedShare = None
) -> FloatArray:
    r"""Mean fall in target probability when high-scored tokens lose most of their embedding.

    :math:`\frac1S \sum_d \max(0, p_y(x) - p_y(x_d))`, where :math:`x_d` keeps each element of the
    embedding of token :math:`i` with probability :math:`1 - s_i`, and :math:`s_i` is its absolute
    attribution scaled to [0, 1] over the content tokens. Special tokens stay whole.

    Args:
        batch: the explanations.
        num_samples: S, draws per text.
        retained_share: mean probability of keeping an element of the content tokens, the same for
            all texts; by the scores if None.

    Returns:
        (n,) in [0, 1], higher is better; NaN where absolute attributions of the content tokens are
        all equal (so where there is one token), or one is not finite.
    """
    return mean_soft_drop(batch, keep=False, num_samples=num_samples, retained_share=retained_share)


@_soft_metric("soft_sufficiency", display="Soft sufficiency", better_falls="lower")
def soft_sufficiency(
    batch: MetricBatch, *, num_samples: Count = 10, retained_share: RetainedShare = None
) -> FloatArray:
    r"""Target probability that stays when low-scored tokens lose most of their embedding.

    :math:`1 - \frac1S \sum_d \max(0, p_y(x) - p_y(x_d))`, where :math:`x_d` keeps each element of
    the embedding of token :math:`i` with probability :math:`s_i`, and :math:`s_i` is its absolute
    attribution scaled to [0, 1] over the content tokens. Special tokens stay whole.

    Args:
        batch: the explanations.
        num_samples: S, draws per text.
        retained_share: mean probability of keeping an element of the content tokens, the same for
            all texts; by the scores if None.

    Returns:
        (n,) in [0, 1], higher is better; NaN where absolute attributions of the content tokens are
        all equal (so where there is one token), or one is not finite.
    """
    return 1 - mean_soft_drop(
        batch, keep=True, num_samples=num_samples, retained_share=retained_share
    )
