"""Which group a text speaks of, told by its words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

Terms = Mapping[str, Collection[str]]
"""Words or phrases that tell each group."""

TIED, NONE = "tied", "none"
"""Why a text has no group: as many words of two groups, or none of any."""

_PART = re.compile(r"[^\W_]+")


def term_counter(terms: Terms) -> Callable[[Iterable[str]], dict[str, int]]:
    """Return what counts a text's words of each group; of phrases, the longest from the left.

    Case does not count. A term counts within a word, beside other characters: ``she's``, ``(his``,
    ``mother-in-law``.
    """
    groups_of: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for group, named in terms.items():
        for term in named:
            groups_of[tuple(_PART.findall(term.lower()))].add(group)
    groups_of.pop((), None)
    longest = max(map(len, groups_of), default=1)

    def count(words: Iterable[str]) -> dict[str, int]:
        parts = tuple(part for word in words for part in _PART.findall(word.lower()))
        counts = dict.fromkeys(terms, 0)
        place = 0
        while place < len(parts):
            sizes = range(longest, 0, -1)
            size = next((n for n in sizes if parts[place : place + n] in groups_of), 1)
            for group in groups_of.get(parts[place : place + size], ()):
                counts[group] += 1
            place += size
        return counts

    return count


def most_named(counts: Mapping[str, int]) -> str:
    """Return the group with the most words, or ``TIED`` or ``NONE``."""
    most = max(counts.values())
    named = [group for group, count in counts.items() if count == most]
    if not most:
        return NONE
    return named[0] if len(named) == 1 else TIED
