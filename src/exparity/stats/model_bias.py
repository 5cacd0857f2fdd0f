"""Bias of a classifier itself: how its predictions differ between groups, before any explanation.

Every difference is first group minus second, in the declared order. Nothing assumes two groups or
two classes. ``docs/bias.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np

from exparity.core.seeding import generator
from exparity.stats.bootstrap import Draws, Interval, interval_of
from exparity.stats.predictions import BiasRow, Predictions
from exparity.stats.samples import TwoGroups, exchangeable, shuffled
from exparity.stats.shares import NAN, Share, correlation_of_shares, difference_interval
from exparity.types import BoolArray, FloatArray, IntArray

_BATCH = 200  # permutations held at once; bounds memory at large n


def is_collapsed(predicted: Sequence[int] | IntArray) -> bool:
    """Return True if a classifier predicts one class for every example."""
    return len(np.unique(np.asarray(predicted))) == 1


def model_bias(data: Predictions, draws: Draws) -> list[BiasRow]:
    """Measure how a classifier's predictions differ between groups."""

    def drawn_for(row: BiasRow) -> dict[str, Any]:
        # The draws of an interval do not depend on what else is drawn.
        rng = generator(draws.seed, row.quantity, row.group, row.group_b, row.class_name)
        return {"confidence": draws.confidence, "resamples": draws.resamples, "rng": rng}

    rows = list(_rate_rows(data, draws.confidence))
    rows += list(_equalised_odds(data, rows))
    for row, pair in _probabilities(data):
        rows += [_matched(row, pair, drawn_for), *_unmatched(row, pair, drawn_for)]
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
            value, low, high = (0.0 - end for end in (row.value, row.ci_high, row.ci_low))
            yield replace(row, quantity="fpr_gap", value=value, ci_low=low, ci_high=high)


# Shares: accuracy, true positive and true negative rate, selection rate


def _rates(data: Predictions) -> Iterator[tuple[str, str, BoolArray, BoolArray]]:
    """Yield quantity, class, (n,) what counts as a hit and (n,) which examples are counted."""
    every = data.members("")
    yield "accuracy", "", data.predicted == data.labels, every
    for i, name in enumerate(data.classes):
        positive, says = data.labels == i, data.predicted == i
        yield "tpr", name, says, positive
        yield "tnr", name, ~says, ~positive
        yield "selection_rate", name, says, every


def _rate_rows(data: Predictions, confidence: float) -> Iterator[BiasRow]:
    for quantity, class_name, hits, counted in _rates(data):
        masks = {group: counted & data.members(group) for group in ("", *data.order)}
        shares = {g: Share(int((hits & mask).sum()), int(mask.sum())) for g, mask in masks.items()}
        for group, share in shares.items():
            ends = share.interval(confidence)
            row = BiasRow(quantity, group, "", class_name, share.value, share.n, *ends)
            yield replace(row, flags=empty(share.n))
        for a, b in combinations(data.order, 2):
            together = correlation_of_shares(hits, masks[a], masks[b], data.sets)
            ends = difference_interval(shares[a], shares[b], confidence, together)
            gap, n = shares[a].value - shares[b].value, shares[a].n + shares[b].n
            row = BiasRow(f"{quantity}_gap", a, b, class_name, gap, n, *ends)
            yield replace(row, flags=empty(min(shares[a].n, shares[b].n)))


def empty(n: int) -> tuple[str, ...]:
    """Return the flag of what is computed from no example."""
    return () if n else ("no_examples",)


def _equalised_odds(data: Predictions, rows: Sequence[BiasRow]) -> Iterator[BiasRow]:
    """Yield the larger of the two gaps that equalised odds wants to be 0, by class."""
    gaps = {(r.quantity, r.group, r.group_b, r.class_name): r for r in rows}
    for (a, b), name in product(combinations(data.order, 2), data.classes):
        n = int((data.members(a) | data.members(b)).sum())
        # The gap of false positive rates is that of true negative rates with the other sign.
        both = [gaps[f"{rate}_gap", a, b, name] for rate in ("tpr", "tnr")]
        flags = tuple(sorted({flag for gap in both for flag in gap.flags}))
        value = float(np.max([abs(gap.value) for gap in both]))  # NaN if one is
        yield BiasRow("equalised_odds_gap", a, b, name, value, n, flags=flags)


# Differences of probabilities

_DrawnFor = Callable[[BiasRow], dict[str, Any]]


def _probabilities(data: Predictions) -> Iterator[tuple[BiasRow, TwoGroups]]:
    """Yield every pair of groups with the probability of the true class, and with each class's.

    The members of a matched set may belong to different classes, as in GECO, or to the same. The
    true class fits both, and is the published form. Of each there is a row without a quantity.
    """
    own = data.probabilities[np.arange(len(data)), data.labels]
    columns = [("", own), *zip(data.classes, data.probabilities.T, strict=True)]
    for a, b in combinations(data.order, 2):
        in_a, in_b = data.members(a), data.members(b)
        for class_name, values in columns:
            defined = ~np.isnan(values)
            lost = ((in_a | in_b) & ~defined).any()
            row = BiasRow("", a, b, class_name, NAN, 0, flags=("undefined_values",) if lost else ())
            yield row, TwoGroups(values, in_a & defined, in_b & defined, data.sets)


def _filled(
    row: BiasRow,
    value: float,
    n: int,
    low: float = NAN,
    high: float = NAN,
    flags: tuple[str, ...] = (),
) -> BiasRow:
    return replace(row, value=value, n=n, ci_low=low, ci_high=high, flags=(*row.flags, *flags))


