"""LIME's samples and its regression (Ribeiro et al. 2016)."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from exparity.core.flags import Range
from exparity.types import BoolArray, FloatArray

_SURROGATE_SAMPLES = 4000
_PENALTY = 0.1  # of the surrogate
_LEAST = 1e-6  # probability, where log odds are taken
Samples = Annotated[int, Range(at_least=2, at_most=1_000_000)]
Sampling = Literal["independent", "paired", "stratified"]


def draw_masks(
    n_tokens: int, num_samples: int, rng: np.random.Generator, sampling: Sampling
) -> BoolArray:
    """Draw the neighbourhood of a text of t tokens: (m, t) True for tokens that stay.

    The first of its ``num_samples`` members is the text itself.
    LIME removes a number of tokens that is uniform on 1…t, and a uniform subset of that size
    (``independent``). Two other schemes have the same distribution for each member, and less
    variance together: ``paired`` follows each mask by one that keeps exactly the tokens it
    removed (antithetic; one that removes all tokens is followed by itself, since nothing may keep
    all), and ``stratified`` takes every size equally often.
    """
    count = num_samples - 1
    if sampling == "stratified":
        # A whole number of rounds through all sizes, then a random part of one.
        rounds = -(-count // n_tokens)
        sizes = np.concatenate([rng.permutation(n_tokens) + 1 for _ in range(rounds)])[:count]
    else:
        sizes = rng.integers(1, n_tokens + 1, count)
    order = rng.random((count, n_tokens)).argsort(axis=1).argsort(axis=1)
    kept = order >= sizes[:, None]
    if sampling == "paired":
        first, second = kept[0 : 2 * (count // 2) : 2], kept[1:count:2]
        second[:] = np.where(first.any(axis=1, keepdims=True), ~first, first)
    return np.concatenate([np.ones((1, n_tokens), dtype=bool), kept])


def fit_lime(
    masks: BoolArray, values: FloatArray, kernel_width: float = 25.0, ridge: float = 1.0
) -> FloatArray:
    """Fit LIME's weighted ridge regression with the lime package: (t,) coefficients.

    Args:
        masks: (m, t) True for tokens that stay; the first row is the text itself.
        values: (m,) target probability of each masked text.
        kernel_width: of the exponential kernel over 100 × cosine distance.
        ridge: penalty on the squared coefficients.
    """
    from lime.lime_base import LimeBase
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise_distances

    data = masks.astype(np.float64)
    distances = pairwise_distances(data, data[:1], metric="cosine").ravel() * 100
    base = LimeBase(lambda d: np.sqrt(np.exp(-(d**2) / kernel_width**2)), random_state=0)
    _, weights, _, _ = base.explain_instance_with_data(
        data,
        values[:, None],
        distances,
        0,
        masks.shape[1],
        feature_selection="none",
        model_regressor=Ridge(alpha=ridge),
    )
    coefficients = np.zeros(masks.shape[1])
    for token, weight in weights:
        coefficients[token] = weight
    return coefficients


def fit_with_surrogate(
    masks: BoolArray,
    values: FloatArray,
    rng: np.random.Generator,
    kernel_width: float = 25.0,
    ridge: float = 1.0,
) -> FloatArray:
    """Fit the regression to many answers of a surrogate, and to what it misses of the samples.

    The surrogate, a kernel ridge regression of the log odds (cubic kernel of the masks' agreement,
    so that it holds interactions of up to three tokens), costs nothing beside the model. What it
    misses of a sample is estimated without that sample, so that the sum of both fits has no bias.

    Args:
        masks: (m, t) True for tokens that stay; the first row is the text itself.
        values: (m,) target probability of each masked text.
        rng: draws what the surrogate is asked.
        kernel_width: see :func:`fit`.
        ridge: see :func:`fit`.
    """
    from scipy.special import expit, logit

    n_tokens = masks.shape[1]
    unique, first, place = np.unique(masks, axis=0, return_index=True, return_inverse=True)
    clipped = np.clip(values[first], _LEAST, 1 - _LEAST)
    odds = logit(clipped)
    middle = odds.mean()
    signs = np.where(unique, 1.0, -1.0)
    inverse = np.linalg.inv(_agreement(signs, signs) + _PENALTY * np.eye(len(signs)))
    weights = inverse @ (odds - middle)
    without_itself = odds - weights / np.diag(inverse)
    missed = values - expit(without_itself)[place.reshape(-1)]
    more = draw_masks(n_tokens, max(_SURROGATE_SAMPLES, len(masks)), rng, "paired")
    answers = expit(middle + _agreement(np.where(more, 1.0, -1.0), signs) @ weights)
    return fit_lime(more, answers, kernel_width, ridge) + fit_lime(
        masks, missed, kernel_width, ridge
    )


def _agreement(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray((1 + one @ other.T / one.shape[1]) ** 3, dtype=np.float64)
