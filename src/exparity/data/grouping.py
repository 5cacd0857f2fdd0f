"""Which group a text speaks of, told by its words: for datasets, and for tables of one's own."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path

from exparity.core.errors import InputError
from exparity.data._rows import no_column, read_rows, words_in, write_rows

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


def group_table(
    table: Path, output: Path, *, text: str, terms: Terms, column: str = "group"
) -> Counter[str]:
    """Write the rows of a table whose texts have more words of one group than of any other.

    The output has all columns, the group's, and ``n_GROUP`` words of each group. Returns the number
    of rows of each group, and of those left out as ``TIED`` or ``NONE``.
    """
    if output.suffix.lower() != table.suffix.lower():
        raise InputError(f"{output}: give it the suffix of {table.name}, '{table.suffix}'")
    if column in [f"n_{group}" for group in terms]:
        raise InputError(f"column: '{column}' is to hold a number of words; give another name")
    count = term_counter(terms)
    sizes: Counter[str] = Counter()
    grouped = []
    for where, row in read_rows(table, None):
        if text not in row:
            raise no_column(where, text, list(row))
        counts = count(words_in(where, row, text))
        group = most_named(counts)
        sizes[group] += 1
        added = {column: group, **{f"n_{name}": n for name, n in counts.items()}}
        for name in added:
            if name in row:
                raise InputError(f"{where}: has a column '{name}' already; rename it")
        if group in terms:
            grouped.append({**row, **added})
    if not grouped:
        raise InputError(f"{table}: no text has more words of one group than of the others")
    write_rows(output, grouped)
    return sizes
