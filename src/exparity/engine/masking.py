"""Texts with tokens masked out: what LIME and SHAP ask the model about."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

import numpy as np

from exparity.engine.shortcuts import FirstLayer
from exparity.interface import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier


class MaskedTexts:
    """Texts as rows of embeddings, any of which may be replaced by the mask token's.

    Masking works on rows and never on text or ids, so that it serves embeddings that were moved
    as well, and what the model sees is exactly what was asked for.

    Args:
        classifier: the model.
        rows: (t, h) embeddings of each text.
    """

    def __init__(self, classifier: Classifier, rows: Sequence[torch.Tensor]) -> None:
        from torch.nn.utils.rnn import pad_sequence

        self.classifier = classifier
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self._rows = pad_sequence(list(rows), batch_first=True)
        self._absent = classifier.embed([classifier.mask_id])[0]
        self._first: FirstLayer | None = None
        if classifier.shortcuts:
            self._first = FirstLayer(classifier.model, self._rows, self._absent)

    def probabilities(self, owners: IntArray, masks: Sequence[BoolArray]) -> FloatArray:
        """Return class probabilities of masked texts; equal masks of a text are computed once.

        Args:
            owners: (m,) index of the text that each mask belongs to.
            masks: (t,) True for tokens that stay, one per owner.

        Returns:
            (m, c) float64, rows sum to 1.
        """
        import torch

        if not len(owners):
            return np.zeros((0, self.classifier.n_classes))
        width = self._rows.shape[1]
        kept = np.ones((len(owners), width), dtype=bool)
        for place, mask in enumerate(masks):
            kept[place, : len(mask)] = mask
        packed = np.packbits(kept, axis=1)
        keys = np.concatenate([owners.astype(">i8").view("u1").reshape(-1, 8), packed], axis=1)
        _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        texts = torch.as_tensor(owners[first], device=self.classifier.device)
        stays = torch.as_tensor(kept[first], device=self.classifier.device)

        def build(positions: list[int], wide: int) -> torch.Tensor:
            chosen = torch.as_tensor(positions, device=self.classifier.device)
            mask = stays[chosen, :wide]
            if self._first is not None:
                self._first.show(texts[chosen], mask)
            return torch.where(mask[..., None], self._rows[texts[chosen], :wide], self._absent)

        lengths = self.lengths[owners[first]].tolist()
        with self._first.in_use() if self._first is not None else nullcontext():
            return self.classifier.forward(lengths, build)[inverse.reshape(-1)]
