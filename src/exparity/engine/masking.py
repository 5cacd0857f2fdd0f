"""Passes of a model over texts with some tokens absent, for LIME, SHAP and occlusion."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import chain

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

from exparity.engine.classifier import Classifier
from exparity.engine.shortcuts import FirstLayer
from exparity.types import BoolArray, FloatArray, IntArray


class MaskedTexts:
    """Texts as rows of embeddings; the row of an absent token may replace any of them.

    Masking works on rows and never on text or ids, so that it also serves moved embeddings, and the
    model sees exactly the rows that are asked for. Rows and their replacements are (t, h). If
    ``absent`` is None, the mask token replaces all rows, with the type of the token that it masks
    if ``token_ids`` tell the texts of a pair apart.
    """

    def __init__(
        self,
        classifier: Classifier,
        rows: Sequence[torch.Tensor],
        absent: Sequence[torch.Tensor] | None = None,
        *,
        token_ids: Sequence[IntArray] = (),
    ) -> None:
        self.classifier = classifier
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self._rows = pad_sequence(list(rows), batch_first=True)
        self._first: FirstLayer | None = None
        masked = [classifier.in_place_of(ids, classifier.mask_id) for ids in token_ids]
        if absent is None and any((ids != classifier.mask_id).any() for ids in masked):
            absent = [classifier.embed(ids) for ids in masked]
        if absent is not None:
            self._absent = pad_sequence(list(absent), batch_first=True)
        else:
            mask_row = classifier.embed([classifier.mask_id])[0]
            self._absent = mask_row.expand_as(self._rows)
            if classifier.shortcuts:
                with classifier.evaluating():
                    self._first = FirstLayer(classifier.model, self._rows, mask_row)

    def probabilities(self, owners: IntArray, masks: Sequence[BoolArray]) -> FloatArray:
        """Return the (m, c) class probabilities of masked texts; equal masks run once.

        ``owners`` are the (m,) texts of the (t,) masks, which are True for tokens that stay.
        """
        if not len(owners):
            return np.zeros((0, self.classifier.n_classes))
        width = self._rows.shape[1]
        kept = np.ones((len(owners), width), dtype=bool)
        for place, mask in enumerate(masks):
            kept[place, : len(mask)] = mask
        first, inverse = _distinct(owners, kept)
        texts = torch.as_tensor(owners[first], device=self.classifier.device)
        stays = torch.as_tensor(kept[first], device=self.classifier.device)

        def build(positions: list[int], wide: int) -> torch.Tensor:
            chosen = torch.as_tensor(positions, device=self.classifier.device)
            mask = stays[chosen, :wide]
            text = texts[chosen]
            if self._first is not None:
                self._first.show(text, mask)
                # What has fp32 beside it may run a text there, where nothing is looked up.
                if self._first.replaces_inputs and self.classifier.fp32_twin is None:
                    return self._rows[:1, :wide].expand(len(positions), -1, -1)
            return torch.where(mask[..., None], self._rows[text, :wide], self._absent[text, :wide])

        lengths = self.lengths[owners[first]].tolist()
        with self._first.in_use() if self._first is not None else nullcontext():
            return self.classifier.forward(lengths, build)[inverse]

    def target_probabilities(
        self, masks: Sequence[BoolArray], targets: IntArray
    ) -> list[FloatArray]:
        """Return the (m,) probabilities of each text's target for its (m, t) masks."""
        counts = [len(text_masks) for text_masks in masks]
        owners = np.repeat(np.arange(len(masks)), counts)
        probabilities = self.probabilities(owners, list(chain.from_iterable(masks)))
        values = probabilities[np.arange(len(owners)), targets[owners]]
        return np.split(values, np.cumsum(counts)[:-1])


def _distinct(owners: IntArray, kept: BoolArray) -> tuple[IntArray, IntArray]:
    """Return the first of all equal masks of a text, in order, and which of these each mask is."""
    packed = np.packbits(kept, axis=1)
    places: dict[tuple[int, bytes], int] = {}
    inverse = np.array(
        [
            places.setdefault((owner, row.tobytes()), len(places))
            for owner, row in zip(owners.tolist(), packed, strict=True)
        ]
    )
    return np.unique(inverse, return_index=True)[1], inverse


def kept_target_probabilities(
    classifier: Classifier,
    rows: Sequence[torch.Tensor],
    masks: Sequence[BoolArray],
    targets: IntArray,
) -> list[FloatArray]:
    """Return (m,) target probabilities of each text without tokens; the rest moves together.

    Rows of embeddings are removed, never ids: they may have been moved. Masks are (m, t), True for
    tokens that stay; one without any leaves the empty text. Equal masks run once.
    """
    nothing = classifier.embed(classifier.empty_ids)
    unique = [np.unique(text_masks, axis=0, return_inverse=True) for text_masks in masks]
    counts = [len(kept) for kept, _ in unique]
    owners = np.repeat(np.arange(len(rows)), counts)
    flat = [mask for kept, _ in unique for mask in kept]

    def build(positions: list[int], width: int) -> torch.Tensor:
        left = [rows[owners[i]][flat[i]] if flat[i].any() else nothing for i in positions]
        return pad_sequence(left, batch_first=True)

    lengths = [int(mask.sum()) or len(nothing) for mask in flat]
    probabilities = classifier.forward(lengths, build)
    chosen = probabilities[np.arange(len(owners)), targets[owners]]
    values = np.split(chosen, np.cumsum(counts)[:-1])
    return [distinct[inverse] for distinct, (_, inverse) in zip(values, unique, strict=True)]
