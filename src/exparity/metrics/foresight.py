"""Outputs of a classifier for texts with parts left out, which explanations are to foresee.

The parts are drawn from the text alone, so that one pass serves every method, metric and control.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from exparity.core.seeding import generator
from exparity.explanations.units import Unit
from exparity.metrics.batch import MetricBatch
from exparity.types import BoolArray, FloatArray, IntArray, locked

FEWEST_UNITS = 4
"""Units of a text below which nothing is foreseen: too few of them differ between draws."""
_DRAWS = 64
_MOST_DRAWS = 256
_MOST_UNITS_OF_CEILING = 128
_PENALTY_PER_DRAW = 1 / 40
ROUNDING = 1e-6
"""Standard deviation of falls below which they are rounding of float32 logits."""


class Design(NamedTuple):
    """How parts of a text are left out.

    Attributes:
        unit: what is left out as one; see :mod:`exparity.explanations.units`.
        left_out: share of the units that each draw leaves out, in (0, 1); 0 where nothing is drawn
            and each unit is left out by itself, one after the other.
        num_masks: draws of a text; if 0, 64, and from 33 units on twice as many, 256 at most.
    """

    unit: Unit
    left_out: float = 0.5
    num_masks: int = 0

    @property
    def is_one_by_one(self) -> bool:
        """Whether each unit is left out by itself."""
        return self.left_out == 0

    def draws_of(self, n_units: int) -> int:
        """Return how many draws a text of so many units has."""
        if self.is_one_by_one:
            return n_units
        return self.num_masks or min(max(_DRAWS, 2 * n_units), _MOST_DRAWS)

    def passes_of(self, n_units: int) -> int:
        """Return the passes of a text of so many units: the whole one, and one for each draw."""
        return self.draws_of(n_units) + 1


def design_of(options: Mapping[str, Any]) -> Design:
    """Return the design that options of a metric ask for; without any, units go one by one."""
    return Design(options["unit"], options.get("left_out", 0), options.get("num_masks") or 0)


class Foresight(NamedTuple):
    """Outputs of a classifier for a text of n units.

    Attributes:
        left_out: (k, n) True for the units that a draw leaves out; each leaves out equally many.
        falls: (k,) fall from the whole text to what is left in the logit of the explained class
            less the mean of the others', or, of labels that do not exclude each other, in its own.
            Where units go one by one, in the probability of the class.
        ceiling: correlation of the falls with their best additive prediction, in [−1, 1]; NaN where
            it is not known, or units go one by one.
    """

    left_out: BoolArray
    falls: FloatArray
    ceiling: float


def draw_parts(token_ids: IntArray, n_units: int, design: Design) -> BoolArray:
    """Return (k, n) the units that each draw leaves out: equally many, and never all or none."""
    count = min(max(int(design.left_out * n_units), 1), n_units - 1)
    key = sha256(np.asarray(token_ids, dtype="<i8").tobytes()).hexdigest()
    draws = generator(0, "foresight", key)
    # Ranks of uniform numbers: the order of a permutation, for all draws at once.
    ranks = draws.random((design.draws_of(n_units), n_units)).argsort(axis=1).argsort(axis=1)
    return np.asarray(ranks < count)


def foresights(batch: MetricBatch, design: Design) -> list[Foresight]:
    """Ask the classifier about each text of a batch with parts left out.

    A text with fewer than :data:`FEWEST_UNITS` units has no draws.
    """
    ask = _one_by_one if design.is_one_by_one else partial(_drawn, design=design)
    return batch.classifier.run_by_precision(
        batch.token_ids, lambda chosen, places: ask(batch.part(chosen, places))
    )


def _drawn(batch: MetricBatch, design: Design) -> list[Foresight]:
    """Return what the classifier does with each text without each draw of its units."""
    sequences: list[IntArray] = []
    owners: list[int] = []
    parts: list[BoolArray] = []
    for index, mask in enumerate(batch.content_masks):
        n_units = int(mask.sum())
        enough = n_units >= FEWEST_UNITS
        left_out = np.zeros((0, n_units), dtype=bool)
        if enough:
            left_out = draw_parts(batch.token_ids[index], n_units, design)
        places = np.flatnonzero(mask)
        stays = np.ones((len(left_out) + 1, len(mask)), dtype=bool)  # the whole text comes first
        stays[1:, places] = ~left_out
        sequences += batch.left(index, stays)
        owners += [index] * len(stays)
        parts.append(left_out)
    values = batch.target_contrasts(sequences, owners)
    results = []
    start = 0
    for left_out in parts:
        falls = values[start] - values[start + 1 : start + len(left_out) + 1]
        start += len(left_out) + 1
        results.append(Foresight(locked(left_out), locked(falls), ceiling_of(left_out, falls)))
    return results


def _one_by_one(batch: MetricBatch) -> list[Foresight]:
    """Return the fall in the probability of each text's target as each of its units goes."""
    single_units = [np.eye(len(mask), dtype=bool)[mask] for mask in batch.content_masks]
    return [
        Foresight(locked(units[:, mask]), locked(falls.probability), float("nan"))
        for units, mask, falls in zip(
            single_units,
            batch.content_masks,
            batch.falls_of_sets(single_units, keep=False),
            strict=True,
        )
    ]


