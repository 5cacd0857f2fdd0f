"""What datasets of gender share: groups, labels, and the words that name a gender."""

from __future__ import annotations

from typing import Any

GROUPS = ("male", "female")
LABELS = ("female", "male")
"""Classes of GECO and of what follows its format, where the label is the gender."""

# For the co-occurrence bias (Wilming et al. 2024, A.1.3), by form: the object and the possessive,
# which English tells apart for men alone, count as one.
_PRONOUNS = {
    "male": (("he",), ("him", "his")),
    "female": (("she",), ("her",)),
    "neutral": (("they",), ("them", "their")),
}


def facts_of(groups: tuple[str, ...] = GROUPS) -> dict[str, Any]:
    """Return what is true of every dataset of sentences in one version a gender."""
    return {
        "attribute": "gender",
        "groups": groups,
        "matched": True,
        "rationales": True,
        "group_terms": {group: _PRONOUNS[group] for group in groups},
    }
