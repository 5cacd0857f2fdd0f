"""Checks on a probe batch, so that a job which would go wrong fails in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from exparity.core.calls import shown
from exparity.core.errors import ExparityError, InputError
from exparity.engine.classifier import Classifier
from exparity.interface import FloatArray, IntArray

_TOLERANCE = {"torch.float32": 1e-4, "torch.bfloat16": 0.05}


def check_wrapper(classifier: Classifier, sequences: Sequence[IntArray]) -> None:
    """Compare the engine's probabilities with the plain model's, one text at a time.

    Raises:
        ExparityError: they differ, so that explanations would be of another function.
    """
    ours = classifier.probabilities(sequences)
    tolerance = _TOLERANCE.get(str(classifier.model.dtype), 0.05)
    for row, ids in enumerate(sequences):
        batch = torch.tensor(np.asarray(ids), device=classifier.device)[None]
        with torch.inference_mode():
            output = classifier.model(input_ids=batch, attention_mask=torch.ones_like(batch))
        plain = output.logits.float().softmax(-1)[0].cpu().numpy()
        gap = float(np.abs(plain - ours[row]).max())
        if not gap <= tolerance:
            raise ExparityError(
                f"preflight: the {type(classifier.model).__name__} gives other probabilities on "
                f"embeddings than on token ids (by {gap:.2g}); this family is not supported"
            )


def check_classifier(classifier: Any) -> None:
    """Check that it is a classifier.

    Raises:
        InputError: it is something else.
    """
    if not isinstance(classifier, Classifier):
        raise InputError(
            f"classifier must come from exparity.load_classifier, not {shown(classifier)}"
        )


def check_targets(targets: IntArray, n_classes: int) -> None:
    """Check that every target is a class of the model.

    Raises:
        InputError: names the first that is not.
    """
    bad = np.flatnonzero((targets < 0) | (targets >= n_classes))
    if bad.size:
        raise InputError(
            f"target {targets[bad[0]]} of example {bad[0]}: the model has classes 0 to "
            f"{n_classes - 1}"
        )


def check_token_ids(classifier: Classifier, ids: IntArray, text: str) -> None:
    """Check that token ids are a text that the model can read.

    Raises:
        InputError: there are too many, or one is not in the vocabulary; names the text.
    """
    size = classifier.model.get_input_embeddings().weight.shape[0]
    if len(ids) > classifier.max_length or ids.min() < 0 or ids.max() >= size:
        raise InputError(
            f"explanation of {text!r}: the model reads up to {classifier.max_length} token_ids of "
            f"0 to {size - 1}; here are {len(ids)} of {ids.min()} to {ids.max()}"
        )


def check_attributions(method: str, scores: Sequence[FloatArray]) -> None:
    """Check that attributions of a probe are neither all zero nor all the same.

    Raises:
        ExparityError: says what is wrong with them.
    """
    if all(np.ptp(s) == 0 for s in scores) and any(len(s) > 1 for s in scores):
        value = "zero" if all((s == 0).all() for s in scores) else "constant"
        raise ExparityError(
            f"preflight: '{method}' gives {value} attributions for all {len(scores)} probe texts; "
            "is the model trained?"
        )
