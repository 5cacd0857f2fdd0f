"""LIME's samples and its regression (Ribeiro et al. 2016)."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from exparity.core.flags import Range
from exparity.types import BoolArray, FloatArray

Samples = Annotated[int, Range(at_least=2, at_most=1_000_000)]


def draw_masks(n_tokens: int, num_samples: int, rng: np.random.Generator) -> BoolArray:
    """Draw the neighbourhood of a text of t tokens: (m, t) True for tokens that stay, itself first.

    Of each other one, a number of tokens that is uniform on 1…t is removed.
    """
    count = num_samples - 1
    sizes = rng.integers(1, n_tokens + 1, count)
    order = rng.random((count, n_tokens)).argsort(axis=1).argsort(axis=1)
    return np.concatenate([np.ones((1, n_tokens), dtype=bool), order >= sizes[:, None]])


def fit_lime(
    masks: BoolArray, values: FloatArray, kernel_width: float = 25.0, ridge: float = 1.0
) -> FloatArray:
    """Fit LIME's (t,) coefficients to (m, t) masks, the text's own first, and their (m,) values."""
    from lime.lime_base import LimeBase
    from sklearn import config_context
    from sklearn.linear_model import Ridge
    from sklearn.metrics import pairwise_distances

    # What the engine returns is checked already, and checks take a third of the time.
    with config_context(assume_finite=True, skip_parameter_validation=True):
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
