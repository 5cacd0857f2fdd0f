"""Trials of whether a model gives a text the same bits in any company, and what is said if not.

:mod:`~exparity.engine.kernels` takes care of linear layers alone. Products of all rows elsewhere
(XLNet, Funnel) go to the library as they are, and torch rounds the last numbers of a batch
otherwise in SiLU, sigmoid and tanh-GELU, unless a text's numbers fill its vectors. Nothing in a
model tells which of these it has, so that a few made-up texts are run together and alone, and
modules that compute number by number once more, token by token: most last digits of theirs move no
number of a made-up text, and may move one of another text.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from exparity.core.errors import ExparityError
from exparity.engine.batching import is_narrow
from exparity.engine.kernels import LinearLayers
from exparity.types import FloatArray

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)
Call = tuple[nn.Module, torch.Tensor, torch.Tensor]
"""A module that was called, its input and its output."""
Answers = Callable[[list[list[int]]], list[FloatArray]]
"""From token ids of texts to a model's numbers for each."""
_TEXTS = 6
_ROWS = 128
"""Tokens of each call that are put into a module once more."""
_TOKENS = 21
"""Of each text: more than any filling up, and odd, so that units alone may fill a vector."""


def keeps_bits(
    model: nn.Module, layers: LinearLayers, answers: Answers, size: int, limit: int
) -> bool:
    """Return whether texts have the same bits in any company.

    Args:
        model: the model.
        layers: its linear layers.
        answers: returns numbers of the model for texts.
        size: of the vocabulary.
        limit: tokens that the model reads.
    """
    return layers.are_steady and _in_any_company(model, answers, size, limit)


def warn_of_bits(model: nn.Module) -> None:
    """Log one line of a model that may not keep bits."""
    log.warning(
        "on this processor, the last digits of results of a %s may depend on what shares a batch: "
        "bits are not promised to be the same in another order or after a restart",
        type(model).__name__,
    )


def _in_any_company(model: nn.Module, answers: Answers, size: int, limit: int) -> bool:
    """Return whether made-up texts get the same numbers together as alone."""
    width = min(_TOKENS, limit - 1 + limit % 2)
    generator = np.random.default_rng(0)
    texts: list[list[int]] = generator.integers(size, size=(_TEXTS, width)).tolist()
    with _calls_of_activations(model) as calls:
        together = answers(texts)
    if not all(_is_steady_by_token(*call) for call in calls):
        return False
    alone = [answers([text])[0] for text in texts]
    return all(map(np.array_equal, together, alone))


@contextmanager
def _calls_of_activations(model: nn.Module) -> Iterator[list[Call]]:
    """Keep what modules without weights or parts get and return, where these have one shape."""
    calls: list[Call] = []

    def keep(module: nn.Module, arguments: tuple[object, ...], output: object) -> None:
        # A gradient begins with the same forward pass, whose calls need no second trial.
        if len(arguments) != 1 or torch.is_grad_enabled():
            return
        (inputs,) = arguments
        if not (isinstance(inputs, torch.Tensor) and isinstance(output, torch.Tensor)):
            return
        # What returns its input computes nothing, or has replaced it.
        if inputs is not output and inputs.shape == output.shape and inputs.ndim > 1:
            calls.append((module, inputs.detach(), output.detach()))

    handles = [
        module.register_forward_hook(keep)
        for module in model.modules()
        if not isinstance(module, nn.Dropout | nn.Softmax)
        and not [*module.children(), *module.parameters(), *module.buffers()]
    ]
    try:
        yield calls
    finally:
        for handle in handles:
            handle.remove()


@torch.no_grad()
def _is_steady_by_token(module: nn.Module, inputs: torch.Tensor, output: torch.Tensor) -> bool:
    """Return whether a module gives single tokens the numbers that it has given them together."""
    rows = inputs.reshape(-1, *[1] * (inputs.ndim - 2), inputs.shape[-1])[:_ROWS]
    alone = torch.cat([module(rows[place : place + 1]) for place in range(len(rows))])
    return torch.equal(alone.flatten(), output.flatten()[: alone.numel()])


def numbers_of(classifier: Classifier) -> Answers:
    """Return a function of token ids: logits, and gradients where they cost next to nothing.

    What moves a gradient alone is found in narrow models, which have few layers to move a logit.
    """
    with_gradients = is_narrow(classifier.model)

    def answers(texts: list[list[int]]) -> list[FloatArray]:
        rows = [classifier.embed(ids) for ids in texts]
        lengths = [len(ids) for ids in texts]

        def build(batch: list[int], _: int) -> torch.Tensor:
            return torch.stack([rows[i] for i in batch])

        numbers = [np.empty(0)] * len(texts)
        # A model may have no gradients, and none of these texts says anything of others.
        with suppress(ExparityError):
            numbers = list(classifier.outputs_of(lengths, build).logits)
            if with_gradients:
                targets = np.zeros(len(texts), dtype=int)
                for place, gradient, _ in classifier.input_gradients(lengths, build, targets):
                    numbers[place] = np.append(numbers[place], gradient.float().cpu().numpy())
        return numbers

    return answers
