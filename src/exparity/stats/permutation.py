"""The permutation control: the same tests with group labels that mean nothing.

Where labels are dealt out at random there is no difference to find, so that a test must call the
share α of them significant. What it calls significant beyond that is not evidence either where
labels are real.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Literal

import numpy as np

from exparity.core.errors import InputError
from exparity.core.seeding import derive_seed
from exparity.stats.rank_tests import friedman, kruskal_wallis, mann_whitney, signed_rank
from exparity.stats.samples import (
    check_options,
    complete,
    groups_present,
    samples,
    set_index,
    set_means,
)
from exparity.types import BoolArray, FloatArray, IntArray

Scheme = Literal["within_sets", "across_rows"]
Test = Literal["mann_whitney", "wilcoxon", "kruskal_wallis", "friedman"]


@dataclass(frozen=True)
class PermutedTest:
    """How often one test found a difference between groups whose labels were permuted.

    Attributes:
        scheme: ``within_sets`` (labels change places inside each matched set) or ``across_rows``
            (over all rows).
        test: ``mann_whitney`` or ``wilcoxon`` for two groups, ``kruskal_wallis`` or ``friedman``
            for all groups of more than two.
        group_a, group_b: first and second group; empty for a test over all groups.
        n_permutations: permutations tested; 0 where nothing can be tested.
        n_significant: of these, those with p at most α.
        rate: share of significant ones; NaN where nothing can be tested.
        flags: why nothing was tested (``too_few``, ``constant``, ``no_differences``), and
            ``undefined_values``.
    """

    scheme: str
    test: str
    group_a: str
    group_b: str
    n_permutations: int
    n_significant: int
    rate: float
    flags: list[str] = field(default_factory=list)


def permutation_control(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: Sequence[str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float = 0.05,
    repeats: int = 100,
    schemes: tuple[Scheme, ...] = ("within_sets", "across_rows"),
    seed: int = 0,
) -> list[PermutedTest]:
    """Permute the group labels of one metric's values and test each permutation.

    Within sets, the labels of a matched set change places; rows that have no row of another group
    in their set change places with each other. Group sizes stay as they are.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example.
        order: two or more groups. Of more than two, each pair is permuted by itself, and all of
            them together.
        pairs: (n,) matched set of each example; see
            :func:`~exparity.stats.compare.compare_groups`.
        alpha: largest p-value that is significant.
        repeats: permutations per test.
        schemes: how labels are permuted; without matched sets only ``across_rows`` is.
        seed: seed of the permutations.

    Returns:
        One result per scheme, pair of groups (and all groups) and test.

    Raises:
        InputError: as :func:`~exparity.stats.compare.compare_groups`; ``repeats`` is not
            positive, or ``schemes`` is empty or names an unknown one.
    """
    check_options(alpha=alpha)
    if repeats < 1:
        raise InputError(f"controls.permutation.repeats must be 1 or more, not {repeats}")
    if not schemes or set(schemes) - {"within_sets", "across_rows"}:
        raise InputError(
            "controls.permutation.schemes must name within_sets, across_rows or both, "
            f"not {list(schemes)}"
        )
    scores, codes, names = samples(values, groups, order, pairs)
    results = []
    for chosen in _chosen_together(codes[~np.isnan(scores)], len(order)):
        members = np.isin(codes, chosen)
        unit = _Unit(
            scores[members],
            np.searchsorted(chosen, codes[members]),
            None if names is None else [names[i] for i in np.flatnonzero(members)],
            len(chosen),
        )
        a, b = (order[i] for i in chosen) if len(chosen) == 2 else ("", "")
        for scheme in dict.fromkeys(schemes):
            if scheme == "within_sets" and unit.sets is None:
                continue
            rng = np.random.default_rng(derive_seed(seed, scheme, a, b))
            for test, p, flags in unit.tested(scheme, repeats, rng):
                hits, n = int((p <= alpha).sum()), len(p)
                rate = hits / n if n else float("nan")
                results.append(PermutedTest(scheme, test, a, b, n, hits, rate, list(flags)))
    return results


def shuffled(codes: IntArray, blocks: IntArray, repeats: int, rng: np.random.Generator) -> IntArray:
    """Deal labels out at random inside each block.

    Args:
        codes: (n,) labels.
        blocks: (n,) block of each one.
        repeats: how many times.
        rng: source of the draws.

    Returns:
        (repeats, n) labels; those of a block are the same, in another order.
    """
    home = np.argsort(blocks, kind="stable")
    by_block = np.broadcast_to(blocks, (repeats, len(codes)))
    drawn = np.lexsort((rng.random(by_block.shape), by_block), axis=-1)
    permuted = np.empty_like(drawn)
    permuted[:, home] = codes[drawn]
    return permuted


def _chosen_together(codes: IntArray, groups: int) -> Iterator[tuple[int, ...]]:
    """Yield what is permuted together: every pair of groups, and all if they are more.

    Of all groups those take part that the real test compares.
    """
    yield from combinations(range(groups), 2)
    if groups > 2:
        present = groups_present(codes, groups).tolist()
        yield tuple(present if len(present) > 2 else range(groups))


class _Unit:
    """The values of the groups that are permuted together.

    Attributes:
        sets: number of each defined value's matched set; None where there are no sets.
    """

    def __init__(
        self,
        scores: FloatArray,
        codes: IntArray,
        names: Sequence[str | None] | None,
        groups: int,
    ) -> None:
        defined = ~np.isnan(scores)
        self.scores, self.codes, self.groups = scores[defined], codes[defined], groups
        self.sets = set_index(names, defined)
        self.flags = [] if defined.all() else ["undefined_values"]

    def tested(
        self, scheme: Scheme, repeats: int, rng: np.random.Generator
    ) -> Iterator[tuple[Test, FloatArray, list[str]]]:
        """Yield each test with its p-values, none where it cannot be made, and flags."""
        on_rows: Test = "mann_whitney" if self.groups == 2 else "kruskal_wallis"
        on_sets: Test = "wilcoxon" if self.groups == 2 else "friedman"
        within = scheme == "within_sets"
        problem = ""
        if np.bincount(self.codes, minlength=self.groups).min() < 2:
            problem = "too_few"
        elif not np.ptp(self.scores):
            problem = "constant"
        if problem:
            for test in (on_rows, on_sets) if within else (on_rows,):
                yield test, np.zeros(0), [*self.flags, problem]
            return
        blocks = self._blocks() if within else np.zeros_like(self.codes)
        labels = shuffled(self.codes, blocks, repeats, rng)
        yield on_rows, self._on_rows(labels), self.flags
        if within:
            p, problem = self._on_sets(labels)
            yield on_sets, p, [*self.flags, problem] if problem else self.flags

    def _blocks(self) -> IntArray:
        """Return the set of each row; rows whose set has no other group are a block together."""
        assert self.sets is not None
        present = ~np.isnan(set_means(self.scores, self.codes, self.sets, self.groups))
        mixed: BoolArray = present.sum(axis=-1) > 1
        return np.where(mixed[self.sets], self.sets, -1)

    def _on_rows(self, labels: IntArray) -> FloatArray:
        values = np.broadcast_to(self.scores, labels.shape)
        parts = [values[labels == code].reshape(len(labels), -1) for code in range(self.groups)]
        return (mann_whitney(*parts) if self.groups == 2 else kruskal_wallis(parts))[1]

    def _on_sets(self, labels: IntArray) -> tuple[FloatArray, str]:
        """Test the sets with all groups; their labels stay inside, so that they stay complete."""
        assert self.sets is not None
        whole = complete(set_means(self.scores, self.codes, self.sets, self.groups))
        if whole.sum() < 2:
            return np.zeros(0), "too_few"
        rows = whole[self.sets]
        sets = np.unique(self.sets[rows], return_inverse=True)[1]
        means = set_means(self.scores[rows], labels[:, rows], sets, self.groups)
        if not np.ptp(means, axis=-1).any():
            return np.zeros(0), "no_differences"
        p = signed_rank(means[..., 0] - means[..., 1]) if self.groups == 2 else friedman(means)[1]
        return p, ""
