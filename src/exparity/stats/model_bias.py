"""Bias of a classifier itself: how its predictions differ between groups, before any explanation.

Every difference is first group minus second, in the declared order. Nothing assumes two groups or
two classes. ``docs/bias.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.bootstrap import Draws, Mean, Sample, accelerated_interval, central
from exparity.stats.permutations import Labelled, bins_of_distance, permuted_counts
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.quality import quality_rows
from exparity.stats.samples import exchangeable, set_differences
from exparity.stats.shares import Share, correlation_of_shares, difference_interval
from exparity.types import BoolArray, FloatArray, IntArray

# Terms of a distance that are measured in each permutation: more change it by less than draws do.
_MOST_TERMS = 128


def is_collapsed(predicted: Sequence[int] | IntArray) -> bool:
    """Return True if a classifier predicts one class for every example."""
    return len(np.unique(np.asarray(predicted))) == 1


def model_bias(data: Predictions, draws: Draws) -> list[BiasRow]:
    """Measure how a classifier's predictions differ between groups."""
    rows = list(_rate_rows(data, draws.confidence))
    rows += list(_equalised_odds(data, rows))
    rows += quality_rows(data)
    rows += _probability_rows(data, draws)
    if len(data.classes) == 2 and data.order:
        rows.append(_apd_by_label(data))
    return marked_if_collapsed(rows, data.predicted)


def marked_if_collapsed(rows: list[BiasRow], predicted: IntArray) -> list[BiasRow]:
    """Return rows with the flag of a classifier that predicts one class, if it does."""
    if not is_collapsed(predicted):
        return rows
    return [replace(row, flags=(*row.flags, "collapsed")) for row in rows]


def fpr_gaps(rows: Iterable[BiasRow]) -> Iterator[BiasRow]:
    """Yield the gaps of false positive rates: those of true negative rates with the other sign."""
    for row in rows:
        if row.quantity == "tnr_gap":
            yield replace(
                row,
                quantity="fpr_gap",
                value=0.0 - row.value,
                ci_low=0.0 - row.ci_high,
                ci_high=0.0 - row.ci_low,
            )


# Shares: accuracy, true positive and true negative rate, selection rate


def _rates(data: Predictions) -> Iterator[tuple[str, str, BoolArray, BoolArray]]:
    """Yield quantity, class, (n,) what counts as a hit and (n,) which examples are counted."""
    all_examples = data.members("")
    yield "accuracy", "", data.predicted == data.labels, all_examples
    for i, name in enumerate(data.classes):
        positive = data.labels == i
        says = data.predicted == i
        yield "tpr", name, says, positive
        yield "tnr", name, ~says, ~positive
        yield "selection_rate", name, says, all_examples


def _rate_rows(data: Predictions, confidence: float) -> Iterator[BiasRow]:
    for quantity, class_name, hits, counted in _rates(data):
        masks = {group: counted & data.members(group) for group in ("", *data.order)}
        shares = {g: Share(int((hits & mask).sum()), int(mask.sum())) for g, mask in masks.items()}
        for group, share in shares.items():
            measured = share.value, share.n, *share.interval(confidence), empty(share.n)
            row = BiasRow(quantity, group, "", class_name, *measured)
            if quantity == "tpr":
                predicted = np.bincount(data.predicted[masks[group]], minlength=len(data.classes))
                row = replace(row, predicted_counts=tuple(predicted.tolist()))
            yield row
        for a, b in combinations(data.order, 2):
            first = shares[a]
            second = shares[b]
            correlation = correlation_of_shares(hits, masks[a], masks[b], data.sets)
            low, high = difference_interval(first, second, confidence, correlation)
            yield BiasRow(
                f"{quantity}_gap",
                a,
                b,
                class_name,
                first.value - second.value,
                first.n + second.n,
                low,
                high,
                empty(min(first.n, second.n)),
            )


def empty(n: int) -> tuple[str, ...]:
    """Return the flag of what is computed from no example."""
    return () if n else ("no_examples",)


def _equalised_odds(data: Predictions, rows: Sequence[BiasRow]) -> Iterator[BiasRow]:
    """Yield the larger of the two gaps that equalised odds wants to be 0, by class."""
    # The gap of false positive rates is that of true negative rates with the other sign.
    gaps = [row for row in rows if row.quantity in ("tpr_gap", "tnr_gap")]
    for (a, b), name in product(combinations(data.order, 2), data.classes):
        n = int((data.members(a) | data.members(b)).sum())
        both = [row for row in gaps if (row.group, row.group_b, row.class_name) == (a, b, name)]
        flags = tuple(sorted({flag for gap in both for flag in gap.flags}))
        value = float(np.max([abs(gap.value) for gap in both]))  # NaN if one is
        yield BiasRow("equalised_odds_gap", a, b, name, value, n, flags=flags)


# Differences of probabilities

_Measured = tuple[float, int, float, float, tuple[str, ...]]  # value, n, interval and flags


class _TwoGroups(NamedTuple):
    """(n,) defined values of two groups, whether each is of the first, and its matched set."""

    values: FloatArray
    is_first: BoolArray
    sets: IntArray | None


def _two_groups(
    values: FloatArray, in_a: BoolArray, in_b: BoolArray, sets: IntArray | None
) -> tuple[_TwoGroups, tuple[str, ...]]:
    """Return the defined values of two groups, and the flag of there being others."""
    members = in_a | in_b
    defined = ~np.isnan(values)
    kept = members & defined
    groups = _TwoGroups(values[kept], in_a[kept], None if sets is None else sets[kept])
    return groups, () if defined[members].all() else ("undefined_values",)


