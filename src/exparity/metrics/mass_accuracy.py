"""Mass accuracy (Wilming et al. 2024): the share of the attribution on the rationale."""

from __future__ import annotations

from exparity.metrics._rationale import rationale_metric
from exparity.metrics._shares import marked_share
from exparity.types import BoolArray, FloatArray


@rationale_metric(
    "mass_accuracy",
    unit="share",
    reference="Wilming et al. 2024, GECOBench, arXiv:2406.11547, equation 3",
    display="Mass accuracy",
)
def mass_accuracy(scores: FloatArray, rationale: BoolArray, word_mask: BoolArray) -> FloatArray:
    r"""Share of the attribution that lies on words of the rationale.

    :math:`\sum_{j \in R} s_j / \sum_j s_j` over the words. A rationale word that is left out costs
    nothing as long as the others hold the mass.

    Args:
        scores: (n, w) attributions of words, not negative.
        rationale: (n, w) True for words of the rationale.
        word_mask: (n, w) True for words.

    Returns:
        (n,) in [0, 1], higher is better; NaN where the rationale is empty or all scores are zero.
    """
    return marked_share(scores, rationale, word_mask)
