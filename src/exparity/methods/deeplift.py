"""DeepLIFT (Shrikumar et al. 2017) with the rescale rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows, path_method, pooled
from exparity.types import FloatArray

if TYPE_CHECKING:
    import torch


@path_method(
    "deeplift",
    reference="Shrikumar et al. 2017, arXiv:1704.02685, section 3.5",
    display="DeepLIFT",
    passes=2,
)
def deeplift(batch: MethodBatch) -> list[FloatArray]:
    r"""Change from the baseline, times a gradient that takes mean slopes through activations.

    :math:`s_i = \sum_h (x_{ih} - x'_{ih})\, m_{ih}`, where :math:`m` is the target logit's gradient
    with :math:`(a(z) - a(z')) / (z - z')` in place of :math:`a'(z)` for every activation
    :math:`a`, its input being :math:`z` on the text and :math:`z'` on the baseline. Products of
    activations (attention) and normalisation keep their gradient on the text: where a model has
    none of them, a text's scores sum to f(input) − f(baseline).

    Returns:
        (t,) signed scores for each text, in logits.
    """
    import torch

    from exparity.engine.batching import padded
    from exparity.methods._backward import Activations, Rescale

    classifier = batch.classifier
    starts = baseline_rows(batch)
    texts = padded(batch.rows)
    baselines = padded(starts)
    rule = Rescale()

    def build(positions: list[int], width: int) -> torch.Tensor:
        with rule.recording(), torch.no_grad():
            classifier.logits(baselines(positions, width), [batch.lengths[p] for p in positions])
        return texts(positions, width)

    scores = [np.zeros(0)] * len(batch)
    with Activations(classifier.model, rule):
        for row, multiplier, _ in classifier.input_gradients(
            batch.lengths, build, batch.targets, batch.objective
        ):
            rule.check_done()
            scores[row] = pooled(multiplier, batch.rows[row] - starts[row], "times_input")
    return scores
