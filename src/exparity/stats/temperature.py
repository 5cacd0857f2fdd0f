"""A temperature by group, from the likelihood of labels, and what it does to falls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.types import Falls, FloatArray

LEAST, MOST = 0.05, 20.0
"""Temperatures that are tried."""
_SMALLEST = 1e-12
"""Probability that smaller ones are taken for."""


def temperature_of(probabilities: FloatArray, labels: Sequence[int]) -> float:
    """Return the temperature under which a classifier's probabilities fit the labels best.

    p becomes p^(1/T), divided by its sum. Labels count with (n + 1) ÷ (n + c) and other classes
    with 1 ÷ (n + c) (Platt 1999), so that a classifier without errors does not become certain.

    Args:
        probabilities: (n, c) of n texts.
        labels: (n,) class of each text.

    Returns:
        A number from 0.05 to 20, above 1 where the classifier is too sure; NaN without texts.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import log_softmax

    n, c = np.shape(probabilities)
    if not n:
        return np.nan
    logs = np.log(np.maximum(probabilities, _SMALLEST))
    targets = np.full((n, c), 1 / (n + c))
    targets[np.arange(n), np.asarray(labels)] = (n + 1) / (n + c)

    def loss(log_temperature: float) -> float:
        return -float((targets * log_softmax(logs / np.exp(log_temperature), axis=1)).sum())

    minimum = minimize_scalar(loss, bounds=(np.log(LEAST), np.log(MOST)), method="bounded")
    return float(np.exp(minimum.x))


def log_odds_of(probabilities: FloatArray, targets: Sequence[int]) -> FloatArray:
    """Return (n,) log odds of one class of each text, given (n, c) probabilities."""
    chosen = np.arange(len(probabilities)), np.asarray(targets)
    others = np.array(probabilities, dtype=np.float64)
    others[chosen] = 0.0
    target = np.maximum(np.asarray(probabilities)[chosen], _SMALLEST)
    return np.asarray(np.log(target) - np.log(np.maximum(others.sum(axis=1), _SMALLEST)))


def recalibrated(falls: Falls, log_odds: float, temperature: float) -> Falls:
    """Return falls of a text as they would be with a temperature, in closed form.

    The log odds of the explained class are divided by it. That is what a temperature of the
    classifier does with two classes; with more, where one of the others takes all that is left.

    Args:
        falls: (..., k) falls in probability and in log odds.
        log_odds: of the whole text.
        temperature: above 0.
    """
    from scipy.special import expit

    left = (log_odds - falls.log_odds) / temperature
    return Falls(
        falls.sizes, expit(log_odds / temperature) - expit(left), falls.log_odds / temperature
    )
