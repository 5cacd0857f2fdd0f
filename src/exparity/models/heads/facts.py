"""Facts that a kind of classifier declares on registering."""

from __future__ import annotations

from dataclasses import dataclass

from exparity.types import Facts


@dataclass(frozen=True, kw_only=True)
class HeadFacts(Facts):
    """Facts of a kind of classifier.

    Attributes:
        auto: name of the Auto class of transformers that loads and builds its models.
        prompted: whether a prompt is asked, so that no weight may be new and none is added.
    """

    auto: str
    prompted: bool = False
