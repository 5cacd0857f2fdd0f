"""The numeric statements of a study's text, counted again from its tables and from our tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from exparity.report.published.matching import Match
from exparity.report.published.rules import RULES, Rule, Setting
from exparity.report.published.sources import ModelNote
from exparity.report.published.study import Claim, Key, PublishedCell, PublishedStudy

Settings = Mapping[str, Sequence[float]]
Range = tuple[float, float]


@dataclass(frozen=True)
class ClaimResult:
    """A statement beside what the study's tables and our tests give.

    Attributes:
        claim: the statement as printed.
        bound: ``is``, ``above`` or ``below``: how the printed number is meant.
        tables: least and greatest value that the printed tables allow; they differ where a table
            prints no effect sizes. None if no table holds it.
        tables_hold: whether the statement holds in the tables; None if that is open.
        ours: the same from our tests; None if there are none.
        ours_hold: whether it holds in them; None where the statement is a value, since other runs
            never give the same to the last digit.
        rows: our tests behind it.
        cells: our cells behind it.
        cells_covered: published cells that the statement covers.
        comparable: ``yes``, ``in part`` or ``no``.
        note: why not fully comparable.
    """

    claim: Claim
    bound: str
    tables: Range | None
    tables_hold: bool | None
    ours: Range | None = None
    ours_hold: bool | None = None
    rows: int = 0
    cells: int = 0
    cells_covered: int = 0
    comparable: str = "no"
    note: str = ""


@dataclass(frozen=True)
class _Tally:
    """What one cell adds to a count."""

    cell: PublishedCell
    significant: int
    total: int
    considerable: bool | None


def recount(
    study: PublishedStudy,
    matches: Iterable[Match],
    notes: Iterable[ModelNote],
    settings: Settings,
) -> list[ClaimResult]:
    """Count every statement of a study again.

    Args:
        study: the study.
        matches: our cells beside its cells.
        notes: how our models differ from the published ones.
        settings: how ours were run: one or several values of ``alpha``, ``threshold``, ``seeds``
            (seeds of a cell) and ``scratch_epochs``.

    Returns:
        One result a statement, in the order of the text.
    """
    published = [_Tally(c, c.significant, c.total, c.considerable) for c in study.cells.values()]
    ours = [
        _Tally(m.theirs, m.ours.significant, m.ours.total, m.ours.considerable) for m in matches
    ]
    other = {note.published for note in notes if note.as_published is False}
    found = []
    for claim in study.claims:
        rule = RULES[study.id][claim.id]
        if isinstance(rule, Setting):
            found.append(_setting(claim, rule, published, settings))
        else:
            found.append(_counted(claim, rule, published, ours, other))
    return found


def _setting(
    claim: Claim, rule: Setting, published: Sequence[_Tally], settings: Settings
) -> ClaimResult:
    tables = None
    if rule.name == "seeds":
        tables = _extremes([tally.total for tally in published])
    ours = _extremes(settings.get(rule.name, ()))
    return ClaimResult(
        claim,
        "is",
        tables,
        holds(claim.printed, tables, "is"),
        ours,
        holds(claim.printed, ours, "is"),
        comparable="yes" if ours else "no",
        note="" if ours else "not recorded",
    )


def _counted(
    claim: Claim,
    rule: Rule,
    published: Sequence[_Tally],
    ours: Sequence[_Tally],
    other_models: set[str],
) -> ClaimResult:
    covered = [tally for tally in published if _covers(rule, tally.cell)]
    tables = _value(rule, claim.unit, covered)
    behind = [tally for tally in ours if _covers(rule, tally.cell)]
    result = ClaimResult(
        claim, rule.bound, tables, holds(claim.printed, tables, rule.bound),
        cells_covered=len(covered), note="no test of ours on these cells",
    )  # fmt: skip
    if not behind:
        return result
    value = _value(rule, claim.unit, behind)
    rows = sum(tally.total for tally in behind)
    reasons = _reasons(claim, covered, behind, other_models)
    return replace(
        result,
        ours=value,
        ours_hold=None if rule.bound == "is" else holds(claim.printed, value, rule.bound),
        rows=rows,
        cells=len(behind),
        comparable="in part" if reasons else "yes",
        note="; ".join(reasons),
    )


def _reasons(
    claim: Claim, covered: Sequence[_Tally], behind: Sequence[_Tally], other_models: set[str]
) -> list[str]:
    """Say what keeps our count from being that of the statement."""
    reasons = []
    present: set[Key] = {tally.cell.key for tally in behind}
    if len(present) < len(covered):
        reasons.append(f"{len(present)} of {len(covered)} cells")
    runs = sum(tally.total for tally in behind)
    expected = sum(tally.total for tally in covered)
    if claim.unit == "count" and runs != expected:
        reasons.append(f"{runs:,} runs, published {expected:,}")
    models = sorted({tally.cell.model for tally in behind} & other_models)
    if models:
        reasons.append(f"other models: {', '.join(models)}")
    return reasons


def _covers(rule: Rule, cell: PublishedCell) -> bool:
    facts = {
        "dataset": cell.dataset,
        "model": cell.model,
        "method": cell.method,
        "metric": cell.metric,
        "training": "scratch" if cell.scratch else "pretrained",
    }
    return all(facts[kind] in allowed for kind, allowed in rule.where.items())


def _value(rule: Rule, unit: str, tallies: Sequence[_Tally]) -> Range:
    groups: dict[str, list[_Tally]] = {}
    for tally in tallies:
        name = getattr(tally.cell, rule.smallest_by) if rule.smallest_by else ""
        groups.setdefault(name, []).append(tally)
    values = [_count(rule, unit, group) for group in groups.values()]
    return min(low for low, _ in values), min(high for _, high in values)


def _count(rule: Rule, unit: str, tallies: Sequence[_Tally]) -> Range:
    runs = sum(tally.total for tally in tallies)
    if rule.counts == "runs":
        low = high = float(runs)
    elif rule.counts == "significant":
        low = high = float(sum(tally.significant for tally in tallies))
    else:
        low = float(sum(tally.significant for tally in tallies if tally.considerable))
        high = low + sum(tally.significant for tally in tallies if tally.considerable is None)
    return (100 * low / runs, 100 * high / runs) if unit == "percent" else (low, high)


def _extremes(values: Sequence[float]) -> Range | None:
    return (float(min(values)), float(max(values))) if values else None


def holds(printed: str, value: Range | None, bound: str) -> bool | None:
    """Return whether a printed number agrees with a value or range; None if that is open.

    A value agrees if it rounds to what is printed.
    """
    if value is None:
        return None
    low, high = value
    number = float(printed)
    if bound == "above":
        return True if low > number else False if high <= number else None
    if bound == "below":
        return True if high < number else False if low >= number else None
    half = 0.5 * 10.0 ** -len(printed.partition(".")[2]) + 1e-9
    if not low - half <= number <= high + half:
        return False
    return True if high - low < 1e-9 else None
