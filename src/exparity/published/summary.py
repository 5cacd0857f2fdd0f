"""The comparison in words: as plain text, and its figures as they are written on the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from exparity.published.agreement import Agreement
from exparity.published.claims import ClaimResult, Range
from exparity.published.comparison import Comparison

QUESTIONS = {
    "significant": "significant in most seeds",
    "direction": "direction, where both are significant",
    "considerable": "considerable effect",
}
_SIGNS = {"is": "", "above": "> ", "below": "< "}
_UNITS = {"percent": " %"}
_KNOWN = {True: "as published", False: "NOT as published", None: "unknown"}


def summary(comparison: Comparison) -> str:
    """Return what was compared, the rates of agreement, the claims and the model bias."""
    parts = [
        _head(comparison),
        "Models\n" + _table(_models(comparison)),
        "Agreement on cells\n" + _table(_agreements(comparison)),
        "Rank correlation (Spearman) of mean d, where both have a significant seed\n"
        + _table(_correlations(comparison)),
        "Statements of the text, from the printed tables and from our tests\n"
        + _table(_claims(comparison)),
    ]
    if comparison.bias:
        parts.append(
            "Model bias, mean and standard deviation over seeds\n" + _table(_bias(comparison))
        )
    return "\n\n".join(parts)


def _head(comparison: Comparison) -> str:
    study = comparison.study
    seeds = sorted({match.ours.total for match in comparison.matches})
    published = sorted({match.theirs.total for match in comparison.matches})
    lines = [
        study.reference,
        f"{len(comparison.matches):,} of our cells stand beside {comparison.published_cells:,} of "
        f"{len(study.cells):,} published ones; seeds of a cell: "
        f"{' or '.join(map(str, seeds))}, published {' or '.join(map(str, published))}",
        f"Examples of a test of ours: {comparison.examples}; the study tests 20 % of each dataset. "
        "Fewer examples find fewer differences.",
        "The metric labels of Tables 8 and 9 are corrected; docs/published.md has the evidence.",
    ]
    if comparison.left_out:
        lines.append(f"Not compared, because not published: {comparison.not_published}")
    return "\n".join(lines)


def _models(comparison: Comparison) -> Iterable[Sequence[str]]:
    yield "model", "beside", "", ""
    for note in comparison.models:
        yield note.model, note.published, _KNOWN[note.as_published], note.text


def _agreements(comparison: Comparison) -> Iterable[Sequence[str]]:
    yield "question", "cells", "n", "agree", "share", "95 % interval", "by chance", "kappa"
    for a in comparison.agreements:
        if a.by in ("all", "dataset"):
            yield (
                QUESTIONS[a.question], a.group or "all", str(a.n), str(a.agree),
                percent(a.share), interval(a), percent(a.expected),
                decimals(a.kappa),
            )  # fmt: skip


def _correlations(comparison: Comparison) -> Iterable[Sequence[str]]:
    yield "cells", "n", "rho"
    for c in comparison.correlations:
        if c.by in ("all", "dataset"):
            yield c.group or "all", str(c.n), decimals(c.rho)


def _claims(comparison: Comparison) -> Iterable[Sequence[str]]:
    yield "claim", "printed", "tables", "", "ours", "", "tests", "comparable", ""
    for result in comparison.claims:
        unit = result.claim.unit
        yield (
            result.claim.id, printed_value(result),
            counted_value(result.tables, unit), verdict(result.tables_hold),
            counted_value(result.ours, unit), verdict(result.ours_hold),
            str(result.rows or ""), result.comparable, result.note,
        )  # fmt: skip


def _bias(comparison: Comparison) -> Iterable[Sequence[str]]:
    yield "dataset", "model", "beside", "quantity", "ours", "published", "seeds", ""
    for m in comparison.bias:
        yield (
            m.dataset, m.model, m.published, m.quantity, f"{m.ours:.3f} ± {m.ours_sd:.3f}",
            f"{m.theirs:.3f} ± {m.theirs_sd:.3f}", str(m.seeds),
            f"{m.collapsed} collapsed" if m.collapsed else "",
        )  # fmt: skip


def _table(rows: Iterable[Sequence[str]]) -> str:
    """Return rows as lines with aligned columns; the first row is the head."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(f"  {line}" for line in lines)


def percent(share: float | None) -> str:
    """Return a share in percent; a dash if there is none."""
    return "–" if share is None else f"{100 * share:.1f} %"


def decimals(value: float | None) -> str:
    """Return a number with two decimals and its sign; a dash if there is none."""
    return "–" if value is None else f"{value:+.2f}"


def interval(agreement: Agreement) -> str:
    """Return an interval in percent; a dash if there is none."""
    if agreement.low is None or agreement.high is None:
        return "–"
    return f"{100 * agreement.low:.1f} to {100 * agreement.high:.1f} %"


def printed_value(result: ClaimResult) -> str:
    """Return the printed number of a claim, with its unit and how it is meant."""
    claim = result.claim
    number = f"{int(claim.printed):,}" if claim.unit == "count" else claim.printed
    return f"{_SIGNS[claim.bound]}{number}{_UNITS.get(claim.unit, '')}"


def counted_value(value: Range | None, unit: str) -> str:
    """Return what was counted: a number, a range, or a dash."""
    if value is None:
        return "–"
    low, high = (_number(end, unit) for end in value)
    return (low if low == high else f"{low} to {high}") + _UNITS.get(unit, "")


def _number(value: float, unit: str) -> str:
    if unit == "percent":
        return f"{value:.1f}"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def verdict(holds: bool | None) -> str:
    """Return whether a claim holds in a word; empty if that is open."""
    return "" if holds is None else "holds" if holds else "does not hold"
