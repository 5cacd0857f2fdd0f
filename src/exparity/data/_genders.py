"""What datasets of gender share: groups, labels, and the words that name a gender."""

from __future__ import annotations

from collections.abc import Sequence

GROUPS = ("male", "female")
LABELS = ("female", "male")
"""Classes of GECO and of what follows its format, where the label is the gender."""

Forms = tuple[tuple[str, ...], ...]

# For the co-occurrence bias (Wilming et al. 2024, A.1.3), by form: the object and the possessive,
# which English tells apart for men alone, count as one.
_PRONOUNS: dict[str, Forms] = {
    "male": (("he",), ("him", "his")),
    "female": (("she",), ("her",)),
    "neutral": (("they",), ("them", "their")),
}


def pronouns_of(groups: Sequence[str]) -> dict[str, Forms]:
    """Return the pronouns of each gender, by form."""
    return {group: _PRONOUNS[group] for group in groups}
