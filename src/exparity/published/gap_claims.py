"""Statements on published gaps, counted again from printed tables or from our runs.

What a part of a statement computes, of the sizes of gaps in 1e-2:

- ``below(metric, method, others...)``: how far a method is above the lowest of the others.
- ``change(metric, method, other)``: its change against the other, in percent.
- ``points(metric, method, other)``: difference of both, with their signs.
- ``p_value(metric, method, other)``: of Welch's test of equal means over runs.
- ``nearer(metric, method, other_metric)``: percent of the classes where the metric is nearer to 0.
- ``zero(metric, method)``: percent of the classes where it is exactly 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from exparity.published.gaps import Gap, GapClaim, GapKey, Gaps, GapStudy, Part

HOLDS, IN_PART, FAILS = "holds", "in part", "does not hold"


@dataclass(frozen=True)
class GapClaimResult:
    """A statement, counted again.

    Attributes:
        claim: the statement.
        values: of each part, from the printed tables; None where one lacks a number.
        verdict: ``holds``, ``in part`` or ``does not hold``.
        our_values: the same from our runs.
        our_verdict: the same from our runs; empty unless all parts can be computed.
    """

    claim: GapClaim
    values: tuple[float | None, ...]
    verdict: str
    our_values: tuple[float | None, ...]
    our_verdict: str


def recount_gaps(study: GapStudy, ours: Gaps) -> list[GapClaimResult]:
    """Count every statement of a study again."""
    results = []
    for claim in study.claims:
        values, our_values = (
            tuple(value_of(part, gaps) for part in claim.parts) for gaps in (study.gaps, ours)
        )
        results.append(
            GapClaimResult(
                claim, values, _verdict(claim, values), our_values, _verdict(claim, our_values)
            )
        )
    return results


def _verdict(claim: GapClaim, values: tuple[float | None, ...]) -> str:
    kept = [holds(part, v) for part, v in zip(claim.parts, values, strict=True) if v is not None]
    if len(kept) < len(claim.parts):
        return ""
    if all(kept):
        return HOLDS
    return FAILS if claim.all_parts or not any(kept) else IN_PART


def holds(part: Part, value: float) -> bool:
    """Return whether a value is as a statement says."""
    if part.least is None or part.greatest is None:
        return value < 0
    return part.least <= round(value, part.digits) <= part.greatest


def value_of(part: Part, gaps: Gaps) -> float | None:
    """Compute a part of a statement; None where a number is not there."""
    try:
        return _FUNCTIONS[part.function](part, gaps)
    except LookupError:
        return None


def _gap(part: Part, gaps: Gaps, method: str) -> Gap:
    return gaps[GapKey(part.dataset, part.model, method, part.arguments[0])]


def _percent(part: Part, gaps: Gaps) -> list[float]:
    """Return what a part compares, in 1e-2, methods in its order."""
    return [100 * _gap(part, gaps, method).mean for method in part.arguments[1:]]


def _below(part: Part, gaps: Gaps) -> float:
    first, *others = map(abs, _percent(part, gaps))
    return first - min(others)


def _change(part: Part, gaps: Gaps) -> float:
    first, other = map(abs, _percent(part, gaps))
    return 100 * (first / other - 1)


def _points(part: Part, gaps: Gaps) -> float:
    first, other = _percent(part, gaps)
    return first - other


def _p_value(part: Part, gaps: Gaps) -> float | None:
    from scipy.stats import ttest_ind_from_stats

    first, other = (_gap(part, gaps, method) for method in part.arguments[1:])
    if min(first.runs, other.runs) < 2:
        return None
    p = float(ttest_ind_from_stats(*first[:3], *other[:3], equal_var=False).pvalue)
    return p if p == p else None


def _classes(part: Part, gaps: Gaps, metric: str) -> Mapping[str, float]:
    wanted = part.dataset, part.model, part.arguments[1], metric
    values = {
        key.class_name: gap.mean
        for key, gap in gaps.items()
        if key[:4] == wanted and key.class_name
    }
    if not values:
        raise LookupError
    return values


def _nearer(part: Part, gaps: Gaps) -> float:
    one, other = (_classes(part, gaps, metric) for metric in part.arguments[::2])
    return 100 * sum(abs(one[name]) < abs(other[name]) for name in other) / len(other)


def _zero(part: Part, gaps: Gaps) -> float:
    values = _classes(part, gaps, part.arguments[0])
    return 100 * sum(value == 0 for value in values.values()) / len(values)


_FUNCTIONS: Mapping[str, Callable[[Part, Gaps], float | None]] = {
    "below": _below,
    "change": _change,
    "points": _points,
    "p_value": _p_value,
    "nearer": _nearer,
    "zero": _zero,
}
