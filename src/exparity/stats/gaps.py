"""Gaps of one classifier, statistical and causal, without the rates of single groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from exparity.stats.bootstrap import Draws
from exparity.stats.causal_bias import CounterfactualPrediction, causal_bias
from exparity.stats.model_bias import fpr_gaps, model_bias
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.rms import RATES

_GAPS = [f"{kind}{rate}_gap" for kind in ("", "causal_") for rate in RATES]
_QUANTITIES = {*_GAPS, *(f"{gap}_rms" for gap in _GAPS), "flip_rate"}


def gaps_of(
    data: Predictions, changed: Sequence[CounterfactualPrediction], *, confidence: float
) -> Iterator[BiasRow]:
    """Yield accuracy, gaps by class and over classes, and the share of predictions that change.

    Args:
        data: the predictions.
        changed: predictions for counterfactuals; without any, causal quantities are left out.
        confidence: coverage of the intervals.
    """
    draws = Draws(confidence=confidence, resamples=0)
    rows = model_bias(data, draws)
    rows += fpr_gaps(rows)
    if changed:
        rows += causal_bias(data, changed, draws)
    for row in rows:
        is_accuracy_of_all = row.quantity == "accuracy" and not row.group
        is_flip_rate_of_class = row.quantity == "flip_rate" and row.class_name
        if is_accuracy_of_all or (row.quantity in _QUANTITIES and not is_flip_rate_of_class):
            yield row
