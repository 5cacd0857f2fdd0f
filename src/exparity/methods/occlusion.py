"""Occlusion (Zeiler and Fergus 2014): leave one token, or larger unit, out."""

from __future__ import annotations

import numpy as np

from exparity.explanations.alignment import laid_on
from exparity.methods import MethodBatch
from exparity.methods._masks import masking_method
from exparity.types import FloatArray


@masking_method(
    "occlusion",
    baseline="removed",
    stochastic=False,
    reference="Zeiler and Fergus 2014, arXiv:1311.2901; Li et al. 2016, arXiv:1612.08220",
    display="Occlusion",
    passes=20,
)
def occlusion(batch: MethodBatch) -> list[FloatArray]:
    r"""Fall in the target's probability when one token, or one larger unit, is left out.

    :math:`s_i = p_y(x) - p_y(x \setminus x_i)`: one model pass for each unit with content, which
    shares its fall evenly among its tokens; the rest of the text moves together.

    Returns:
        (t,) signed scores for each text, in probability; special tokens score 0.
    """
    from exparity.engine.masking import kept_target_probabilities

    masks = []
    for units, content in zip(batch.units, batch.content_masks, strict=True):
        nothing_absent = np.ones((1, len(content)), dtype=bool)
        absent = np.eye(len(content), dtype=bool)[content]
        masks.append(units.on_tokens(np.vstack([nothing_absent, ~absent])))
    values = kept_target_probabilities(batch.classifier, batch.rows, masks, batch.targets)
    return [
        units.shared(laid_on(content, left[0] - left[1:], elsewhere=0.0))
        for units, content, left in zip(batch.units, batch.content_masks, values, strict=True)
    ]
