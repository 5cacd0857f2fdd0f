"""Attribution that the two members of a matched set give to the words they differ in.

Wilming et al. 2024 (figures 7 and 8) test the differences of all such words as one sample. Words of
one sentence share its attribution, so that here a matched set counts once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from exparity.stats.effect import d_z
from exparity.stats.multiplicity import holm
from exparity.stats.rank_tests import signed_rank
from exparity.types import FloatArray


class WordPair(NamedTuple):
    """A word of the rationale in both members of a matched set, and its shares of attribution."""

    set_id: str
    word_a: str
    word_b: str
    value_a: float
    value_b: float


@dataclass(frozen=True)
class WordDifference:
    """Difference in the attribution of a word between the members of matched sets.

    Attributes:
        word_a: the word in the first group, in lower case; empty for all words of the rationale.
        word_b: the word that it is in the second group.
        n_sets: matched sets that have it.
        n_words: how often they have it.
        mean_a, mean_b: mean over the sets of its share of the attribution in each group.
        mean_difference: mean over the sets of first minus second.
        mean_absolute_difference: mean over the words of the size of the difference.
        d_z: mean over standard deviation of the differences of sets; NaN where undefined.
        p: of Wilcoxon's signed-rank test on these; NaN where there are too few sets.
        p_holm: corrected for the number of words that are tested; that of all words is p itself.
    """

    word_a: str
    word_b: str
    n_sets: int
    n_words: int
    mean_a: float
    mean_b: float
    mean_difference: float
    mean_absolute_difference: float
    d_z: float
    p: float
    p_holm: float


def attribution_differences(
    pairs: Iterable[WordPair], *, min_sets: int = 6
) -> list[WordDifference]:
    """Compare the attribution of words between the members of matched sets.

    Within a set the occurrences of a word are averaged, so that sets are the observations.

    Args:
        pairs: words of the rationale; those with a value that is not finite are left out.
        min_sets: fewest sets that a test is made for; fewer than six cannot be significant at 5 %.

    Returns:
        All words together, then each word, the most frequent first; none if there are no pairs.
    """
    kept = [pair for pair in pairs if np.isfinite(pair.value_a + pair.value_b)]
    if not kept:
        return []
    words: dict[tuple[str, str], list[WordPair]] = defaultdict(list)
    for pair in kept:
        words[pair.word_a.lower(), pair.word_b.lower()].append(pair)
    by_word = [_compared(a, b, part, min_sets) for (a, b), part in words.items()]
    by_word.sort(key=lambda word: (-word.n_sets, word.word_a, word.word_b))
    corrected = holm([word.p for word in by_word]).tolist()
    return [
        _compared("", "", kept, min_sets),
        *(replace(word, p_holm=p) for word, p in zip(by_word, corrected, strict=True)),
    ]


def _compared(word_a: str, word_b: str, pairs: Sequence[WordPair], min_sets: int) -> WordDifference:
    by_set: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for pair in pairs:
        by_set[pair.set_id].append((pair.value_a, pair.value_b))
    means = np.array([np.mean(values, axis=0) for values in by_set.values()])  # (sets, 2)
    differences: FloatArray = means[:, 0] - means[:, 1]
    p = float(signed_rank(differences)) if len(differences) >= min_sets else np.nan
    sizes = [abs(pair.value_a - pair.value_b) for pair in pairs]
    return WordDifference(
        word_a=word_a,
        word_b=word_b,
        n_sets=len(means),
        n_words=len(pairs),
        mean_a=float(means[:, 0].mean()),
        mean_b=float(means[:, 1].mean()),
        mean_difference=float(differences.mean()),
        mean_absolute_difference=float(np.mean(sizes)),
        d_z=float(d_z(differences)) if len(differences) > 1 else np.nan,
        p=p,
        p_holm=p,
    )
