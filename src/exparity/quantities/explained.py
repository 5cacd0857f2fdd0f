"""Explanations as they are stored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ExplainedText:
    """A row of explanations.

    Attributes:
        example_id: the text.
        target: index of the explained class.
        tokens: (t,) its tokens.
        word_ids: (t,) number of each token's word; negative for special tokens.
        scores: (t,) attributions.
    """

    example_id: str
    target: int
    tokens: list[str]
    word_ids: list[int]
    scores: list[float]
