"""Any attribution algorithm of the captum library (Kokhlikyan et al. 2020), by its class name."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exparity.core.errors import InputError, reason_of
from exparity.core.seeding import seeded
from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows, path_method
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch

Algorithm = Literal[
    "FeatureAblation",
    "GradientShap",
    "InputXGradient",
    "IntegratedGradients",
    "KernelShap",
    "Lime",
    "Occlusion",
    "Saliency",
    "ShapleyValueSampling",
    "ShapleyValues",
]


@path_method(
    "captum",
    stochastic=True,
    reference="Kokhlikyan et al. 2020, arXiv:2009.07896",
    display="captum",
    passes=100,
)
def captum(
    batch: MethodBatch,
    *,
    algorithm: Algorithm = "IntegratedGradients",
    options: Mapping[str, Any] = {},
) -> list[FloatArray]:
    """Scores by an attribution class of captum on the embeddings of one text after the other.

    Those that leave features out take each token as one feature. Of the gradient that ``Saliency``
    gives the L1 norm is taken over the embedding, and what the others give is summed. Where captum
    wants a baseline, it is that of ``integrated_gradients`` unless ``options`` say otherwise.

    Args:
        batch: the texts.
        algorithm: class of ``captum.attr``.
        options: of the class or of its ``attribute``, such as ``n_steps``,
            ``n_samples`` or ``baselines``.

    Returns:
        (t,) scores for each text, in logits unless the algorithm has another unit.

    Raises:
        InputError: an option that the algorithm does not have, or that captum refuses.
    """
    import captum.attr

    from exparity.engine.classifier import in_evaluation

    kind = getattr(captum.attr, algorithm)
    scores = []
    for row, (rows, absent) in enumerate(zip(batch.rows, baseline_rows(batch), strict=True)):
        words, absent_words = (
            batch.classifier.without_types(own, batch.token_ids[row]) for own in (rows, absent)
        )
        function = partial(_on_rows, batch, rows - words, int(batch.targets[row]))
        draws = seeded(batch.generator(row))
        with in_evaluation(batch.classifier.model), draws, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # captum tells of its hooks
            try:
                scores.append(_attributed(kind, function, words, absent_words, options))
            except (AssertionError, TypeError, ValueError, RuntimeError, KeyError) as error:
                raise InputError(f"method captum: {algorithm}: {reason_of(error)}") from error
    return scores


def _attributed(
    kind: Any, function: Any, rows: torch.Tensor, absent: torch.Tensor, options: Mapping[str, Any]
) -> FloatArray:
    """Return the (t,) scores of one text by an algorithm of captum."""
    import torch

    of_class = set(inspect.signature(kind).parameters)
    parameters = inspect.signature(kind.attribute).parameters
    width, size = rows.shape
    tokens = torch.arange(width, device=rows.device)
    mask = tokens[None, :, None].expand(1, width, size).contiguous()  # of which some take a view
    masks = {"feature_mask": mask, "sliding_window_shapes": (1, size)}
    masks = {name: value for name, value in masks.items() if name in parameters}
    arguments = {"baselines": absent[None]} if "baselines" in parameters else {}
    arguments |= {name: value for name, value in options.items() if name not in of_class}
    settings = {name: value for name, value in options.items() if name in of_class}
    inputs = rows[None].clone().requires_grad_(not masks)
    values = kind(function, **settings).attribute(inputs, **arguments, **masks)
    of_elements = values.detach().double()[0]  # (t, h)
    if masks:  # one number per token
        of_tokens = of_elements[:, 0]
    elif kind.__name__ == "Saliency":
        of_tokens = of_elements.abs().sum(-1)
    else:
        of_tokens = of_elements.sum(-1)
    return np.asarray(of_tokens.cpu().numpy())


def _on_rows(
    batch: MethodBatch, types: torch.Tensor, target: int, rows: torch.Tensor
) -> torch.Tensor:
    """Return what is explained of (b, t, h) embeddings of one text, without its token types."""
    import torch

    from exparity.models.lookup import EmbeddedBatch

    last, targets = (
        torch.full((len(rows),), value, device=rows.device) for value in (rows.shape[1] - 1, target)
    )
    classifier = batch.classifier
    logits = classifier.head.logits(classifier.model, EmbeddedBatch(rows + types, None, last))
    return batch.objective(logits.float(), targets)
