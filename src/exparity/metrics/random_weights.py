"""Similarity to explanations of random weights (Adebayo et al. 2018)."""

from __future__ import annotations

import numpy as np

from exparity.core.flags import Count
from exparity.core.seeding import derive_seed
from exparity.metrics import MetricBatch, metric
from exparity.types import FloatArray


@metric(
    "random_weights",
    direction="lower",
    bounds=(-1.0, 1.0),
    unit="correlation",
    kind="sanity",
    needs="explainer",
    stochastic=True,
    reference="Adebayo et al. 2018, arXiv:1810.03292, section 3.1, all layers at once",
    display="Similarity at random weights",
    passes=5,
    needs_weights=True,
    models=2,
)
def random_weights(batch: MetricBatch, *, draws: Count = 5) -> FloatArray:
    r"""Similarity of explanations to those of a model that has learnt nothing.

    Mean over draws r of Spearman's correlation of :math:`|\phi(x; \theta)|` and
    :math:`|\phi(x; \theta_r)|` over content tokens, where :math:`\theta_r` are weights as the
    architecture draws them before training. A draw is shared by all texts of a trained model.

    Args:
        batch: the explanations.
        draws: models with random weights; each explains every text once.

    Returns:
        (n,) in [−1, 1], lower is better; exactly 1 for methods that ask no model. NaN where there
        are fewer than two content tokens, or all have the same score.
    """
    from scipy.stats import spearmanr

    similarities = np.full((draws, len(batch)), np.nan)
    for draw in range(draws):
        seed = derive_seed(batch.seed, "evaluate", batch.metric, draw)
        explained = batch.explained_by(batch.classifier.with_random_weights(seed))
        for index, scores in enumerate(explained):
            mask = batch.content_masks[index]
            original = batch.explanations[index].scores
            # As explanations are stored, so that rounding makes no ranks.
            pair = np.abs([original[mask], scores[mask]]).astype(np.float32)
            if mask.sum() >= 2 and np.ptp(pair, axis=1).all() and np.isfinite(pair).all():
                same = np.array_equal(*pair)  # rounding must not make it less than 1
                similarities[draw, index] = 1.0 if same else spearmanr(*pair).statistic
    return np.asarray(similarities.mean(0))
