"""How often two tables say the same: rates with intervals, chance, and rank correlation.

Cells share models and examples, so that they are not independent: the intervals are too narrow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from exparity.published.matching import Match
from exparity.stats.shares import Share

Decisions = tuple[int, int]
BY = ("dataset", "model", "method", "metric")


@dataclass(frozen=True)
class Agreement:
    """How often we decide as the study did.

    Attributes:
        question: ``significant``, ``direction`` or ``considerable``.
        by: ``all``, ``dataset``, ``model``, ``method`` or ``metric``.
        group: published id of what the cells have in common; empty for all.
        n: cells in which both can be asked.
        agree: cells in which both decide alike.
        share: ``agree / n``; None if n is 0.
        low, high: ends of its 95 % Wilson interval.
        expected: share expected by chance: of two independent deciders with these rates.
        kappa: Cohen's kappa, (share − expected) / (1 − expected); None where chance alone agrees
            always.
        ours: share of cells in which we decide yes (for the direction: first group higher).
        theirs: the same of the study.
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
    """Spearman's rank correlation of mean d, over cells with a significant seed in both.

    Attributes:
        by, group, n: as of :class:`Agreement`.
        rho: the correlation; None below three cells or where one side is constant.
    """

    by: str
    group: str
    n: int
    rho: float | None


def _significant(match: Match) -> Decisions | None:
    return match.ours.in_most_seeds, match.theirs.in_most_seeds


def _direction(match: Match) -> Decisions | None:
    """Compare signs of mean d where both call the cell significant and print a sign."""
    theirs = match.theirs.mean_d
    if _significant(match) != (True, True) or not theirs or not match.ours.direction:
        return None
    return match.ours.direction > 0, theirs > 0


def _considerable(match: Match) -> Decisions | None:
    theirs = match.theirs.considerable
    return None if theirs is None else (match.ours.considerable, theirs)


QUESTIONS: dict[str, Callable[[Match], Decisions | None]] = {
    "significant": _significant,
    "direction": _direction,
    "considerable": _considerable,
}


def agreements(matches: Sequence[Match]) -> list[Agreement]:
    """Ask every question of all cells, and of the cells of each dataset, model, method, metric."""
    answers = []
    for question, ask in QUESTIONS.items():
        for by, group, chosen in _groups(matches):
            decisions = [d for d in map(ask, chosen) if d is not None]
            if decisions or by == "all":
                answers.append(_agreement(question, by, group, decisions))
    return answers


def correlations(matches: Sequence[Match]) -> list[Correlation]:
    """Correlate mean d over all cells, and over those of each dataset, model, method, metric."""
    rhos = []
    for by, group, chosen in _groups(matches):
        effects = [pair for pair in map(_effects, chosen) if pair is not None]
        if effects or by == "all":
            rhos.append(Correlation(by, group, len(effects), spearman(effects)))
    return rhos


def _effects(match: Match) -> tuple[float, float] | None:
    ours, theirs = match.ours.mean_d, match.theirs.mean_d
    if not match.ours.significant or ours is None or theirs is None:
        return None
    return ours, theirs


def _groups(matches: Sequence[Match]) -> Iterator[tuple[str, str, list[Match]]]:
    yield "all", "", list(matches)
    for by in BY:
        for group in dict.fromkeys(getattr(match.theirs, by) for match in matches):
            yield by, group, [match for match in matches if getattr(match.theirs, by) == group]


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


def spearman(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return Spearman's rank correlation; None below three pairs or where one side is constant."""
    from scipy.stats import spearmanr

    ours, theirs = zip(*pairs, strict=True) if pairs else ((), ())
    if len(pairs) < 3 or len(set(ours)) == 1 or len(set(theirs)) == 1:
        return None
    return float(spearmanr(ours, theirs).statistic)
