"""Generator gender_words: pronouns, titles, and nouns and adjectives that name a gender."""

from __future__ import annotations

from exparity.counterfactuals import counterfactual
from exparity.counterfactuals._gendered import LEXICON, Her, turned
from exparity.counterfactuals._text import Mode
from exparity.data.genders import GROUPS
from exparity.data.table import PreparedData
from exparity.types import Example


@counterfactual(
    "gender_words",
    reference="exparity's own word list and rules, after Chen et al. 2024, arXiv:2404.00463",
    groups=GROUPS,
)
def gender_words(
    example: Example,
    group: str,
    data: PreparedData,
    *,
    mode: Mode = "swap",
    her: Her = "next_word",
) -> Example:
    """Swap or set the words that name a gender: he and she, father and mother, Mr. and Ms.

    Args:
        example: the example.
        group: the requested gender.
        data: not used; the text is enough.
        mode: ``swap`` the words of both genders, or ``set`` all of them to ``group``.
        her: how "her" becomes "his" or "him": by the ``next_word`` alone, or by its ``neighbours``,
            which tell objects before a verb, an adverb or an adjective ("let her go").

    Returns:
        The example with its other words, names included, as they were.
    """
    return turned(example, group, mode, LEXICON.partners, her=her)
