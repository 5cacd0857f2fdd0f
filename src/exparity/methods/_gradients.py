"""What gradient methods share: gradients at points on the way from a baseline to the input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.interface import FloatArray, IntArray

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Build
    from exparity.methods import MethodBatch

Pooling = Literal["l1", "times_input"]
PathPooling = Literal["l2", "sum", "times_input"]
_POOLINGS: tuple[Pooling, ...] = ("l1", "times_input")

ROUNDING_NOISE = "rounding_noise"
"""Flag of scores that are exactly zero in theory, so that only rounding errors are left.

A model that normalises each token's embedding (LayerNorm) does not see a constant added to all its
elements. The derivative in that direction, which is the sum over the embedding dimension, is zero.
"""


def pooled(gradient: torch.Tensor, rows: torch.Tensor, pooling: Pooling) -> FloatArray:
    """Turn the (t, h) gradient of the target logit into (t,) float64, one score per token.

    Args:
        gradient: the gradient.
        rows: embeddings that it was taken at.
        pooling: ``l1`` norm over the embedding dimension, or the sum of the gradient
            ``times_input``.
    """
    parts = gradient.double()
    parts = parts.abs() if pooling == "l1" else parts * rows.double()
    sums: FloatArray = parts.sum(-1).cpu().numpy()
    return sums


def attributed(
    batch: MethodBatch,
    score: Callable[[int, torch.Tensor], FloatArray],
    build: Build | None = None,
) -> list[FloatArray]:
    """Return what ``score`` makes of the (t, h) gradient of each text's target logit.

    Args:
        batch: the texts.
        score: receives a text and the gradient at its embeddings.
        build: makes batches of embeddings; see :meth:`Classifier.forward`.
    """
    from exparity.engine.classifier import padded

    scores = [np.zeros(0)] * len(batch)

    def consume(row: int, gradients: tuple[torch.Tensor, ...], _: FloatArray) -> None:
        scores[row] = score(row, gradients[0])

    batch.classifier.input_gradients(
        batch.lengths, build or padded(batch.rows), batch.targets, consume
    )
    return scores


def input_attributions(batch: MethodBatch, pooling: Pooling) -> list[FloatArray]:
    """Return (t,) scores of each text by the gradient at the input itself; see :func:`pooled`."""

    def both(row: int, gradient: torch.Tensor) -> FloatArray:
        inputs = batch.classifier.without_types(batch.rows[row], batch.token_ids[row])
        return np.stack([pooled(gradient, inputs, kind) for kind in _POOLINGS])

    if "gradient" not in batch.memo:
        batch.memo["gradient"] = attributed(batch, both)
    place = _POOLINGS.index(pooling)
    return [scores[place] for scores in batch.memo["gradient"]]


def baseline_ids(batch: MethodBatch, row: int) -> IntArray:
    """Return the baseline of a text: its special tokens stay, every other becomes padding."""
    ids, classifier = batch.token_ids[row], batch.classifier
    absent = classifier.in_place_of(ids, classifier.pad_id)
    return np.where(batch.special_masks[row], ids, absent)


def baseline_rows(batch: MethodBatch) -> list[torch.Tensor]:
    """Return the (t, h) embeddings of each text's baseline."""
    return [batch.classifier.embed(baseline_ids(batch, row)) for row in range(len(batch))]


def path_attributions(batch: MethodBatch, pooling: PathPooling, n_steps: int) -> list[FloatArray]:
    """Return (t,) scores of each text by the mean gradient on the line from its baseline.

    Args:
        batch: the texts.
        pooling: ``l2`` norm or ``sum`` of the mean gradient over the embedding dimension, or its
            sum ``times_input`` difference.
        n_steps: nodes of the Gauss–Legendre rule.
    """
    key = ("path", n_steps)
    if key not in batch.memo:
        batch.memo[key] = _path_sums(batch, n_steps)
    pooled_sums = batch.memo[key]
    if pooling == "sum" and pooled_sums["noise"]:
        batch.flags.add(ROUNDING_NOISE)
    scores: list[FloatArray] = pooled_sums[pooling]
    return scores


