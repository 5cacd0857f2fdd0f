"""LIME (Ribeiro et al. 2016) on tokens, and on the bag of a text's words."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import numpy as np

from exparity.core.flags import NotNegative, Positive, Range
from exparity.explanations.alignment import laid_on, shared
from exparity.methods import MethodBatch
from exparity.methods._masks import masking_method
from exparity.types import SPECIAL_WORD, BoolArray, Encoding, FloatArray, IntArray

Samples = Annotated[int, Range(at_least=2, at_most=1_000_000)]
_MOST_SAMPLES = 5000
_TOGETHER = 64  # texts whose masks share batches; more would only hold more memory

_lime_method = partial(
    masking_method,
    stochastic=True,
    reference="Ribeiro et al. 2016, arXiv:1602.04938, section 3.4",
)


@_lime_method("lime", baseline="mask token", display="LIME", passes=500)
def lime(
    batch: MethodBatch,
    *,
    num_samples: Samples | None = None,
    kernel_width: Positive = 25.0,
    ridge: NotNegative = 1.0,
) -> list[FloatArray]:
    r"""Coefficients of a linear model fitted to the text's neighbourhood.

    :math:`\arg\min_{w,b} \sum_z \pi(z) (p_y(x \odot z) - w^\top z - b)^2 +
    \lambda \lVert w \rVert^2` over masks :math:`z`, where masked tokens are replaced by the mask
    token and :math:`\pi` falls with the cosine distance of :math:`z` from 1. Special tokens are
    masked like others and score 0; those of a prompt around the text stay. The tokens of a larger
    unit are masked together, and share its coefficient.

    Args:
        batch: the texts.
        num_samples: masks per text, the text itself included; t² but at most 5000 for a text of t
            units, those of a prompt aside, if None.
        kernel_width: width σ of the kernel over 100 × cosine distance.
        ridge: penalty λ on the squared coefficients; with few samples, one of 1 shrinks them.

    Returns:
        (t,) signed scores for each text, in probability.
    """
    from exparity.engine.masking import MaskedTexts

    scores: list[FloatArray] = []
    for first in range(0, len(batch), _TOGETHER):
        part = batch.part(batch.classifier, range(first, min(first + _TOGETHER, len(batch))))
        drawn = []
        for row, text_mask in enumerate(part.text_masks):
            n_units = int(text_mask.sum())
            count = num_samples or max(2, min(n_units**2, _MOST_SAMPLES))
            drawn.append(draw_masks(n_units, count, part.generator(row)))
        masks = [
            units.on_tokens(laid_on(text_mask, draws, elsewhere=True))
            for units, text_mask, draws in zip(part.units, part.text_masks, drawn, strict=True)
        ]
        masked = MaskedTexts(part.classifier, part.rows, token_ids=part.token_ids)
        answers = masked.target_probabilities(masks, part.targets)
        for row, text_mask in enumerate(part.text_masks):
            coefficients = fit_lime(drawn[row], answers[row], kernel_width, ridge)
            token_scores = part.units[row].shared(laid_on(text_mask, coefficients, elsewhere=0.0))
            scores.append(np.where(part.special_masks[row], 0.0, token_scores))
    return scores


@_lime_method("lime_words", baseline="removed", display="LIME (words)", passes=1000, per=None)
def lime_words(
    batch: MethodBatch,
    *,
    num_samples: Samples = 1000,
    kernel_width: Positive = 25.0,
    ridge: NotNegative = 1.0,
) -> list[FloatArray]:
    r"""Coefficients of a linear model fitted to texts with some words removed.

    As the lime package's explainer for text: a word is removed wherever it occurs, what is left
    moves together, and the regression is that of ``lime`` with words in place of tokens. All places
    where a word occurs share its coefficient as they are; the tokens of one place divide it among
    them.

    Args:
        batch: the texts.
        num_samples: samples per text, the text itself included; the lime package takes 5000.
        kernel_width: width σ of the kernel over 100 × cosine distance.
        ridge: penalty λ on the squared coefficients.

    Returns:
        (t,) signed scores for each text, in probability; special tokens score 0.
    """
    from exparity.engine.masking import kept_target_probabilities

    bags = [bag_of_words(encoding) for encoding in batch.encodings]
    drawn = [
        draw_masks(1 + int(bag.max()), num_samples, batch.generator(row))
        for row, bag in enumerate(bags)
    ]
    masks = [
        np.where(bag == SPECIAL_WORD, True, features[:, bag])
        for bag, features in zip(bags, drawn, strict=True)
    ]
    scores = []
    kept = kept_target_probabilities(batch.classifier, batch.rows, masks, batch.targets)
    for encoding, bag, features, values in zip(batch.encodings, bags, drawn, kept, strict=True):
        coefficients = fit_lime(features, values, kernel_width, ridge)
        word_scores = np.zeros(int(encoding.word_ids.max()) + 1)
        word_scores[encoding.word_ids[bag >= 0]] = coefficients[bag[bag >= 0]]
        scores.append(shared(encoding.word_ids, word_scores))
    return scores


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
    """Fit LIME's (t,) coefficients to (m, t) masks, the text's own first, and their (m,) values.

    As ``LimeBase`` of the lime package with its ridge regression, whose checks of each call take
    longer than the fit: a sample's weight falls with its cosine distance to the text.
    """
    data = masks.astype(np.float64)
    distances = 100 * (1 - np.sqrt(data.mean(axis=1)))
    weights = np.sqrt(np.exp(-(distances**2) / kernel_width**2))
    roots = np.sqrt(weights)
    x = (data - np.average(data, axis=0, weights=weights)) * roots[:, None]
    y = (values - np.average(values, weights=weights)) * roots
    if ridge == 0:  # several fits may be best: the shortest one
        return np.asarray(np.linalg.lstsq(x, y)[0])
    return np.linalg.solve(x.T @ x + ridge * np.eye(masks.shape[1]), x.T @ y)


def bag_of_words(encoding: Encoding) -> IntArray:
    """Return (t,) the number of each token's word; words of equal tokens are one, special −1."""
    word_numbers: dict[tuple[str, ...], int] = {}
    bag = np.full(len(encoding), SPECIAL_WORD, dtype=np.int64)
    for word in np.unique(encoding.word_ids[encoding.word_ids >= 0]):
        here = encoding.word_ids == word
        tokens = tuple(encoding.tokens[place] for place in np.flatnonzero(here))
        bag[here] = word_numbers.setdefault(tokens, len(word_numbers))
    return bag
