"""How often two tables say the same: rates with intervals, chance, and rank correlation.

Cells share models and examples, so that they are not independent: the intervals are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from exparity.published.matching import IDS, MatchedCell
from exparity.stats.rank_correlation import rank_correlation
from exparity.stats.shares import Share

Decisions = tuple[int, int]


@dataclass(frozen=True)
class Agreement:
    """How often we decide as the study did, over the cells with a published id in common.

    Attributes:
        by, group: kind and value of that id; ``all`` and empty for all cells.
        n, agree: cells in which both can be asked, and those in which both decide alike.
        share: their share, with a 95 % Wilson interval from ``low`` to ``high``; None if n is 0.
        expected: share expected by chance: of two independent deciders with these rates.
        kappa: Cohen's kappa, (share − expected) / (1 − expected); None where chance alone agrees
            always.
        ours, theirs: share of cells in which we, and they, decide yes.
    """

    question: str
    by: str
    group: str
    n: int
    agree: int
    share: float | None = None
    low: float | None = None
    high: float | None = None
    expected: float | None = None
    kappa: float | None = None
    ours: float | None = None
    theirs: float | None = None


@dataclass(frozen=True)
class Correlation:
    """Spearman's rank correlation of mean d, over ``n`` cells with a significant seed in both.

    ``rho`` is None below three cells or where one side is constant.
    """

    by: str
    group: str
    n: int
    rho: float | None


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
    for question, ask in QUESTIONS.items():
        for by, group, chosen in _groups(matches):
            decisions = [d for d in map(ask, chosen) if d is not None]
            if decisions or by == "all":
                answers.append(_agreement(question, by, group, decisions))
    return answers


def correlations(matches: Sequence[MatchedCell]) -> list[Correlation]:
    """Correlate mean d over all cells, and over those of each dataset, model, method, metric."""
    rhos = []
    for by, group, chosen in _groups(matches):
        effects = [
            (m.ours.mean_d, m.theirs.mean)
            for m in chosen
            if m.ours.significant and m.ours.mean_d is not None and m.theirs.mean is not None
        ]
        if effects or by == "all":
            ours, theirs = zip(*effects, strict=True) if effects else ((), ())
            rho = rank_correlation(ours, theirs).correlation
            rhos.append(Correlation(by, group, len(effects), None if math.isnan(rho) else rho))
    return rhos


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
    low, high = Share(agree, n).interval(0.95)
    ours, theirs = (sum(map(bool, side)) for side in zip(*decisions, strict=True))
    expected = (ours * theirs + (n - ours) * (n - theirs)) / n**2
    kappa = None if expected == 1 else (agree / n - expected) / (1 - expected)
    rates = agree / n, low, high, expected, kappa, ours / n, theirs / n
    return Agreement(question, by, group, n, agree, *rates)