def _path_sums(batch: MethodBatch, n_steps: int) -> dict[str, Any]:
    """Return all poolings of the path's mean gradient, and whether the plain sum is noise.

    Steps of all texts share batches; a text's gradients are summed as they come.
    """
    import torch

    nodes, weights = np.polynomial.legendre.leggauss(n_steps)
    nodes, weights = (nodes + 1) / 2, weights / 2  # on [0, 1]
    ends, starts = batch.rows, baseline_rows(batch)
    sums = [torch.zeros_like(end, dtype=torch.float64) for end in ends]

    def consume(row: int, step: int, gradient: torch.Tensor) -> None:
        sums[row].add_(gradient.double(), alpha=float(weights[step]))

    gradients_between(batch, lambda row, _: starts[row], [nodes] * len(batch), consume)
    pooled_sums: dict[str, Any] = {"l2": [], "sum": [], "times_input": []}
    ratios = []
    for mean, start, end in zip(sums, starts, ends, strict=True):
        plain = mean.sum(-1)
        pooled_sums["l2"].append(mean.norm(dim=-1).cpu().numpy())
        pooled_sums["sum"].append(plain.cpu().numpy())
        pooled_sums["times_input"].append((mean * (end - start).double()).sum(-1).cpu().numpy())
        size = float(mean.abs().sum(-1).max())
        ratios.append(float(plain.abs().max()) / size if size else 0.0)
    # Below this share of its parts' size a sum is left over from rounding.
    noise_level = min(100 * torch.finfo(ends[0].dtype).eps, 0.05)
    pooled_sums["noise"] = max(ratios) < noise_level
    return pooled_sums


def gradients_between(
    batch: MethodBatch,
    start_of: Callable[[int, IntArray], torch.Tensor],
    places: Sequence[FloatArray],
    consume: Callable[[int, int, torch.Tensor], None],
) -> None:
    """Differentiate the target logit at points between baselines and texts.

    Args:
        batch: the texts.
        start_of: given a text and (k,) of its points, returns their baselines: (k, t, h), or
            (t, h) if they have the same.
        places: (p,) where each text's points lie, from 0 (the baseline) to 1 (the text).
        consume: receives a text, one of its points and the (t, h) gradient there. Points of a text
            come one after the other, so that a sum does not depend on where batches end.
    """
    import torch

    ends = batch.rows
    counts = [len(own) for own in places]
    owners = np.repeat(np.arange(len(batch)), counts)
    steps = np.concatenate([np.arange(count) for count in counts])

    def build(positions: list[int], width: int) -> torch.Tensor:
        points = ends[0].new_zeros(len(positions), width, ends[0].shape[1])
        for row, side_by_side in _runs(owners[positions]):
            own = steps[positions][side_by_side]
            start, end = start_of(row, own), ends[row]
            alpha = torch.as_tensor(places[row][own], dtype=end.dtype)
            alpha = alpha.to(end.device)[:, None, None]
            points[side_by_side, : len(end)] = start + alpha * (end - start)
        return points

    def visit(position: int, gradients: tuple[torch.Tensor, ...], _: FloatArray) -> None:
        consume(int(owners[position]), int(steps[position]), gradients[0])

    lengths = [len(ends[row]) for row in owners]
    batch.classifier.input_gradients(lengths, build, batch.targets[owners], visit)


def _runs(owners: IntArray) -> list[tuple[int, slice]]:
    """Return each owner of a batch with the places it holds, which lie side by side."""
    edges = np.flatnonzero(np.diff(owners)) + 1
    bounds = [0, *edges.tolist(), len(owners)]
    return [(int(owners[first]), slice(first, last)) for first, last in pairwise(bounds)]
