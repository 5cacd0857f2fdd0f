"""Bias of a classifier itself: how its predictions differ between groups, before any explanation.

Every difference is first group minus second, in the declared order. Nothing assumes two groups or
two classes. ``docs/bias.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from exparity.core.errors import InputError
from exparity.core.seeding import generator
from exparity.interface import BoolArray, FloatArray, IntArray
from exparity.stats.checks import MAX_RESAMPLES
from exparity.stats.prediction_difference import (
    interval_of_gap,
    interval_of_mean,
    mean_distance,
    set_differences,
    wasserstein,
    wasserstein_by_chance,
)
from exparity.stats.sets import plain_ids, set_index
from exparity.stats.shares import NAN, Share, correlation_of_shares, difference_interval


@dataclass(frozen=True)
class BiasRow:
    """One quantity of one classifier.

    Attributes:
        quantity: ``accuracy``, ``tpr``, ``apd``, ...; see ``docs/bias.md``.
        group: the group, or the first of two; empty for all examples.
        group_b: the second of two groups; else empty.
        class_name: the class that counts as positive, or whose probability is compared; empty
            where there is none.
        value: the quantity; NaN where undefined.
        n: what it is computed from: examples, or matched sets for ``apd``.
        ci_low: lower end of its interval; NaN where there is none.
        ci_high: upper end.
        flags: what to know before using the row.
    """

    quantity: str
    group: str
    group_b: str
    class_name: str
    value: float
    n: int
    ci_low: float = NAN
    ci_high: float = NAN
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Predictions:
    """The predictions of one classifier as arrays.

    Attributes:
        labels: (n,) true class.
        predicted: (n,) predicted class.
        probabilities: (n, c).
        groups: (n,) index of the group.
        sets: (n,) index of the matched set, one of its own for an example without; None if no
            example has one.
        order: names of the groups.
        classes: names of the classes.
    """

    labels: IntArray
    predicted: IntArray
    probabilities: FloatArray
    groups: IntArray
    sets: IntArray | None
    order: Sequence[str]
    classes: Sequence[str]

    def __len__(self) -> int:
        return len(self.labels)

    def members(self, group: str) -> BoolArray:
        """Return an (n,) mask: the examples of a group, or all for an empty name."""
        if not group:
            return np.ones(len(self), dtype=bool)
        return np.asarray(self.groups == self.order.index(group))


@dataclass(frozen=True)
class _Settings:
    confidence: float
    resamples: int
    seed: int

    def of(self, *key: str) -> dict[str, Any]:
        """Return the settings of one interval; its draws do not depend on what else is drawn."""
        rng = generator(self.seed, *key)
        return {"confidence": self.confidence, "resamples": self.resamples, "rng": rng}


def is_collapsed(predicted: Sequence[int] | IntArray) -> bool:
    """Return True if a classifier predicts one class for every example."""
    return len(np.unique(np.asarray(predicted))) == 1


def model_bias(
    labels: Sequence[int],
    predicted: Sequence[int],
    probabilities: Sequence[Sequence[float]] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    classes: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> list[BiasRow]:
    """Measure how a classifier's predictions differ between groups.

    Args:
        labels: (n,) true class of each example.
        predicted: (n,) predicted class.
        probabilities: (n, c) probability of each class, in [0, 1]; NaN is left out and flagged.
        groups: (n,) group of each example.
        order: names of the groups; fixes the sign of every difference.
        classes: (c,) names of the classes.
        pairs: (n,) matched set of each example, None (or NaN, as data frames have it) for examples
            without one.
        confidence: coverage of the intervals.
        resamples: bootstrap resamples, and permutations, of the prediction differences; 0 leaves
            their intervals out, and what is expected by chance.
        seed: seed of the draws.

    Returns:
        One row per quantity, group or pair of groups, and class. A declared group or class without
        examples gives rows of NaN with the flag ``no_examples``.

    Raises:
        InputError: no example, lengths disagree, an unknown group or class, fewer than two groups
            or classes, a name that is empty or given twice, or an option out of range.
    """
    if not 0 < confidence < 1:
        raise InputError(f"statistics.confidence must be between 0 and 1, not {confidence}")
    if not 0 <= resamples <= MAX_RESAMPLES:
        raise InputError(f"statistics.resamples must be 0 to {MAX_RESAMPLES:,}, not {resamples}")
    data = _checked(labels, predicted, probabilities, groups, order, classes, pairs)
    settings = _Settings(confidence, resamples, seed)
    rows: list[BiasRow] = []
    for rate in _rates(data):
        rows += _rate_rows(data, rate, confidence)
    rows += _equalised_odds(data, rows)
    for pair in _pairs(data):
        rows += [_matched(pair, settings), *_unmatched(pair, settings)]
    if len(data.classes) == 2:
        rows.append(_apd_by_label(data))
    if is_collapsed(data.predicted):
        rows = [replace(row, flags=(*row.flags, "collapsed")) for row in rows]
    return rows


def _checked(
    labels: Sequence[int],
    predicted: Sequence[int],
    probabilities: Sequence[Sequence[float]] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    classes: Sequence[str],
    pairs: Sequence[str | None] | None,
) -> _Predictions:
    for kind, names in (("groups", order), ("classes", classes)):
        if len(names) < 2 or len(set(names)) != len(names) or "" in names:
            raise InputError(f"{kind} must be two or more different names, not {list(names)}")
    n = len(labels)
    if not n:
        raise InputError("there are no predictions")
    for name, other in (
        ("predicted classes", predicted), ("probabilities", probabilities), ("groups", groups),
        ("pairs", pairs),
    ):  # fmt: skip
        if other is not None and len(other) != n:
            raise InputError(f"{n} labels but {len(other)} {name}")
    for i, row in enumerate(probabilities):
        if len(row) != len(classes):
            raise InputError(
                f"row {i}: {len(row)} probabilities for {len(classes)} classes "
                f"({', '.join(classes)})"
            )
    shares = np.array(probabilities, dtype=np.float64)
    if ((shares < 0) | (shares > 1 + 1e-6)).any():
        worst = int(np.argwhere((shares < 0) | (shares > 1 + 1e-6))[0][0])
        raise InputError(f"row {worst}: a probability is not between 0 and 1")
    for name, indices in (("label", labels), ("predicted class", predicted)):
        for i, value in enumerate(indices):
            if not 0 <= value < len(classes):
                raise InputError(f"row {i}: {name} {value} is not one of {len(classes)} classes")
    index = {group: i for i, group in enumerate(order)}
    for i, group in enumerate(groups):
        if group not in index:
            raise InputError(f"row {i}: group '{group}' is not one of {', '.join(order)}")
    return _Predictions(
        labels=np.array(labels, dtype=np.int64),
        predicted=np.array(predicted, dtype=np.int64),
        probabilities=shares,
        groups=np.array([index[group] for group in groups], dtype=np.int64),
        sets=set_index(plain_ids(pairs), np.ones(n, dtype=bool)),
        order=list(order),
        classes=list(classes),
    )


# Shares: accuracy, true positive and true negative rate, selection rate


@dataclass(frozen=True, eq=False)
class _Rate:
    """A share of examples: the ``counted`` ones that are ``hits``, both (n,) masks."""

    quantity: str
    class_name: str
    hits: BoolArray
    counted: BoolArray

    def of(self, members: BoolArray) -> Share:
        mask = self.counted & members
        return Share(int((self.hits & mask).sum()), int(mask.sum()))


def _rates(data: _Predictions) -> Iterator[_Rate]:
    every = data.members("")
    yield _Rate("accuracy", "", data.predicted == data.labels, every)
    for i, name in enumerate(data.classes):
        positive, says = data.labels == i, data.predicted == i
        yield _Rate("tpr", name, says, positive)
        yield _Rate("tnr", name, ~says, ~positive)
        yield _Rate("selection_rate", name, says, every)


def _rate_rows(data: _Predictions, rate: _Rate, confidence: float) -> Iterator[BiasRow]:
    for group in ("", *data.order):
        share = rate.of(data.members(group))
        yield BiasRow(
            rate.quantity, group, "", rate.class_name, share.value, share.n,
            *share.interval(confidence), flags=_empty(share.n),
        )  # fmt: skip
    for a, b in combinations(data.order, 2):
        masks = [rate.counted & data.members(group) for group in (a, b)]
        first, second = (rate.of(mask) for mask in masks)
        together = correlation_of_shares(rate.hits, masks[0], masks[1], data.sets)
        yield BiasRow(
            f"{rate.quantity}_gap", a, b, rate.class_name,
            first.value - second.value, first.n + second.n,
            *difference_interval(first, second, confidence, together),
            flags=_empty(min(first.n, second.n)),
        )  # fmt: skip


def _empty(n: int) -> tuple[str, ...]:
    return () if n else ("no_examples",)


def _equalised_odds(data: _Predictions, rows: Sequence[BiasRow]) -> list[BiasRow]:
    """Return the larger of the two gaps that equalised odds wants to be 0, by class."""
    gaps = {(r.quantity, r.group, r.group_b, r.class_name): r for r in rows}
    gap_rows = []
    for a, b in combinations(data.order, 2):
        n = int((data.members(a) | data.members(b)).sum())
        for name in data.classes:
            # The gap of false positive rates is that of true negative rates with the other sign.
            both = [gaps[f"{rate}_gap", a, b, name] for rate in ("tpr", "tnr")]
            flags = tuple(sorted({flag for gap in both for flag in gap.flags}))
            value = float(np.max([abs(gap.value) for gap in both]))  # NaN if one is
            gap_rows.append(BiasRow("equalised_odds_gap", a, b, name, value, n, flags=flags))
    return gap_rows


# Differences of probabilities


@dataclass(frozen=True, eq=False)
class _Pair:
    """One probability of every example, to be compared between two groups.

    Attributes:
        a: first group.
        b: second group.
        class_name: whose probability; empty for that of each example's true class.
        values: (n,) the probabilities.
        in_a: (n,) True for defined values of the first group.
        in_b: (n,) True for those of the second.
        sets: as in :class:`_Predictions`.
        flags: of every row that is made of it.
    """

    a: str
    b: str
    class_name: str
    values: FloatArray
    in_a: BoolArray
    in_b: BoolArray
    sets: IntArray | None
    flags: tuple[str, ...]

    @property
    def present(self) -> bool:
        """Whether both groups have a value."""
        return bool(self.in_a.any() and self.in_b.any())

    def row(
        self,
        quantity: str,
        value: float,
        n: int,
        low: float = NAN,
        high: float = NAN,
        flags: tuple[str, ...] = (),
    ) -> BiasRow:
        return BiasRow(
            quantity, self.a, self.b, self.class_name, value, n, low, high, (*self.flags, *flags)
        )

    def key(self, quantity: str) -> tuple[str, ...]:
        return quantity, self.a, self.b, self.class_name


def _pairs(data: _Predictions) -> Iterator[_Pair]:
    """Yield every pair of groups with the probability of the true class, and with each class's.

    The members of a matched set may belong to different classes, as in GECO, or to the same. The
    true class fits both, and is the published form.
    """
    own = data.probabilities[np.arange(len(data)), data.labels]
    columns = [("", own), *zip(data.classes, data.probabilities.T, strict=True)]
    for a, b in combinations(data.order, 2):
        for class_name, values in columns:
            defined = ~np.isnan(values)
            masks = [data.members(group) for group in (a, b)]
            lost = bool(((masks[0] | masks[1]) & ~defined).any())
            yield _Pair(
                a, b, class_name, values, masks[0] & defined, masks[1] & defined, data.sets,
                ("undefined_values",) if lost else (),
            )  # fmt: skip


def _matched(pair: _Pair, settings: _Settings) -> BiasRow:
    gaps = np.abs(set_differences(pair.values, pair.in_a, pair.in_b, pair.sets))
    if not len(gaps):
        return pair.row("apd", NAN, 0, flags=("no_pairs",))
    low, high, flags = interval_of_mean(gaps, **settings.of(*pair.key("apd")))
    return pair.row("apd", float(gaps.mean()), len(gaps), low, high, flags)


def _unmatched(pair: _Pair, settings: _Settings) -> Iterator[BiasRow]:
    n = int((pair.in_a | pair.in_b).sum())
    chance = "apd_unpaired_by_chance"
    if not pair.present:
        for quantity in ("apd_unpaired", chance, "probability_gap"):
            yield pair.row(quantity, NAN, n, flags=("no_examples",))
        return
    arrays = (pair.values, pair.in_a, pair.in_b, pair.sets)
    a, b = pair.values[pair.in_a], pair.values[pair.in_b]
    yield pair.row("apd_unpaired", wasserstein(a, b), n)
    if settings.resamples:
        value, low, high = wasserstein_by_chance(*arrays, **settings.of(*pair.key(chance)))
        yield pair.row(chance, value, n, low, high)
    else:
        yield pair.row(chance, NAN, n, flags=("not_drawn",))
    low, high, flags = interval_of_gap(*arrays, **settings.of(*pair.key("probability_gap")))
    yield pair.row("probability_gap", float(a.mean() - b.mean()), n, low, high, flags)


def _apd_by_label(data: _Predictions) -> BiasRow:
    """Return the prediction difference of the published study's code, for two classes.

    It compares the rows of the two classes, not of two groups. Where classes and groups coincide,
    or sets hold one row of each, this is the same.
    """
    values = data.probabilities[np.arange(len(data)), data.labels]
    defined = ~np.isnan(values)
    flags = () if defined.all() else ("undefined_values",)
    masks = [(data.labels == i) & defined for i in (1, 0)]
    gaps = np.abs(set_differences(values, masks[0], masks[1], data.sets))
    if len(gaps):
        value, n = float(gaps.mean()), len(gaps)
    else:
        n = int(defined.sum())
        present = all(mask.any() for mask in masks)
        value = mean_distance(values[masks[0]], values[masks[1]]) if present else NAN
        flags = flags if present else (*flags, "no_examples")
    return BiasRow("apd_by_label", "", "", "", value, n, flags=flags)
