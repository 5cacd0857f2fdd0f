"""Samples to compare: values, their groups and matched sets, checked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exparity.core.calls import array_of, is_missing, listed
from exparity.core.errors import InputError, name_list, shown
from exparity.types import BoolArray, FloatArray, IntArray


def samples(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[object] | None,
) -> tuple[FloatArray, IntArray, list[str | None] | None]:
    """Return the values as an array, the number of each one's group in ``order``, and its set."""
    scores = array_of(float, values, "values")
    groups = listed(groups, "groups", "the group of each value")
    order = listed(order, "order", "groups")
    pairs = plain_ids(None if pairs is None else listed(pairs, "pairs", "ids of matched sets"))
    strangers = set(groups) - set(order)
    for name, other in (("groups", groups), ("pairs", pairs)):
        if other is not None and len(other) != len(scores):
            raise InputError(f"{len(scores)} values but {len(other)} {name}")
    if np.isinf(scores).any():
        raise InputError(f"value {int(np.flatnonzero(np.isinf(scores))[0])} is infinite")
    if len(order) < 2 or len(set(order)) < len(order):
        raise InputError(f"order must name two or more different groups, not {shown(order)}")
    missing = next((i for i, group in enumerate(groups) if is_missing(group)), None)
    if strangers and missing is not None:
        raise InputError(f"the group of value {missing} is missing; leave the value out")
    if strangers:
        stranger = _quoted(min(strangers, key=str))
        group_list = name_list([_quoted(name) for name in order])
        raise InputError(
            f"group {stranger} is not one of {group_list}; name the groups with order="
        )
    code = {group: i for i, group in enumerate(order)}
    return scores, np.array([code[group] for group in groups], dtype=np.int64), pairs


@dataclass(frozen=True)
class GroupedTexts:
    """The groups and matched sets of n texts, which every test of their scores works with.

    They are checked once, where they are read; what takes them trusts them.

    Attributes:
        order: the groups.
        codes: (n,) number of each text's group in ``order``.
        sets: (n,) matched set of each text, None for one without; None without any.
    """

    order: Sequence[str]
    codes: IntArray
    sets: Sequence[str | None] | None

    @classmethod
    def of(
        cls, groups: Sequence[str], order: Sequence[str], pairs: Sequence[str | None] | None
    ) -> GroupedTexts:
        """Return the texts of some groups.

        Raises:
            InputError: lengths disagree, or a group is not one of ``order``.
        """
        _, codes, sets = samples(np.zeros(len(groups)), groups, order, pairs)
        return cls(order, codes, sets)

    def __len__(self) -> int:
        return len(self.codes)

    def in_group(self, group: str) -> BoolArray:
        """Return (n,) which texts are of a group."""
        return np.asarray(self.codes == self.order.index(group))

    def among(self, groups: Sequence[str]) -> GroupedTexts:
        """Return the texts of some of the groups, which are then in this order."""
        codes = np.full(len(self), -1)
        for code, group in enumerate(groups):
            codes[self.in_group(group)] = code
        chosen = codes >= 0
        return GroupedTexts(groups, codes[chosen], self.sets_of(chosen))

    def sets_of(self, chosen: BoolArray) -> Sequence[str | None] | None:
        """Return the matched sets of some of the (n,) texts."""
        return (
            None if self.sets is None else [self.sets[i] for i in np.flatnonzero(chosen).tolist()]
        )


def _quoted(name: object) -> str:
    """Return a group's name for a message; 0 is not '0'."""
    return f"'{name}'" if isinstance(name, str) else str(name)


def plain_ids(pairs: Sequence[object] | None) -> list[str | None] | None:
    """Return ids of matched sets as text; None for missing ones, which are NaN in data frames."""
    return None if pairs is None else [None if is_missing(name) else str(name) for name in pairs]


def set_index(pairs: Sequence[str | None] | None, kept: BoolArray) -> IntArray | None:
    """Return the number of each kept value's set, of its own if none; None without any set."""
    if pairs is None or all(p is None for p in pairs):
        return None
    rows = np.flatnonzero(kept).tolist()
    names = [f"row\x1f{i}" if pairs[i] is None else f"set\x1f{pairs[i]}" for i in rows]
    numbers = np.unique(np.array(names, dtype=str), return_inverse=True)[1]
    return np.asarray(numbers, dtype=np.int64)


def exchangeable(n: int, sets: IntArray | None) -> IntArray:
    """Number what groups may be permuted within: 0 for all without a partner, and each set."""
    if sets is None:
        return np.zeros(n, dtype=np.int64)
    _, index, size = np.unique(sets, return_inverse=True, return_counts=True)
    return np.where(size[index] > 1, index + 1, 0)


def set_means(values: FloatArray, codes: IntArray, sets: IntArray, groups: int) -> FloatArray:
    """Return the (..., m, groups) means of each group in each matched set; NaN of none."""
    m = int(sets.max()) + 1 if sets.size else 0
    rows = codes.reshape(math.prod(codes.shape[:-1]), codes.shape[-1])
    cells = (np.arange(len(rows))[:, None] * m + sets) * groups + rows
    size = len(rows) * m * groups
    counts = np.bincount(cells.ravel(), minlength=size)
    weights = np.broadcast_to(values, codes.shape).ravel()
    sums = np.bincount(cells.ravel(), weights=weights, minlength=size)
    with np.errstate(invalid="ignore"):
        means: FloatArray = sums / counts
    return means.reshape(*codes.shape[:-1], m, groups)


def complete_sets(means: FloatArray) -> BoolArray:
    """(..., m) True for the sets that have a value of every group; see :func:`set_means`."""
    return np.asarray(~np.isnan(means).any(axis=-1))


def set_differences(values: FloatArray, is_first: BoolArray, sets: IntArray | None) -> FloatArray:
    """Return (..., m) first minus second within each matched set that has values of both groups.

    The mean counts where a group has several of the (..., n) values in one set.
    """
    if sets is None or not sets.size:
        return np.empty((*values.shape[:-1], 0))
    codes = np.broadcast_to((~is_first).astype(np.int64), values.shape)
    means = set_means(values, codes, sets, 2)
    means = means[..., complete_sets(means.reshape(-1, *means.shape[-2:])[0]), :]
    return np.ascontiguousarray(means[..., 0] - means[..., 1])
