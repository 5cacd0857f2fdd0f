"""Comprehensiveness (DeYoung et al. 2020)."""

from __future__ import annotations

from exparity.interface import FloatArray
from exparity.metrics import MetricBatch, metric
from exparity.metrics._removal import TENTHS, BasedOn, Threshold, removal_curve


@metric(
    "comprehensiveness",
    direction="higher",
    bounds=(-1.0, 1.0),
    unit="probability",
    kind="faithfulness",
    needs="probabilities",
    stochastic=False,
    reference="DeYoung et al. 2020, doi:10.18653/v1/2020.acl-main.408, section 4.2",
    display="Comprehensiveness",
    passes=20,
)
def comprehensiveness(
    batch: MetricBatch,
    *,
    based_on: BasedOn = "fraction",
    thresholds: tuple[Threshold, ...] = TENTHS,
    only_positive: bool = True,
) -> FloatArray:
    r"""Mean fall in target probability when the highest-scored tokens are removed.

    :math:`\frac1K \sum_k f_y(x) - f_y(x \setminus r_k)`, an area over the perturbation curve.

    Args:
        batch: the explanations.
        based_on: ``fraction`` of content tokens, or score ``threshold``.
        thresholds: steps of the curve, each in (0, 1].
        only_positive: never remove tokens with a score of 0 or less.

    Returns:
        (n,) in [−1, 1], higher is better; 0 where no step removes a token.
    """
    return removal_curve(
        batch,
        keep=False,
        without_steps=0.0,
        based_on=based_on,
        thresholds=thresholds,
        only_positive=only_positive,
    )