def ceiling_of(left_out: BoolArray, falls: FloatArray) -> float:
    r"""Return how well the best additive explanation found would foresee (k,) falls.

    Ridge regression of the falls on what is left out, scored by leave-one-out predictions,
    :math:`y_i - e_i / (1 - h_{ii})` (Allen 1974); the penalty is k / 40.

    Returns:
        Pearson's correlation in [−1, 1]; NaN where falls are rounding, or above 128 units.
    """
    num_masks, n_units = left_out.shape
    if not num_masks or n_units > _MOST_UNITS_OF_CEILING or falls.std() < ROUNDING:
        return float("nan")
    centred = falls - falls.mean()
    hat = (left_out - left_out.mean()) @ _ridge(left_out)
    predictions = centred - (centred - hat @ centred) / (1 - np.diag(hat))
    return correlation(predictions, centred)


def ridge_weights(left_out: BoolArray, falls: FloatArray) -> FloatArray:
    """Return (n,) weights of a ridge regression of (k,) falls on what is left out."""
    return np.asarray(_ridge(left_out) @ (falls - falls.mean()))


def _ridge(left_out: BoolArray) -> FloatArray:
    """Return (n, k) what makes weights of centred falls; the penalty grows with the draws."""
    num_masks, n_units = left_out.shape
    design = left_out - left_out.mean()
    penalty = num_masks * _PENALTY_PER_DRAW * np.eye(n_units)
    return np.asarray(np.linalg.solve(design.T @ design + penalty, design.T))


def correlation(first: FloatArray, second: FloatArray) -> float:
    """Return Pearson's correlation of two (k,) arrays; NaN where one is constant."""
    return float(correlations(first, second))


def correlations(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the (...) Pearson's correlations of (..., k) arrays; NaN where one is constant.

    A row has the bits that it has alone.
    """
    first_centred = first - first.mean(axis=-1, keepdims=True)
    second_centred = second - second.mean(axis=-1, keepdims=True)
    squares = np.vecdot(first_centred, first_centred) * np.vecdot(second_centred, second_centred)
    norms = np.sqrt(squares)
    values = np.full(norms.shape, np.nan)
    np.divide(np.vecdot(first_centred, second_centred), norms, out=values, where=norms > 0)
    return np.asarray(np.minimum(np.maximum(values, -1.0), 1.0))


def predictions(scores: FloatArray, left_out: BoolArray) -> FloatArray:
    """Return (k,) the falls that (n,) attributions predict: the sums of what is left out."""
    return np.asarray(left_out @ scores, dtype=np.float64)
