"""Trials of whether a model gives a text the same bits in any company, and what is said if not.

:mod:`~exparity.engine.kernels` takes care of linear layers alone. Products of all rows elsewhere
(XLNet, Funnel) go to the library as they are, and torch rounds the last numbers of a batch
otherwise in SiLU, sigmoid and tanh-GELU, unless a text's numbers fill its vectors. Nothing in a
model tells which of these it has, so that a few made-up texts are run together and alone.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import torch

from exparity.core.errors import ExparityError
from exparity.engine.batching import is_narrow
from exparity.engine.kernels import LinearLayers
from exparity.types import FloatArray

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

log = logging.getLogger(__name__)
Answers = Callable[[list[list[int]]], list[FloatArray]]
"""From token ids of texts to a model's numbers for each."""
_TEXTS = 6
_TOKENS = 21
"""Of each text: more than any filling up, and odd, so that units alone may fill a vector."""


def check_bits(name: str, layers: LinearLayers, answers: Answers, size: int, limit: int) -> None:
    """Log one line if texts may not have the same bits in any company.

    Args:
        name: of the model's class.
        layers: its linear layers.
        answers: returns numbers of the model for texts.
        size: of the vocabulary.
        limit: tokens that the model reads.
    """
    if layers.are_steady and _in_any_company(answers, size, limit):
        return
    log.warning(
        "on this processor, the last digits of results of a %s may depend on what shares a batch: "
        "bits are not promised to be the same in another order or after a restart",
        name,
    )


def _in_any_company(answers: Answers, size: int, limit: int) -> bool:
    """Return whether made-up texts get the same numbers together as alone."""
    width = min(_TOKENS, limit - 1 + limit % 2)
    generator = np.random.default_rng(0)
    texts: list[list[int]] = generator.integers(size, size=(_TEXTS, width)).tolist()
    together = answers(texts)
    alone = [answers([text])[0] for text in texts]
    return all(map(np.array_equal, together, alone))


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
