"""Embedded male/female pairs in GECO's format, variant 'subj'."""

from __future__ import annotations

from exparity.data import dataset
from exparity.data._pairs import facts_of, load_variant
from exparity.data.files import DataSource
from exparity.interface import Count, Example, Share


@dataset("pairs_subj", **facts_of("subj"))
def pairs_subj(
    source: DataSource, *, n_pairs: Count = 800, test_share: Share = 0.2, generator_seed: int = 0
) -> list[Example]:
    """Generated pairs that differ in the words of the grammatical subject alone.

    Args:
        source: not used; the sentences come from a grammar.
        n_pairs: number of pairs in both splits together.
        test_share: share of the pairs in the test split, in (0, 1).
        generator_seed: seed of the grammar; another one gives other sentences.

    Returns:
        Two examples per pair; no template occurs in both splits.

    Raises:
        InputError: a number out of range.
    """
    return load_variant("subj", n_pairs, test_share, generator_seed)
