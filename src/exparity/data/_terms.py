"""Words that name a gender, for the co-occurrence bias of datasets (Wilming et al. 2024, A.1.3)."""

from __future__ import annotations

from collections.abc import Sequence

Forms = tuple[tuple[str, ...], ...]

# By form: the object and the possessive, which English tells apart for men alone, count as one.
_PRONOUNS: dict[str, Forms] = {
    "male": (("he",), ("him", "his")),
    "female": (("she",), ("her",)),
    "neutral": (("they",), ("them", "their")),
}


def pronouns_of(groups: Sequence[str]) -> dict[str, Forms]:
    """Return the pronouns of each gender, by form."""
    return {group: _PRONOUNS[group] for group in groups}
