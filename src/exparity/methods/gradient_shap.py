"""Gradient SHAP (Lundberg and Lee 2017), also known as expected gradients (Erion et al. 2021)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from exparity.core.flags import Count
from exparity.methods import MethodBatch, method
from exparity.types import FloatArray, IntArray

if TYPE_CHECKING:
    import torch


@method(
    "gradient_shap",
    signed=True,
    needs_gradient=True,
    target="logit",
    baseline="special tokens kept, padding or random tokens elsewhere",
    stochastic=True,
    reference="Erion et al. 2021, doi:10.1038/s42256-021-00343-w",
    display="Gradient SHAP",
    passes=50,
)
def gradient_shap(
    batch: MethodBatch,
    *,
    n_samples: Count = 50,
    baselines: Literal["padding", "vocabulary"] = "padding",
) -> list[FloatArray]:
    r"""Mean of gradient × change at random points between random baselines and the text.

    :math:`s_i = E_{x', \alpha} \sum_h (x_{ih} - x'_{ih})\,
    \partial f_y(x' + \alpha (x - x')) / \partial e_{ih}` with :math:`\alpha` uniform on [0, 1].

    Args:
        batch: the texts.
        n_samples: draws of a baseline and a point per text.
        baselines: what every content token is replaced by: ``padding``, as in integrated gradients,
            so that the points alone are drawn; or tokens of the ``vocabulary``, each drawn
            uniformly from those that are not special.

    Returns:
        (t,) signed scores for each text, in logits. Their sum is f(input) − f(baseline) on average
        over baselines and draws.
    """
    from exparity.methods._gradients import baseline_ids

    classifier = batch.classifier
    known = min(len(classifier.tokenizer), len(classifier.model.get_input_embeddings().weight))
    words = np.setdiff1d(np.arange(known), classifier.tokenizer.all_special_ids)
    places, ids = [], []
    for row in range(len(batch)):
        rng = batch.generator(row)
        places.append(rng.random(n_samples))
        own = np.tile(baseline_ids(batch, row), (n_samples, 1))  # (s, t)
        if baselines == "vocabulary":
            content = ~batch.special_masks[row]
            drawn = rng.choice(words, (n_samples, int(content.sum())))
            own[:, content] = classifier.in_place_of(own[:, content], drawn)
        ids.append(own)
    sums = [np.zeros(length) for length in batch.lengths]

    def start_of(row: int, steps: IntArray) -> torch.Tensor:
        return classifier.embed(ids[row][steps])

    for row, step, gradient in batch.gradients_between(start_of, places):
        change = batch.rows[row] - start_of(row, np.array([step]))[0]
        sums[row] += (gradient.double() * change.double()).sum(-1).cpu().numpy()
    return [total / n_samples for total in sums]
