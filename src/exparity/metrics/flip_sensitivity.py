"""Flip sensitivity (Yin et al. 2022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.core.flags import Count, Positive
from exparity.metrics import MetricBatch, metric
from exparity.metrics._arrays import descending
from exparity.metrics._ascent import Ascent, by_sign
from exparity.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    import torch


@metric(
    "flip_sensitivity",
    direction="lower",
    bounds=(0.0, float("inf")),
    unit="embedding",
    kind="robustness",
    needs="probabilities",
    stochastic=False,
    reference="Yin et al. 2022, arXiv:2104.08782",
    display="Flip sensitivity",
    passes=200,
    skill="ratio",
    needs_gradient=True,
)
def flip_sensitivity(
    batch: MetricBatch,
    *,
    max_tokens: Count = 5,
    max_radius: Positive = 1.0,
    steps: Count = 5,
    bisections: Count = 10,
    never_flipped: Literal["max_radius", "zero"] = "max_radius",
) -> FloatArray:
    r"""Smallest move of the highest-scored tokens' embeddings that flips the predicted class.

    :math:`\frac{1}{K-1} \sum_{k=1}^{K-1} \frac{\varepsilon_k + \varepsilon_{k+1}}{2}`, and
    :math:`\varepsilon_1` if K = 1: the mean height of the curve over k = 1…K, where
    :math:`\varepsilon_k` is the smallest radius, found by bisection, at which a projected gradient
    ascent with sign steps of 2.5 ε / steps changes the predicted class. It starts at the text,
    climbs the loss of the class predicted there, and moves each embedding element of the k content
    tokens of highest absolute attribution by at most ε; of equal ones the later token comes first.

    The option ``never_flipped`` sets ε where the class does not change at ``max_radius``. The note
    ``censored`` counts these searches, and ``searched`` all of them. An element whose gradient is
    zero does not move; if all are zero, the search is censored.

    Args:
        batch: the explanations.
        max_tokens: K, at most the number of content tokens.
        max_radius: largest ε, absolute.
        steps: of each ascent; the class is compared after each of them.
        bisections: halvings of the interval that ε lies in, after the test of ``max_radius``;
            the error is at most ``max_radius`` / 2^``bisections``.
        never_flipped: ε of a class that does not change: ``max_radius``, the bound that was
            reached, or ``zero``, which ranks it with the tokens that flip at once.

    Returns:
        (n,) in (0, ``max_radius``], from 0 on with ``never_flipped: zero``, in units of the
        embedding's elements, lower is better; NaN where an attribution is not finite.
    """
    owners, free = _searches(batch, max_tokens)
    predicted, first = _first_steps(batch, owners)

    def flips(items: IntArray, radii: FloatArray) -> BoolArray:
        """Return (k,) whether the class flips at any iterate of each ascent."""
        texts = owners[items]
        masks = [free[item] for item in items]
        ascent = Ascent(batch, texts, masks, by_sign, radii.tolist(), steps)
        for place, text in enumerate(texts):
            ascent.climb(place, first[text])
        flipped = np.zeros(len(items), dtype=bool)
        active = np.arange(len(items))
        for step in range(1, steps + 1):
            classes = predicted[texts[active]]
            is_last = step == steps
            outputs = ascent.probabilities(active) if is_last else ascent.step(classes, active)
            flipped[active] = outputs.argmax(-1) != classes
            active = active[~flipped[active]]
        return flipped

    low = np.zeros(len(owners))
    high = np.full(len(owners), float(max_radius))
    flipped_at_most = flips(np.arange(len(owners)), high)
    left = np.flatnonzero(flipped_at_most)
    for _ in range(bisections):
        middle = (low[left] + high[left]) / 2
        flipped = flips(left, middle)
        high[left[flipped]] = middle[flipped]
        low[left[~flipped]] = middle[~flipped]
    batch.notes["searched"] += len(owners)
    batch.notes["censored"] += int((~flipped_at_most).sum())
    if never_flipped == "zero":
        high = np.where(flipped_at_most, high, 0.0)
    values = np.full(len(batch), np.nan)
    for owner in np.unique(owners):
        curve = high[owners == owner]  # (k,)
        area = ((curve[1:] + curve[:-1]) / 2).sum()
        values[owner] = area / (len(curve) - 1) if len(curve) > 1 else curve[0]
    return values


def _searches(batch: MetricBatch, max_tokens: int) -> tuple[IntArray, list[BoolArray]]:
    """Return the text of each search and the (t,) tokens that may move in it, for k = 1 to K."""
    owners: list[int] = []
    free: list[BoolArray] = []
    for index, (scores, mask) in enumerate(zip(batch.scores, batch.content_masks, strict=True)):
        if not np.isfinite(scores).all():
            continue
        ranked = descending(np.abs(scores), mask)
        for size in range(1, min(max_tokens, len(ranked)) + 1):
            may_move = np.zeros(len(scores), dtype=bool)
            may_move[ranked[:size]] = True
            owners.append(index)
            free.append(may_move)
    return np.array(owners, dtype=np.int64), free


def _first_steps(batch: MetricBatch, owners: IntArray) -> tuple[IntArray, dict[int, torch.Tensor]]:
    """Return the class predicted for each text, and the gradient of its loss there.

    Every ascent starts at its text, so that one gradient serves all of a text's.
    """
    from exparity.engine.batching import padded
    from exparity.engine.objectives import prediction_loss

    def loss_of_predicted(logits: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return prediction_loss(logits, logits.argmax(-1))

    texts = np.unique(owners)
    rows = [batch.rows[text] for text in texts]
    predicted = np.zeros(len(batch), dtype=np.int64)
    gradients: dict[int, torch.Tensor] = {}
    for place, gradient, logits in batch.classifier.input_gradients(
        [len(row) for row in rows], padded(rows), np.zeros_like(texts), loss_of_predicted
    ):
        predicted[texts[place]] = logits.argmax()
        gradients[int(texts[place])] = gradient
    return predicted, gradients