def _matched(row: BiasRow, groups: TwoGroups, drawn_for: _DrawnFor) -> BiasRow:
    row = replace(row, quantity="apd")
    gaps = np.abs(groups.differences)
    if not len(gaps):
        return _filled(row, NAN, 0, flags=("no_pairs",))
    ends = interval_of((gaps,), np.mean, **drawn_for(row))
    return _filled(row, float(gaps.mean()), len(gaps), *ends)


def _unmatched(row: BiasRow, groups: TwoGroups, drawn_for: _DrawnFor) -> Iterator[BiasRow]:
    from scipy.stats import wasserstein_distance

    values, in_a, in_b, _ = groups
    n = int((in_a | in_b).sum())
    quantities = ("apd_unpaired", "apd_unpaired_by_chance", "probability_gap")
    distance, chance, gap = (replace(row, quantity=quantity) for quantity in quantities)
    if not (in_a.any() and in_b.any()):
        for empty in (distance, chance, gap):
            yield _filled(empty, NAN, n, flags=("no_examples",))
        return
    a, b = values[in_a], values[in_b]
    yield _filled(distance, float(wasserstein_distance(a, b)), n)
    options = drawn_for(chance)
    if options["resamples"]:
        value, low, high = wasserstein_by_chance(groups, **options)
        yield _filled(chance, value, n, low, high)
    else:
        yield _filled(chance, NAN, n, flags=("not_drawn",))
    yield _filled(gap, float(a.mean() - b.mean()), n, *interval_of_gap(groups, **drawn_for(gap)))


def _apd_by_label(data: Predictions) -> BiasRow:
    """Return the prediction difference of the published study's code, for two classes.

    It compares the rows of the two classes, not of two groups. Where classes and groups coincide,
    or sets hold one row of each, this is the same.
    """
    values = data.probabilities[np.arange(len(data)), data.labels]
    defined = ~np.isnan(values)
    flags = () if defined.all() else ("undefined_values",)
    masks = [(data.labels == i) & defined for i in (1, 0)]
    gaps = np.abs(TwoGroups(values, masks[0], masks[1], data.sets).differences)
    if len(gaps):
        value, n = float(gaps.mean()), len(gaps)
    else:
        n = int(defined.sum())
        present = all(mask.any() for mask in masks)
        value = mean_distance(values[masks[0]], values[masks[1]]) if present else NAN
        flags = flags if present else (*flags, "no_examples")
    return BiasRow("apd_by_label", "", "", "", value, n, flags=flags)


# Distances of probabilities


def mean_distance(a: FloatArray, b: FloatArray) -> float:
    """Return the mean distance between a value of ``a`` and one of ``b``, over all such pairs.

    Sorting keeps this from needing all len(a) × len(b) distances at once.
    """
    b = np.sort(b)
    sums = np.concatenate([[0.0], np.cumsum(b)])
    below = np.searchsorted(b, a)
    totals = a * below - sums[below] + (sums[-1] - sums[below]) - a * (len(b) - below)
    return max(0.0, float(totals.mean() / len(b)))


def wasserstein_by_chance(
    groups: TwoGroups, *, confidence: float, resamples: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return the distance to expect where membership in the groups means nothing.

    A distance between two samples is above 0 also where both come from one distribution. Here the
    groups of the values are permuted: within matched sets, and among values without a set.
    """
    values, in_a, in_b, sets = groups
    kept = in_a | in_b
    chosen, first = values[kept], in_a[kept].astype(np.int64)
    block = exchangeable(len(chosen), None if sets is None else sets[kept])
    order = np.argsort(chosen)
    widths = np.diff(chosen[order])
    distances = np.empty(resamples)
    for start in range(0, resamples, _BATCH):
        drawn = shuffled(first, block, min(_BATCH, resamples - start), rng)[:, order]
        below = drawn.cumsum(axis=1)[:, :-1] / first.sum()
        others_below = (1 - drawn).cumsum(axis=1)[:, :-1] / (1 - first).sum()
        distances[start : start + _BATCH] = np.abs(below - others_below) @ widths
    tail = (1 - confidence) / 2
    low, high = np.quantile(distances, (tail, 1 - tail))
    return float(distances.mean()), float(low), float(high)


def interval_of_gap(groups: TwoGroups, **options: Any) -> Interval:
    """Bootstrap interval of the difference of two groups' means, first minus second.

    Matched sets are resampled whole, since their members are not independent; without any, rows
    are resampled within each group.
    """
    values, in_a, in_b, sets = groups
    if sets is None:

        def of_rows(a: FloatArray, b: FloatArray, axis: int) -> Any:
            return a.mean(axis) - b.mean(axis)

        return interval_of((values[in_a], values[in_b]), of_rows, **options)
    kept = in_a | in_b
    index = np.unique(sets[kept], return_inverse=True)[1]
    size = int(index.max()) + 1
    sums: list[FloatArray] = []
    for mask in (in_a[kept], in_b[kept]):
        for weights in (values[kept][mask], np.ones(int(mask.sum()))):
            sums.append(np.bincount(index[mask], weights, size).astype(np.float64))

    def of_sets(*drawn: FloatArray, axis: int) -> Any:
        total_a, n_a, total_b, n_b = (part.sum(axis) for part in drawn)
        return total_a / n_a - total_b / n_b

    return interval_of(tuple(sums), of_sets, paired=True, **options)
