"""Attention rollout (Abnar and Zuidema 2020)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from exparity.core.errors import InputError
from exparity.methods import MethodBatch, method
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch


@method(
    "attention_rollout",
    signed=False,
    needs_gradient=False,
    target="attention",
    baseline=None,
    stochastic=False,
    reference="Abnar and Zuidema 2020, arXiv:2005.00928",
    display="Attention rollout",
)
def attention_rollout(batch: MethodBatch) -> list[FloatArray]:
    r"""Share of each input token in the pooled position, by attention weights alone.

    :math:`s = p^\top A_L A_{L-1} \cdots A_1` with :math:`A_l = \frac12 (\bar W_l + I)`, where
    :math:`\bar W_l` are the weights of layer l, averaged over its heads, and :math:`p` is the
    position whose last hidden state the classification head reads, or the mean of those that it
    reads. No class enters: every target has the same scores.

    Args:
        batch: the texts.

    Returns:
        (t,) scores for each text, not negative; they sum to 1.

    Raises:
        InputError: the model attends where calls of torch cannot be seen, or not at all.
    """
    from exparity.engine.classifier import padded
    from exparity.methods._attention import Rollout
    from exparity.methods._relevance import check_attention

    classifier, rows = batch.classifier, padded(batch.rows)
    check_attention(classifier.model, "attention_rollout")
    pooled = _pooled(batch)
    scores = [np.zeros(0)] * len(batch)
    rollout, running = Rollout(), list[int]()

    def finish() -> None:
        # Of a tiny batch, which the engine fills up, there are more.
        for index, product in zip(running, rollout.products, strict=False):
            length = batch.lengths[index]
            scores[index] = product[:length, :length][pooled(length)].mean(0).cpu().numpy()

    def build(positions: list[int], width: int) -> torch.Tensor:
        finish()
        rollout.products, running[:] = [], positions
        return rows(positions, width)

    shortcuts, classifier.shortcuts = classifier.shortcuts, False  # they leave positions out
    try:
        with rollout:
            classifier.forward(batch.lengths, build)
    finally:
        classifier.shortcuts = shortcuts
    finish()
    if any(not len(own) for own in scores):
        raise InputError("method attention_rollout: the model has no attention between its tokens")
    return scores


def _pooled(batch: MethodBatch) -> Callable[[int], slice]:
    """Return which positions the head reads of a text of some length: first, last, or all."""
    from exparity.engine.classifier import padded

    model, longest = batch.classifier.model, int(np.argmax(batch.lengths))
    read: list[FloatArray] = []

    def watch(module: torch.nn.Module, inputs: object, output: Any) -> None:
        output.last_hidden_state.register_hook(
            lambda gradient: read.append(gradient[0].abs().sum(-1).tolist())
        )

    handle = model.base_model.register_forward_hook(watch)
    try:
        list(
            batch.classifier.input_gradients(
                [batch.lengths[longest]],
                padded([batch.rows[longest]]),
                batch.targets[[longest]],
            )
        )
    finally:
        handle.remove()
    places = np.flatnonzero(read[0]).tolist()
    if places == [0]:
        return lambda length: slice(0, 1)
    if places == [batch.lengths[longest] - 1]:
        return lambda length: slice(length - 1, length)
    return lambda length: slice(0, length)
