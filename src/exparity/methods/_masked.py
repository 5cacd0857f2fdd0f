"""Target probabilities of texts of which some tokens are absent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.interface import BoolArray, FloatArray
from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows

if TYPE_CHECKING:
    import torch


def masked_probabilities(
    batch: MethodBatch, masks: Sequence[BoolArray], absent: Literal["baseline", "removed"]
) -> list[FloatArray]:
    """Return target probabilities of masked texts; all of them share batches.

    Masks are of embeddings and never of ids, so that they serve embeddings that were moved. Equal
    masks of a text are computed once.

    Args:
        batch: the texts.
        masks: (m, t) True for tokens that stay, for each text.
        absent: the other tokens' embeddings are replaced by the ``baseline``'s, or ``removed``.

    Returns:
        (m,) float64 in [0, 1] for each text.
    """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    classifier = batch.classifier
    starts = baseline_rows(batch) if absent == "baseline" else []
    nothing = classifier.embed(classifier.empty_ids)
    unique = [np.unique(drawn, axis=0, return_inverse=True) for drawn in masks]
    counts = [len(kept) for kept, _ in unique]
    owners = np.repeat(np.arange(len(batch)), counts)
    flat = [mask for kept, _ in unique for mask in kept]

    def rows_of(position: int) -> torch.Tensor:
        rows = batch.rows[owners[position]]
        stays = torch.as_tensor(flat[position], device=rows.device)
        if absent == "baseline":
            return torch.where(stays[:, None], rows, starts[owners[position]])
        return rows[stays] if flat[position].any() else nothing

    def build(positions: list[int], width: int) -> torch.Tensor:
        return pad_sequence([rows_of(position) for position in positions], batch_first=True)

    kept_tokens = [len(mask) if absent == "baseline" else int(mask.sum()) for mask in flat]
    probabilities = classifier.forward([size or len(nothing) for size in kept_tokens], build)
    values = np.split(
        probabilities[np.arange(len(owners)), batch.targets[owners]], np.cumsum(counts)[:-1]
    )
    return [own[inverse] for own, (_, inverse) in zip(values, unique, strict=True)]
