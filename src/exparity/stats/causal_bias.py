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
from exparity.stats.bootstrap import Draws, Mean, Sample, percentile_interval
from exparity.stats.model_bias import empty, marked_if_collapsed
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.rms import Sides, rms_of_groups, rms_rows
from exparity.stats.shares import Share, paired_difference_interval
from exparity.types import BoolArray, FloatArray


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


def causal_bias(
    data: Predictions, counterfactuals: Sequence[CounterfactualPrediction], draws: Draws
) -> list[BiasRow]:
    """Return how predictions change with the group alone, beside how they differ between groups."""
    # What is predicted under do(group), for each group.
    is_group = np.arange(len(data.order))[:, None] == data.groups  # (g, n)
    predicted = np.where(is_group, data.predicted, -1)
    probabilities = np.where(is_group[..., None], data.probabilities, np.nan)
    changed = np.zeros_like(is_group)
    index = {group: i for i, group in enumerate(data.order)}
    for prediction in counterfactuals:
        place = index[prediction.group], prediction.index
        predicted[place] = prediction.predicted
        probabilities[place] = prediction.probabilities
        changed[place] = prediction.n_changed > 0
    rows = list(rms_of_groups(data, draws))
    units = np.arange(len(data)) if data.sets is None else data.sets
    for i, j in combinations(range(len(data.order)), 2):
        both = (predicted[i] >= 0) & (predicted[j] >= 0)
        flags = [] if both.all() else ["missing_counterfactuals"]
        if (both & ~(changed[i] | changed[j])).any():
            flags.append("unchanged_texts")
        groups = data.order[i], data.order[j]
        sides = Sides(  # the examples with a prediction under both, under do(first) and do(second)
            second=np.repeat([False, True], both.sum()),
            labels=np.tile(data.labels[both], 2),
            predicted=predicted[[i, j]][:, both].ravel(),
            units=np.tile(np.unique(units[both], return_inverse=True)[1], 2),
            n_classes=len(data.classes),
            paired=True,
        )
        for row in (
            *_shares(groups, sides, data.classes, draws.confidence),
            *_probability_gaps(groups, sides, probabilities[[i, j]][:, both], data.classes, draws),
            *rms_rows("causal_", groups, sides, draws),
        ):
            rows.append(replace(row, flags=(*flags, *row.flags)))
    return marked_if_collapsed(rows, data.predicted)


def _shares(
    groups: tuple[str, str], sides: Sides, classes: Sequence[str], confidence: float
) -> Iterator[BiasRow]:
    """Yield the gaps of rates, and the share of examples whose predicted class changes."""
    predicted = sides.predicted.reshape(2, -1)
    labels = sides.labels.reshape(2, -1)[0]
    units = sides.units.reshape(2, -1)[0]
    all_examples = np.ones_like(labels, dtype=bool)

    def row(quantity: str, name: str, hits: BoolArray, counted: BoolArray) -> BiasRow:
        """Return a share of the counted examples, or the difference of the two of (2, n) hits."""
        n = int(counted.sum())
        hits = hits[..., counted]
        if not n:
            return BiasRow(quantity, *groups, name, np.nan, 0, flags=empty(0))
        independent = len(np.unique(units[counted]))
        if hits.ndim == 1:
            value = int(hits.sum()) / n
            ends = Share(value * independent, independent).interval(confidence)
        else:
            a, b = hits
            value = (int(a.sum()) - int(b.sum())) / n
            cells = (a & b, a & ~b, b & ~a, ~a & ~b)
            counts = [int(cell.sum()) * independent / n for cell in cells]
            ends = paired_difference_interval(counts, independent, confidence)
        return BiasRow(quantity, *groups, name, value, n, *ends)

    for c, name in enumerate(classes):
        says = predicted == c
        positive = labels == c
        yield row("causal_tpr_gap", name, says, positive)
        yield row("causal_fpr_gap", name, says, ~positive)
        yield row("causal_fpr_gap_by_code", name, predicted == labels, ~positive)
        yield row("causal_selection_rate_gap", name, says, all_examples)
    flipped = predicted[0] != predicted[1]
    yield row("flip_rate", "", flipped, all_examples)
    for c, name in enumerate(classes):
        yield row("flip_rate", name, flipped, labels == c)


def _probability_gaps(
    groups: tuple[str, str],
    sides: Sides,
    probabilities: FloatArray,
    classes: Sequence[str],
    draws: Draws,
) -> Iterator[BiasRow]:
    """Yield mean and mean size of the change of a probability: of the true class, and of each.

    ``probabilities`` are (2, n, c), under do(first) and under do(second).
    """
    n = probabilities.shape[1]
    true_class = probabilities[:, np.arange(n), sides.labels[:n]]  # (2, n)
    columns = np.concatenate([true_class[..., None], probabilities], axis=-1)  # (2, n, 1 + c)
    gaps = columns[0] - columns[1]  # (n, 1 + c)
    n_units = int(sides.units.max(initial=-1)) + 1
    for quantity, values in (("causal_probability_gap", gaps), ("causal_apd", np.abs(gaps))):
        for name, column in zip(("", *classes), values.T, strict=True):
            is_defined = ~np.isnan(column)
            defined = column[is_defined]
            flags = () if len(defined) == n else ("undefined_values",)
            flags = (*flags, *empty(len(defined)))
            mean = float(defined.mean()) if len(defined) else np.nan
            # The same draws for all classes.
            rng = generator(draws.seed, quantity, *groups)
            sample = Sample(Mean.over(defined, sides.units[:n][is_defined], n_units))
            low, high = percentile_interval([sample], draws, rng)
            yield BiasRow(quantity, *groups, name, mean, len(defined), low, high, flags)
