"""The numeric statements of a study's text, counted again from its tables and from our tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from exparity.published.matching import Match
from exparity.published.study import Claim, PublishedCell, PublishedStudy
from exparity.published.trained import ModelNote

Settings = Mapping[str, Sequence[float]]
Range = tuple[float, float]


@dataclass(frozen=True)
class ClaimResult:
    """A statement beside what the study's tables and our tests give.

    Attributes:
        claim: the statement as printed.
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
    tables: Range | None
    tables_hold: bool | None
    ours: Range | None = None
    ours_hold: bool | None = None
    rows: int = 0
    cells: int = 0
    cells_covered: int = 0
    comparable: str = "no"
    note: str = ""


def recount(
    study: PublishedStudy,
    matches: Iterable[Match],
    notes: Iterable[ModelNote],
    settings: Settings,
) -> list[ClaimResult]:
    """Count every statement of a study again."""
    published = list(study.cells.values())
    ours = [  # our counts in the cells that are published
        replace(
            match.theirs,
            significant=match.ours.significant,
            total=match.ours.total,
            considerable=match.ours.considerable,
        )
        for match in matches
    ]
    other_models = {note.published for note in notes if note.as_published is False}
    return [
        _setting(claim, published, settings)
        if claim.counted.setting
        else _counted(claim, published, ours, other_models)
        for claim in study.claims
    ]


def _setting(claim: Claim, published: Sequence[PublishedCell], settings: Settings) -> ClaimResult:
    name = claim.counted.what
    tables = _extremes([cell.total for cell in published]) if name == "seeds" else None
    ours = _extremes(settings.get(name, ()))
    verdicts = [holds(claim.printed, side, claim.bound) for side in (tables, ours)]
    comparable, note = ("yes", "") if ours else ("no", "not recorded")
    return ClaimResult(
        claim, tables, verdicts[0], ours, verdicts[1], comparable=comparable, note=note
    )


def _counted(
    claim: Claim,
    published: Sequence[PublishedCell],
    ours: Sequence[PublishedCell],
    other_models: set[str],
) -> ClaimResult:
    where = claim.counted.where.items()
    covered, behind = (
        [cell for cell in cells if all(getattr(cell, kind) in ids for kind, ids in where)]
        for cells in (published, ours)
    )
    tables, n = _value(claim, covered), len(covered)
    hold = holds(claim.printed, tables, claim.bound)
    if not behind:
        note = "no test of ours on these cells"
        return ClaimResult(claim, tables, hold, cells_covered=n, note=note)
    value, runs = _value(claim, behind), sum(cell.total for cell in behind)
    reasons = []  # that keep our count from being that of the statement
    if (present := len({cell.key for cell in behind})) < n:
        reasons.append(f"{present} of {n} cells")
    if claim.unit == "count" and runs != (expected := sum(cell.total for cell in covered)):
        reasons.append(f"{runs:,} runs, published {expected:,}")
    if models := sorted({cell.model for cell in behind} & other_models):
        reasons.append(f"other models: {', '.join(models)}")
    return ClaimResult(
        claim,
        tables,
        hold,
        value,
        None if claim.bound == "is" else holds(claim.printed, value, claim.bound),
        rows=runs,
        cells=len(behind),
        cells_covered=n,
        comparable="in part" if reasons else "yes",
        note="; ".join(reasons),
    )


def _value(claim: Claim, cells: Sequence[PublishedCell]) -> Range:
    by = claim.counted.smallest_by
    groups: dict[str, list[PublishedCell]] = {}
    for cell in cells:
        groups.setdefault(getattr(cell, by) if by else "", []).append(cell)
    lows, highs = zip(*(_count(claim, group) for group in groups.values()), strict=True)
    return min(lows), min(highs)


def _count(claim: Claim, cells: Sequence[PublishedCell]) -> Range:
    """Count; cells of which it is not published whether they count make the range."""
    runs = sum(cell.total for cell in cells)
    low = high = float(runs)
    if claim.counted.what == "significant":
        low = high = float(sum(cell.significant for cell in cells))
    elif claim.counted.what == "considerable":
        low = float(sum(cell.significant for cell in cells if cell.considerable))
        high = low + sum(cell.significant for cell in cells if cell.considerable is None)
    return (100 * low / runs, 100 * high / runs) if claim.unit == "percent" else (low, high)


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
