"""Tests of groups whose labels are permuted within matched sets.

Such labels mean nothing, so that a test has to call the share α of them significant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exparity.core.seeding import derive_seed
from exparity.stats.rank_tests import mann_whitney, signed_rank
from exparity.stats.samples import complete_sets, samples, set_index, set_means
from exparity.types import FloatArray, IntArray

NAN = float("nan")
NOT_PERMUTED = {"n_permutations": 0, "permuted_rate": NAN, "permuted_wilcoxon_rate": NAN}
"""What a test says of permuted groups where nothing is permuted."""


def permuted_rates(
    values: Sequence[float] | FloatArray,
    groups: Sequence[str],
    order: tuple[str, str],
    pairs: Sequence[str | None] | None = None,
    *,
    alpha: float,
    permutations: int,
    seed: int,
) -> dict[str, float]:
    """Return how often tests find a difference where labels change places within matched sets.

    Rows that have no row of the other group in their set change places with each other.

    Args:
        values: (n,) one value per example; NaN where undefined.
        groups: (n,) group of each example; those of other groups are left out.
        order: the two groups.
        pairs: (n,) matched set of each example.
        alpha: largest p-value that is significant.
        permutations: how often labels are permuted.
        seed: seed of the permutations.

    Returns:
        ``n_permutations``, 0 where nothing can be permuted; and the share of significant tests, in
        [0, 1], by Mann and Whitney, ``permuted_rate``, and by Wilcoxon, ``permuted_wilcoxon_rate``.
        NaN where a test cannot be made.
    """
    kept = [i for i, group in enumerate(groups) if group in order]
    of_pair = None if pairs is None else [pairs[i] for i in kept]
    scores, codes, names = samples(
        np.asarray(values)[kept], [groups[i] for i in kept], order, of_pair
    )
    defined = ~np.isnan(scores)
    scores, codes, sets = scores[defined], codes[defined], set_index(names, defined)
    rates: dict[str, float] = {**NOT_PERMUTED}
    is_testable = np.bincount(codes, minlength=2).min() >= 2 and bool(np.ptp(scores))
    if not permutations or sets is None or not is_testable:
        return rates
    rng = np.random.default_rng(derive_seed(seed, "within_sets", *order))
    whole = complete_sets(set_means(scores, codes, sets, 2))[
        sets
    ]  # (n,) both groups are in its set
    labels = shuffled(codes, np.where(whole, sets, -1), permutations, rng)
    drawn = np.broadcast_to(scores, labels.shape)
    a, b = (drawn[labels == code].reshape(permutations, -1) for code in (0, 1))
    rates["permuted_rate"] = float((mann_whitney(a, b)[1] <= alpha).mean())
    sets = np.unique(sets[whole], return_inverse=True)[1]
    if sets.size and sets.max() > 0:
        means = set_means(scores[whole], labels[:, whole], sets, 2)
        differences = means[..., 0] - means[..., 1]
        if differences.any():
            p = signed_rank(differences)
            rates["permuted_wilcoxon_rate"] = float((p <= alpha).mean())
    return {**rates, "n_permutations": permutations}


def shuffled(codes: IntArray, blocks: IntArray, repeats: int, rng: np.random.Generator) -> IntArray:
    """Return (repeats, n) labels: the (n,) ``codes``, dealt out anew inside each of ``blocks``."""
    home = np.argsort(blocks, kind="stable")
    by_block = np.broadcast_to(blocks, (repeats, len(codes)))
    drawn = np.lexsort((rng.random(by_block.shape), by_block), axis=-1)
    permuted = np.empty_like(drawn)
    permuted[:, home] = codes[drawn]
    return permuted
