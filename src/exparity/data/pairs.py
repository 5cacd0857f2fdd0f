"""Embedded male/female pairs in GECO's format, in two variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from exparity.core.errors import InputError
from exparity.data import dataset
from exparity.data._gecoformat import GROUPS, LABELS
from exparity.data._terms import pronouns_of
from exparity.data.files import DataSource
from exparity.interface import Count, Example, Share


def _generated(variant: str, changed: str) -> Callable[..., list[Example]]:
    def load(
        source: DataSource,
        *,
        n_pairs: Count = 800,
        test_share: Share = 0.2,
        generator_seed: int = 0,
    ) -> list[Example]:
        from exparity.data._grammar import generate_pairs

        try:
            sentences = generate_pairs(
                variant, n_pairs=n_pairs, test_share=test_share, seed=generator_seed
            )
        except ValueError as error:
            raise InputError(f"dataset pairs_{variant}: {error}") from None
        return [
            Example(
                example_id=f"{sentence.pair:04d}-{sentence.gender}",
                words=sentence.words,
                label=LABELS.index(sentence.gender),
                group=sentence.gender,
                split=cast(Any, sentence.split),
                match_id=f"{sentence.pair:04d}",
                rationale=sentence.rationale,
                attributes={"template": sentence.template},
            )
            for sentence in sentences
        ]

    load.__doc__ = f"""Generated pairs that differ in {changed}.

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
    return load


for _variant, _changed in {
    "all": "every gendered word",
    "subj": "the words of the grammatical subject alone",
}.items():
    dataset(
        f"pairs_{_variant}",
        attribute="gender",
        groups=GROUPS,
        labels=LABELS,
        matched=True,
        rationales=True,
        licence="MIT",
        reference="exparity's own grammar, in the format of Wilming et al. 2024",
        display=f"Pairs-{_variant.upper()}",
        group_terms=pronouns_of(GROUPS),
    )(_generated(_variant, _changed))
