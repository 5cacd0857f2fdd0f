"""In whose favour a gap is, and the words for that: no more than what the metric measures."""

from __future__ import annotations

import math
from dataclasses import dataclass

from exparity.report.rows import VerdictRow
from exparity.stats.effect import better_group


@dataclass(frozen=True)
class Preference:
    """Words for a gap; the name of the favoured group precedes or follows them.

    Attributes:
        texts: after "GROUP texts".
        runs: after a number of trainings, before a group.
        plain: like ``texts``, in words that need no others.
        brief: like ``plain``, where these words came before.
    """

    texts: str
    runs: str
    plain: str = ""
    brief: str = ""

    @property
    def in_words(self) -> str:
        """What follows "GROUP texts" where a term would need an explanation."""
        return self.plain or self.texts

    @property
    def in_few_words(self) -> str:
        """What follows "GROUP texts" where :attr:`in_words` were said."""
        return self.brief or self.in_words


_SKILL = Preference(
    "have the higher skill",
    "have higher skill for",
    "have explanations that get further from random ones (0) to the best found (1)",
    "have explanations that get further",
)
_EXCESS = Preference(
    "have the better excess over random explanations",
    "have a better excess for",
    "have the better scores, relative to those of random explanations",
)
_SCORES = Preference("have the better scores", "have better scores for")
_BY_QUANTITY = {"skill": _SKILL, "excess": _EXCESS, "score": _SCORES}
_BY_KIND = {
    "simulatability": Preference(
        "have explanations that foresee the classifier better",
        "foresee the classifier better for",
    ),
    "communication": Preference(
        "have explanations that tell a reader better what was decided",
        "tell a reader better what was decided for",
        "tells a reader better what was decided",
    ),
    "complexity": Preference(
        "have the more concentrated explanations",
        "have more concentrated explanations for",
    ),
    "correctness": Preference(
        "have explanations that agree better with the rationales",
        "agree better with the rationales for",
        "have explanations that agree better with the words that people marked",
    ),
}
"""Metrics that say more than their scores do; a control changes no word of them."""


def preference_of(row: VerdictRow) -> Preference:
    """Return the words for the gap of a row of the verdicts artefact."""
    by_quantity = _BY_QUANTITY[row.quantity.removeprefix("random_")]
    if row.quantity not in ("score", "excess"):
        return by_quantity
    return _BY_KIND.get(row.metric_kind or "", by_quantity)


def favoured_group(row: VerdictRow) -> str | None:
    """Return the group with the better values, or with the more concentrated explanations."""
    if not row.is_description:
        return row.better_group
    return better_group(row.group_a, row.group_b, row.d, row.metric_direction)


def other_group(row: VerdictRow) -> str:
    """Return the group that a gap does not favour."""
    return row.other_than(favoured_group(row))


def ceilings_of(row: VerdictRow) -> dict[str, float]:
    """Return about how well the best explanation would do, by group; empty where it is unknown."""
    ceilings = {row.group_a: row.ceiling_a, row.group_b: row.ceiling_b}
    return ceilings if all(map(math.isfinite, ceilings.values())) else {}


def levels_of(row: VerdictRow) -> dict[str, float]:
    """Return skill, or mean score, of each group; empty where they are unknown."""
    levels = {row.group_a: row.mean_a, row.group_b: row.mean_b}
    if row.quantity == "skill":
        levels = {row.group_a: row.skill_a, row.group_b: row.skill_b}
    return levels if all(map(math.isfinite, levels.values())) else {}
