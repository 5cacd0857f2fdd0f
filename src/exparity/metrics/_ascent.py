"""Projected gradient ascent in embedding space (Madry et al. 2018)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import torch

    from exparity.engine.batching import Build
    from exparity.metrics import MetricBatch

Climb = Callable[["torch.Tensor", "torch.Tensor", float, float], "torch.Tensor"]
"""Takes a step of some size from a (t, h) offset along a gradient, back to a ball of a radius."""


def by_length(
    offset: torch.Tensor, gradient: torch.Tensor, step: float, radius: float
) -> torch.Tensor:
    """Take a step in the Euclidean norm."""
    # By the peak first: squares of tiny gradients leave the range of float32. Numbers stay on their
    # device, since every one that is read waits for a GPU.
    peak = gradient.abs().max()
    scaled = gradient / peak
    moved = offset + scaled * (step / scaled.norm().double()).float()
    offset = moved.where(peak > 0, offset)
    length = offset.norm().double()
    return offset.where(length <= radius, offset * (radius / length).float())


def by_sign(
    offset: torch.Tensor, gradient: torch.Tensor, step: float, radius: float
) -> torch.Tensor:
    """Take a step of each element in the direction of its gradient."""
    return (offset + step * gradient.sign()).clamp(-radius, radius)


class Ascent:
    """Ascents of the prediction loss from copies of texts, by ``owners``, side by side.

    Rows under the (t,) masks ``free`` move by ``climb`` within ``radii``, a step of 2.5 / ``steps``
    radii at a time.
    """

    def __init__(
        self,
        batch: MetricBatch,
        owners: IntArray,
        free: Sequence[BoolArray],
        climb: Climb,
        radii: Sequence[float],
        steps: int,
    ) -> None:
        import torch

        self.batch = batch
        self.owners = owners
        self._climb = climb
        self.radii = radii
        self.step_size = 2.5 / steps
        device = batch.classifier.device
        self.free = [torch.tensor(mask, device=device)[:, None] for mask in free]
        self.offsets = [
            torch.zeros_like(batch.rows[owner], dtype=torch.float32) for owner in owners
        ]

    def copy(self, item: int) -> torch.Tensor:
        """Return the (t, h) embeddings that an ascent has reached."""
        rows = self.batch.rows[self.owners[item]]
        moved: torch.Tensor = (rows.float() + self.offsets[item]).to(rows.dtype)
        return moved

    def climb(self, item: int, gradient: torch.Tensor) -> None:
        """Take one step of an ascent along the loss's (t, h) gradient."""
        radius = self.radii[item]
        self.offsets[item] = self._climb(
            self.offsets[item],
            (gradient * self.free[item]).float(),
            self.step_size * radius,
            radius,
        )

    def step(self, targets: IntArray, items: IntArray | None = None) -> FloatArray:
        """Take one step of some ascents, all if None; return the (k, c) logits before it."""
        from exparity.engine.objectives import prediction_loss

        chosen = np.arange(len(self.owners)) if items is None else items
        lengths, build = self._work(chosen)
        all_logits = np.empty((len(chosen), self.batch.classifier.n_classes))
        for place, gradient, logits in self.batch.classifier.input_gradients(
            lengths, build, targets, prediction_loss
        ):
            all_logits[place] = logits
            self.climb(int(chosen[place]), gradient)
        return all_logits

    def probabilities(self, items: IntArray) -> FloatArray:
        """Return (k, c) class probabilities at the points of some ascents."""
        return self.batch.classifier.forward(*self._work(items))

    def _work(self, items: IntArray) -> tuple[list[int], Build]:
        """Return lengths of copies, and the function that builds batches of them."""
        from torch.nn.utils.rnn import pad_sequence

        def build(positions: list[int], _: int) -> torch.Tensor:
            return pad_sequence([self.copy(int(items[p])) for p in positions], batch_first=True)

        return [len(self.offsets[item]) for item in items], build
