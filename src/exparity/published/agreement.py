"""Agreement of two tables: rates, kappa and rank correlation.

Cells share models and examples, so that they are not independent: no interval is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from exparity.published.matching import IDS, MatchedCell
from exparity.stats.rank_correlation import rank_correlation

Decisions = tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """Agreement of our decisions with the study's, over the cells with a published id in common.

    Attributes:
        question: what is decided; see :data:`QUESTIONS`. ``effect`` is the mean d.
        by, group: kind and value of that id; ``all`` and empty for all cells.
        n, agree: cells in which both can be asked, and those in which both decide alike.
        share: their share; None if n is 0.
        expected: share expected by chance: of two independent deciders with these rates.
        kappa: Cohen's kappa, (share − expected) / (1 − expected); None where chance alone agrees
            always.
        rho: of ``effect``, Spearman's rank correlation over the cells with a significant seed in
            both; None below three cells or where one side is constant.
    """

    question: str
    by: str
    group: str
    n: int
    agree: int | None = None
    share: float | None = None
    expected: float | None = None
    kappa: float | None = None
    rho: float | None = None


def _significant(match: MatchedCell) -> Decisions | None:
    return match.ours.in_most_seeds, match.theirs.in_most_seeds


def _direction(match: MatchedCell) -> Decisions | None:
    """Compare signs of mean d where both call the cell significant and print a sign."""
    theirs = match.theirs.mean
    if _significant(match) != (True, True) or not theirs or not match.ours.direction:
        return None
    return match.ours.direction > 0, theirs > 0


def _considerable(match: MatchedCell) -> Decisions | None:
    theirs = match.theirs.considerable
    return None if theirs is None else (match.ours.considerable, theirs)


QUESTIONS: dict[str, Callable[[MatchedCell], Decisions | None]] = {
    "significant": _significant,
    "direction": _direction,
    "considerable": _considerable,
}


def agreements(matches: Sequence[MatchedCell]) -> list[Agreement]:
    """Ask every question of all cells, and of the cells of each dataset, model, method, metric."""
    answers = []
    for by, group, chosen in _groups(matches):
        for question, ask in QUESTIONS.items():
            decisions = [d for d in map(ask, chosen) if d is not None]
            if decisions or by == "all":
                answers.append(_agreement(question, by, group, decisions))
        effects = [
            (match.ours.mean_d, match.theirs.mean)
            for match in chosen
            if match.ours.significant and None not in (match.ours.mean_d, match.theirs.mean)
        ]
        rho = rank_correlation(*zip(*effects, strict=True)).correlation if effects else math.nan
        answers.append(
            Agreement("effect", by, group, len(effects), rho=None if math.isnan(rho) else rho)
        )
    return answers


def _groups(matches: Sequence[MatchedCell]) -> Iterator[tuple[str, str, list[MatchedCell]]]:
    yield "all", "", list(matches)
    for by in IDS:
        for group in dict.fromkeys(match.theirs.of(by) for match in matches):
            yield by, group, [match for match in matches if match.theirs.of(by) == group]


def _agreement(question: str, by: str, group: str, decisions: Sequence[Decisions]) -> Agreement:
    n = len(decisions)
    agree = sum(ours == theirs for ours, theirs in decisions)
    if not n:
        return Agreement(question, by, group, n, agree)
    ours, theirs = (sum(map(bool, side)) for side in zip(*decisions, strict=True))
    expected = (ours * theirs + (n - ours) * (n - theirs)) / n**2
    kappa = None if expected == 1 else (agree / n - expected) / (1 - expected)
    return Agreement(question, by, group, n, agree, agree / n, expected, kappa)
