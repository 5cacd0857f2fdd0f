"""Causal bias of a classifier: whether its predictions change when only the group does.

Every difference is do(first group) minus do(second), in the declared order. Nothing assumes two
groups or two classes. ``docs/bias.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import empty, marked_if_collapsed
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.rms import Sides, central, rms_of_groups, rms_rows
from exparity.stats.shares import NAN, Share, paired_difference_interval
from exparity.types import BoolArray, FloatArray, IntArray

# Resamples held at once; bounds memory at large n.
_BATCH = 50


@dataclass(frozen=True)
class CounterfactualPrediction:
    """Predictions for an example as it would be with another group.

    Attributes:
        index: position of the example among the predictions.
        group: the other group.
        predicted: the class that is predicted.
        probabilities: (c,) probability of each class.
        n_changed: words that the counterfactual changes.
    """

    index: int
    group: str
    predicted: int
    probabilities: Sequence[float]
    n_changed: int


@dataclass(frozen=True, eq=False)
class _Contrast:
    """The n examples that have a prediction under both groups, with their unit: itself or its set.

    Predictions are (2, n), and probabilities (2, n, c), under do(a) and under do(b).
    """

    a: str
    b: str
    labels: IntArray
    predicted: IntArray
    probabilities: FloatArray
    units: IntArray
    n_units: int
    flags: tuple[str, ...]


def causal_bias(
    data: Predictions, counterfactuals: Sequence[CounterfactualPrediction], draws: Draws
) -> list[BiasRow]:
    """Return how predictions change with the group alone, beside how they differ between groups."""
    predicted, probabilities, changed = _outcomes(data, counterfactuals)
    rows = list(rms_of_groups(data, draws))
    for i, j in combinations(range(len(data.order)), 2):
        both = (predicted[i] >= 0) & (predicted[j] >= 0)
        flags = [] if both.all() else ["missing_counterfactuals"]
        if (both & ~(changed[i] | changed[j])).any():
            flags.append("unchanged_texts")
        units = np.arange(len(data)) if data.sets is None else data.sets
        names, numbers = np.unique(units[both], return_inverse=True)
        contrast = _Contrast(
            a=data.order[i],
            b=data.order[j],
            labels=data.labels[both],
            predicted=predicted[[i, j]][:, both],
            probabilities=probabilities[[i, j]][:, both],
            units=numbers,
            n_units=len(names),
            flags=tuple(flags),
        )
        for row in _of_contrast(contrast, data.classes, draws):
            rows.append(replace(row, flags=(*contrast.flags, *row.flags)))
    return marked_if_collapsed(rows, data.predicted)


def _outcomes(
    data: Predictions, counterfactuals: Sequence[CounterfactualPrediction]
) -> tuple[IntArray, FloatArray, BoolArray]:
    """Return what is predicted under do(group), for each group."""
    own = np.arange(len(data.order))[:, None] == data.groups  # (g, n)
    predicted = np.where(own, data.predicted, -1)
    probabilities = np.where(own[..., None], data.probabilities, NAN)
    changed = np.zeros_like(own)
    index = {group: i for i, group in enumerate(data.order)}
    for one in counterfactuals:
        at = index[one.group], one.index
        predicted[at], probabilities[at] = one.predicted, one.probabilities
        changed[at] = one.n_changed > 0
    return predicted, probabilities, changed


def _of_contrast(contrast: _Contrast, classes: Sequence[str], draws: Draws) -> Iterator[BiasRow]:
    yield from _rate_gaps(contrast, classes, draws.confidence)
    yield from _flips(contrast, classes, draws.confidence)
    yield from _probability_gaps(contrast, classes, draws)
    n = len(contrast.labels)
    sides = Sides(
        second=np.repeat([False, True], n),
        labels=np.tile(contrast.labels, 2),
        predicted=contrast.predicted.ravel(),
        units=np.tile(contrast.units, 2),
        n_classes=len(classes),
        paired=True,
    )
    yield from rms_rows("causal_", (contrast.a, contrast.b), sides, draws)


def _rate_gaps(contrast: _Contrast, classes: Sequence[str], confidence: float) -> Iterator[BiasRow]:
    """Yield the gaps of rates, with intervals for paired differences."""
    labels, predicted = contrast.labels, contrast.predicted
    right = predicted == labels  # (2, n)
    for c, name in enumerate(classes):
        says, positive = predicted == c, labels == c
        for quantity, hits, counted in (
            ("causal_tpr_gap", says, positive),
            ("causal_fpr_gap", says, ~positive),
            ("causal_fpr_gap_by_code", right, ~positive),
            ("causal_selection_rate_gap", says, np.ones_like(positive)),
        ):
            row = BiasRow(quantity, contrast.a, contrast.b, name, NAN, int(counted.sum()))
            yield _paired_gap(row, hits[:, counted], contrast.units[counted], confidence)


def _paired_gap(row: BiasRow, hits: BoolArray, units: IntArray, confidence: float) -> BiasRow:
    """Return a row with the difference of two shares of the same examples."""
    if not row.n:
        return replace(row, flags=empty(0))
    a, b = hits
    independent = len(np.unique(units))
    cells = (a & b, a & ~b, b & ~a, ~a & ~b)
    counts = [int(cell.sum()) * independent / row.n for cell in cells]
    low, high = paired_difference_interval(counts, independent, confidence)
    value = (int(a.sum()) - int(b.sum())) / row.n
    return replace(row, value=value, ci_low=low, ci_high=high)


def _flips(contrast: _Contrast, classes: Sequence[str], confidence: float) -> Iterator[BiasRow]:
    """Yield the share of examples whose predicted class changes: of all, and of each true class."""
    flipped = contrast.predicted[0] != contrast.predicted[1]
    every = np.ones_like(flipped)
    for name, counted in (("", every), *((c, contrast.labels == i) for i, c in enumerate(classes))):
        n = int(counted.sum())
        row = BiasRow("flip_rate", contrast.a, contrast.b, name, NAN, n, flags=empty(n))
        if n:
            value = int(flipped[counted].sum()) / n
            independent = len(np.unique(contrast.units[counted]))
            low, high = Share(value * independent, independent).interval(confidence)
            row = replace(row, value=value, ci_low=low, ci_high=high)
        yield row


def _probability_gaps(
    contrast: _Contrast, classes: Sequence[str], draws: Draws
) -> Iterator[BiasRow]:
    """Yield mean and mean size of the change of a probability: of the true class, and of each."""
    n = len(contrast.labels)
    own = contrast.probabilities[:, np.arange(n), contrast.labels]  # (2, n)
    columns = np.concatenate([own[..., None], contrast.probabilities], axis=-1)  # (2, n, 1 + c)
    gaps = columns[0] - columns[1]  # (n, 1 + c)
    for quantity, values in (("causal_probability_gap", gaps), ("causal_apd", np.abs(gaps))):
        rng = generator(draws.seed, quantity, contrast.a, contrast.b)
        ends = _mean_intervals(values, contrast, draws, rng)
        for name, column, (low, high) in zip(("", *classes), values.T, ends, strict=True):
            defined = column[~np.isnan(column)]
            flags = () if len(defined) == n else ("undefined_values",)
            flags = flags if len(defined) else (*flags, *empty(0))
            mean = float(defined.mean()) if len(defined) else NAN
            yield BiasRow(
                quantity, contrast.a, contrast.b, name, mean, len(defined), low, high, flags
            )


def _mean_intervals(
    values: FloatArray, contrast: _Contrast, draws: Draws, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """Return the percentile bootstrap interval of each column's mean; units are resampled."""
    defined = ~np.isnan(values)
    m, k = contrast.n_units, values.shape[1]
    if not draws.resamples or m < 2:
        return [(NAN, NAN)] * k
    sums, counts = (
        np.stack([np.bincount(contrast.units, column, m) for column in columns.T], axis=1)
        for columns in (np.where(defined, values, 0.0), defined)
    )
    drawn = np.empty((draws.resamples, k))
    for start in range(0, draws.resamples, _BATCH):
        size = min(_BATCH, draws.resamples - start)
        times = np.stack([np.bincount(rng.integers(0, m, m), minlength=m) for _ in range(size)])
        with np.errstate(invalid="ignore"):
            drawn[start : start + size] = (times @ sums) / (times @ counts)
    return [
        central(column, draws.confidence)[1:] if count else (NAN, NAN)
        for column, count in zip(drawn.T, counts.sum(0), strict=True)
    ]
