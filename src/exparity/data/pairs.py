"""Embedded male/female pairs in GECO's format, in two variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from exparity.core.flags import Range, Share
from exparity.data import dataset
from exparity.data._known import known_facts
from exparity.data.files import DataSource
from exparity.types import Example

# Every template gives far more distinct pairs than its share of this many (see the tests), whatever
# the test share; a larger corpus would only repeat templates and names.
MAX_PAIRS = 10_000


def _generated(variant: str, changed: str) -> Callable[..., list[Example]]:
    def load(
        source: DataSource,
        *,
        n_pairs: Annotated[int, Range(at_least=1, at_most=MAX_PAIRS)] = 800,
        test_share: Share = 0.2,
        generator_seed: int = 0,
    ) -> list[Example]:
        from exparity.data._grammar import generate_pairs

        return generate_pairs(variant, n_pairs=n_pairs, test_share=test_share, seed=generator_seed)

    load.__doc__ = f"""Generated pairs that differ in {changed}.

    Args:
        source: not used; the sentences come from a grammar.
        n_pairs: number of pairs in both splits together.
        test_share: share of the pairs in the test split, in (0, 1).
        generator_seed: seed of the grammar; another one gives other sentences.

    Returns:
        Two examples per pair; no template occurs in both splits.
    """
    return load


for _variant, _changed in {
    "all": "every gendered word",
    "subj": "the words of the grammatical subject alone",
}.items():
    _id = f"pairs_{_variant}"
    dataset(_id, **known_facts(_id))(_generated(_variant, _changed))
