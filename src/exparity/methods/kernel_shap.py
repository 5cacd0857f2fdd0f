"""Kernel SHAP (Lundberg and Lee 2017) on the units of a text."""

from __future__ import annotations

from math import comb
from typing import Annotated

import numpy as np

from exparity.core.flags import Range
from exparity.explanations.alignment import laid_on
from exparity.methods import MethodBatch
from exparity.methods._gradients import baseline_rows
from exparity.methods._masks import masking_method
from exparity.types import BoolArray, FloatArray


@masking_method(
    "kernel_shap",
    baseline="special tokens kept, padding elsewhere",
    stochastic=True,
    reference="Lundberg and Lee 2017, arXiv:1705.07874, theorem 2",
    display="Kernel SHAP",
    passes=25,
)
def kernel_shap(
    batch: MethodBatch, *, n_samples: Annotated[int, Range(at_least=4, at_most=1_000_000)] = 25
) -> list[FloatArray]:
    r"""Shapley values of the content tokens, or larger units, by a regression on coalitions.

    :math:`\arg\min_\phi \sum_z \pi(z) (p_y(z) - p_y(0) - z^\top \phi)^2` with
    :math:`\sum_i \phi_i = p_y(1) - p_y(0)`; tokens that are absent from a coalition :math:`z` are
    replaced by those of the baseline of integrated gradients. The tokens of a larger unit come and
    go together, and share its value.

    Args:
        batch: the texts.
        n_samples: masks per text, those of all and of no tokens included. Values are exact from
            2ᵘ on for u units with content.

    Returns:
        (t,) signed scores for each text, in probability, which sum to p(input) − p(baseline);
        special tokens score 0.
    """
    from exparity.engine.masking import MaskedTexts

    plans = []
    masks = []
    for row, (units, content) in enumerate(zip(batch.units, batch.content_masks, strict=True)):
        n_content = int(content.sum())
        coalitions, weights = draw_coalitions(n_content, n_samples - 2, batch.generator(row))
        mask = np.ones((len(coalitions) + 2, len(content)), dtype=bool)
        mask[0, content] = False
        mask[2:, content] = coalitions
        plans.append((coalitions, weights))
        masks.append(units.on_tokens(mask))
    masked = MaskedTexts(batch.classifier, batch.rows, baseline_rows(batch))
    worth = masked.target_probabilities(masks, batch.targets)
    scores = []
    for units, content, (coalitions, weights), values in zip(
        batch.units, batch.content_masks, plans, worth, strict=True
    ):
        empty = values[0]
        full = values[1]
        shares = shapley_values(coalitions, weights, values[2:], empty, full)
        scores.append(units.shared(laid_on(content, shares, elsewhere=0.0)))
    return scores


def draw_coalitions(
    n_players: int, count: int, rng: np.random.Generator
) -> tuple[BoolArray, FloatArray]:
    """Draw coalitions of p players from the Shapley kernel, but the empty and the full one.

    Drawn ones come in pairs, each with its complement, which lowers the variance (arXiv:2012.01536,
    section 4). Returns (m, p) True for members, and the (m,) weights of the regression.
    """
    sizes = np.arange(1, n_players)
    if n_players < 31 and 2**n_players - 2 <= count:
        numbers = np.arange(1, 2**n_players - 1)
        members = (numbers[:, None] >> np.arange(n_players)) & 1 == 1
        weights = [1 / (comb(n_players, int(s)) * s * (n_players - s)) for s in members.sum(1)]
        return members, np.array(weights, dtype=np.float64)
    likelihood = 1 / (sizes * (n_players - sizes))
    drawn = rng.choice(sizes, -(-count // 2), p=likelihood / likelihood.sum())
    order = rng.random((len(drawn), n_players)).argsort(axis=1).argsort(axis=1)
    half = order < drawn[:, None]
    pairs = np.stack([half, ~half], axis=1).reshape(-1, n_players)[:count]
    return pairs, np.ones(len(pairs))


def shapley_values(
    coalitions: BoolArray, weights: FloatArray, values: FloatArray, empty: float, full: float
) -> FloatArray:
    """Fit (p,) Shapley values to the (m,) worth of (m, p) coalitions, True for members.

    Where fewer coalitions than players leave the weighted least squares open, it is the solution
    next to even shares; shap's own solver divides by a singular matrix there.
    """
    n_players = coalitions.shape[1]
    even = (full - empty) / n_players
    sizes = coalitions.sum(1)
    # Only differences from even shares are left to find, and these sum to zero.
    design = coalitions - sizes[:, None] / n_players
    roots = np.sqrt(weights)
    rest = values - empty - sizes * even
    coefficients = np.linalg.lstsq(roots[:, None] * design, roots * rest, rcond=None)[0]
    return np.asarray(even + coefficients - coefficients.mean(), dtype=np.float64)
