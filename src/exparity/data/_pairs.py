"""What the two variants of the embedded pairs share: facts and loading."""

from __future__ import annotations

from typing import Any, cast

from exparity.core.errors import InputError
from exparity.data._gecoformat import GROUPS, LABELS
from exparity.data._terms import pronouns_of
from exparity.interface import Example


def facts_of(variant: str) -> dict[str, Any]:
    """Return the facts of a variant (``all`` or ``subj``)."""
    return {
        "attribute": "gender",
        "groups": GROUPS,
        "labels": LABELS,
        "matched": True,
        "rationales": True,
        "licence": "MIT",
        "reference": "exparity's own grammar, in the format of Wilming et al. 2024",
        "display": f"Pairs-{variant.upper()}",
        "group_terms": pronouns_of(GROUPS),
    }


def load_variant(variant: str, n_pairs: int, test_share: float, seed: int) -> list[Example]:
    """Generate a variant's examples.

    Raises:
        InputError: a number out of range.
    """
    from exparity.data._grammar import generate_pairs

    try:
        sentences = generate_pairs(variant, n_pairs=n_pairs, test_share=test_share, seed=seed)
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