def _probability_rows(data: Predictions, draws: Draws) -> Iterator[BiasRow]:
    """Yield how the probability of the true class, and of each, differs between every two groups.

    The members of a matched set may belong to different classes, as in GECO, or to the same. The
    true class fits both, and is the published form.
    """
    true_class = data.probabilities[np.arange(len(data)), data.labels]
    columns = [("", true_class), *zip(data.classes, data.probabilities.T, strict=True)]
    for (a, b), (name, values) in product(combinations(data.order, 2), columns):
        groups, flags = _two_groups(values, data.members(a), data.members(b), data.sets)
        lacks_one = len(np.unique(groups.is_first)) < 2
        for quantity, measure in _DIFFERENCES.items():
            measured: _Measured = np.nan, len(groups.values), np.nan, np.nan, empty(0)
            if quantity == "apd" or not lacks_one:
                # The draws of an interval do not depend on what else is drawn.
                rng = generator(draws.seed, quantity, a, b, name)
                measured = measure(groups, draws, rng)
            value, n, low, high, more = measured
            yield BiasRow(quantity, a, b, name, value, n, low, high, (*flags, *more))


def _within_sets(groups: _TwoGroups, draws: Draws, rng: np.random.Generator) -> _Measured:
    gaps = np.abs(set_differences(*groups))
    if not len(gaps):
        return np.nan, 0, np.nan, np.nan, ("no_pairs",)
    sample = Sample(Mean(gaps, np.ones(len(gaps))))
    return float(gaps.mean()), len(gaps), *accelerated_interval([sample], draws, rng)


def _between_groups(groups: _TwoGroups, draws: Draws, rng: np.random.Generator) -> _Measured:
    from scipy.stats import wasserstein_distance

    values, is_first, _ = groups
    distance = float(wasserstein_distance(values[is_first], values[~is_first]))
    return distance, len(values), np.nan, np.nan, ()


def _between_groups_by_chance(
    groups: _TwoGroups, draws: Draws, rng: np.random.Generator
) -> _Measured:
    """Return the distance to expect where membership in the groups means nothing.

    A distance between two samples is above 0 also where both come from one distribution. Here the
    groups of the values are permuted: within matched sets, and among values without a set.
    """
    values, is_first, sets = groups
    if not draws.resamples:
        return np.nan, len(values), np.nan, np.nan, ("not_drawn",)
    blocks = exchangeable(len(values), sets)
    cells, weights = bins_of_distance(values, is_first, blocks, _MOST_TERMS)
    n_cells = len(weights) + 1
    firsts = permuted_counts(Labelled(cells, is_first, blocks), n_cells, draws.resamples, rng)
    others = np.bincount(cells, minlength=n_cells) - firsts
    below = np.cumsum(firsts, axis=1)[:, :-1] / is_first.sum()
    others_below = np.cumsum(others, axis=1)[:, :-1] / (~is_first).sum()
    distances = np.abs(below - others_below) @ weights
    mean, low, high = central(distances, draws.confidence)
    return mean, len(values), low, high, ()


def _of_means(groups: _TwoGroups, draws: Draws, rng: np.random.Generator) -> _Measured:
    """Return the difference of two groups' means, first minus second.

    Matched sets are resampled whole, since their members are not independent; without any, rows
    are resampled within each group.
    """
    values, is_first, sets = groups
    first = values[is_first]
    second = values[~is_first]
    gap = float(first.mean() - second.mean())
    if sets is None:
        samples = [
            Sample(Mean(first, np.ones(len(first)))),
            Sample(Mean(second, np.ones(len(second))), sign=-1),
        ]
    else:
        units = np.unique(sets, return_inverse=True)[1]
        n_units = int(units.max()) + 1
        first_mean = Mean.over(first, units[is_first], n_units)
        second_mean = Mean.over(second, units[~is_first], n_units)
        samples = [Sample(first_mean, second_mean)]
    return gap, len(values), *accelerated_interval(samples, draws, rng)


_DIFFERENCES = {
    "apd": _within_sets,
    "apd_unpaired": _between_groups,
    "apd_unpaired_by_chance": _between_groups_by_chance,
    "probability_gap": _of_means,
}


def _apd_by_label(data: Predictions) -> BiasRow:
    """Return the prediction difference of the published study's code, for two classes.

    It compares the rows of the two classes, not of two groups. Where classes and groups coincide,
    or sets hold one row of each, this is the same.
    """
    true_class = data.probabilities[np.arange(len(data)), data.labels]
    classes, flags = _two_groups(true_class, data.labels == 1, data.labels == 0, data.sets)
    gaps = np.abs(set_differences(*classes))
    n = len(gaps)
    value = float(gaps.mean()) if n else np.nan
    if not n:
        values, is_first, _ = classes
        n = len(values)
        if is_first.any() and not is_first.all():
            value = mean_distance(values[is_first], values[~is_first])
        else:
            flags = (*flags, *empty(0))
    return BiasRow("apd_by_label", "", "", "", value, n, flags=flags)


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Return the mean distance between a value of ``a`` and one of ``b``, over all such pairs.

    Sorting keeps this from needing all len(a) × len(b) distances at once.
    """
    b = np.sort(b)
    sums = np.concatenate([[0.0], np.cumsum(b)])
    below = np.searchsorted(b, a)
    totals = a * below - sums[below] + (sums[-1] - sums[below]) - a * (len(b) - below)
    return max(0.0, float(totals.mean() / len(b)))
