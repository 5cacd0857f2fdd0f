"""Generator gender_pronouns: the pronouns and titles that Chen et al. (2024) swap in BiasBios."""

from __future__ import annotations

import csv
from typing import NamedTuple

from exparity.counterfactuals import counterfactual
from exparity.counterfactuals._gendered import Her, turned
from exparity.counterfactuals._text import Mode
from exparity.data.genders import GROUPS, Partners
from exparity.data.table import PreparedData
from exparity.resources import shipped
from exparity.types import Example

_COLUMNS = ("from", "to", "from_group", "to_group", "kind")


class _Swap(NamedTuple):
    """A row of the published words: the columns ``_COLUMNS``."""

    word: str
    new_word: str
    group: str
    new_group: str
    kind: str


def _read() -> Partners:
    """Return the published words and their partners, by the gender of the partners."""
    partners: dict[str, dict[str, str]] = {gender: {} for gender in GROUPS}
    path = shipped("published/chen2024_lexicon_biasbios.csv")
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            swap = _Swap(*(row[column] for column in _COLUMNS))
            partners[swap.new_group][swap.word] = swap.new_word
            if swap.kind == "bidirectional":
                partners[swap.group][swap.new_word] = swap.word
    return partners


_PARTNERS = _read()


@counterfactual(
    "gender_pronouns",
    reference="Chen et al. 2024, Findings of NAACL, arXiv:2404.00463",
    groups=GROUPS,
)
def gender_pronouns(
    example: Example,
    group: str,
    data: PreparedData,
    *,
    mode: Mode = "swap",
    her: Her = "next_word",
) -> Example:
    """Swap or set pronouns, Mr. and Ms., as Chen et al. (2024) do in BiasBios.

    Each word is replaced once, unlike in the study's public code, which sets every "her" of a text
    to one form and leaves upper case unchanged.

    Args:
        example: the example.
        group: the requested gender.
        data: not used; the text is enough.
        mode: ``swap`` the words of both genders, or ``set`` all of them to ``group``.
        her: how "her" becomes "his" or "him": by the ``next_word`` alone, or by its ``neighbours``,
            which tell objects before a verb, an adverb or an adjective ("let her go").

    Returns:
        The example with its other words as they were.
    """
    return turned(example, group, mode, _PARTNERS, nouns=False, her=her)
