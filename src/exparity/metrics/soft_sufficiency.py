"""Soft sufficiency (Zhao and Aletras 2023)."""

from __future__ import annotations

from exparity.interface import Count, FloatArray
from exparity.metrics import MetricBatch, metric
from exparity.metrics._soft import mean_soft_drop


@metric(
    "soft_sufficiency",
    direction="higher",
    bounds=(0.0, 1.0),
    unit="probability",
    kind="faithfulness",
    needs="probabilities",
    stochastic=True,
    reference="Zhao and Aletras 2023, arXiv:2305.10496",
    display="Soft sufficiency",
    passes=10,
)
def soft_sufficiency(batch: MetricBatch, *, num_samples: Count = 10) -> FloatArray:
    r"""How well the target's probability holds when low-scored tokens lose most of their embedding.

    :math:`1 - \frac1S \sum_d \max(0, p_y(x) - p_y(x_d))`, where :math:`x_d` keeps each element of
    the embedding of token :math:`i` with probability :math:`s_i`, and :math:`s_i` is its absolute
    attribution scaled to [0, 1] over the content tokens. Special tokens stay whole.

    Args:
        batch: the explanations.
        num_samples: S, draws per text.

    Returns:
        (n,) in [0, 1], higher is better; NaN where absolute attributions of the content tokens are
        all equal (so where there is one token), or one is not finite.
    """
    return 1 - mean_soft_drop(batch, keep=True, num_samples=num_samples)
