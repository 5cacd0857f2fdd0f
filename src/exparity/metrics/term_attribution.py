"""Term attribution: the share of the attribution on the words that make a text of its group."""

from __future__ import annotations

from exparity.metrics import metric
from exparity.metrics._arrays import marked_share
from exparity.types import BoolArray, FloatArray


@metric(
    "term_attribution",
    direction="lower",
    bounds=(0.0, 1.0),
    unit="share",
    kind="reliance",
    needs="counterfactual",
    stochastic=False,
    reference="docs/metrics.md; the share is that of Wilming et al. 2024, arXiv:2406.11547, eq. 3",
    display="Attribution on group terms",
)
def term_attribution(scores: FloatArray, changed: BoolArray, word_mask: BoolArray) -> FloatArray:
    r"""Share of the attribution that lies on words that a counterfactual changes.

    :math:`\sum_{j \in C} s_j / \sum_j s_j` over the words, where C are those that differ when only
    the group changes, to any other group.

    Args:
        scores: (n, w) attributions of words, not negative.
        changed: (n, w) True for words that a counterfactual changes.
        word_mask: (n, w) True for words.

    Returns:
        (n,) in [0, 1], lower is less reliance; NaN where nothing changes or all scores are zero.
    """
    return marked_share(scores, changed, word_mask)
