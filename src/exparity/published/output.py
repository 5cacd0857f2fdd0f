"""A comparison as tables and in words: what the command prints and writes, and the report shows."""

from __future__ import annotations

import sys
import tomllib
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from textwrap import indent
from typing import Any

import pyarrow as pa

from exparity.artefacts.columns import type_named
from exparity.artefacts.exports import Export
from exparity.artefacts.files import save_export
from exparity.core.formats import aligned, percent
from exparity.published.agreement import Agreement, Correlation
from exparity.published.claims import FAILS, HOLDS, ClaimResult, Range
from exparity.published.comparison import Comparison, GapMatch
from exparity.published.matching import IDS, MatchedCell
from exparity.published.trained import BiasMatch, ModelNote
from exparity.resources import resource

QUESTIONS = {
    "significant": "significant in most seeds",
    "direction": "direction, where both are significant",
    "considerable": "considerable effect",
}
_SIGNS = {"is": "", "above": "> ", "below": "< "}
_UNITS = {"percent": " %"}


@cache
def _columns(table: str) -> pa.Schema:
    """Return the columns of a table."""
    columns = tomllib.loads(resource("published/columns.toml").read_text(encoding="utf-8"))[table]
    return pa.schema([(name, type_named(kind)) for name, kind in columns.items()])


def comparison_tables(comparison: Comparison) -> list[Export]:
    """Return every table of a comparison."""
    if not comparison.study.cells:
        rows = [row for result in comparison.claims for row in _gap_claims(result)]
        return [
            Export.of("gaps", "Gaps of classifiers, ours and published", GapMatch, comparison.gaps),
            Export(
                "claims",
                "Published statements on gaps, counted again",
                _columns("gap_claims"),
                rows,
            ),
        ]
    cells = [_cell(match) for match in comparison.matches]
    claims = [_claim(result) for result in comparison.claims]
    export = partial(Export, folder="published")
    of = partial(Export.of, folder="published")
    correlations = "Rank correlation of effects, ours and published"
    return [
        export("cells", "Our cells beside the published ones", _columns("cells"), cells),
        of("agreement", "Agreement with published cells", Agreement, comparison.agreements),
        of("correlation", correlations, Correlation, comparison.correlations),
        export("claims", "Published statements, counted again", _columns("claims"), claims),
        of("models", "Models that stand beside published ones", ModelNote, comparison.models),
        of("bias", "Model bias, ours and published", BiasMatch, comparison.bias),
    ]


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write every table as CSV and Parquet, in place of those of an earlier comparison."""
    facts = {"study": comparison.study.id, "version": version("exparity")}
    for export in comparison_tables(comparison):
        save_export(export, folder, facts)


def _cell(match: MatchedCell) -> dict[str, Any]:
    ours, theirs = match.ours, match.theirs
    d = theirs.mean
    return {
        **theirs.key._asdict(),
        **vars(theirs),
        **{f"{name}_ours": value for name, value in vars(ours).items()},
        "significant_published": theirs.significant,
        "total_published": theirs.runs,
        "mean_d_published": d,
        "sd_d_published": theirs.sd,
        "considerable_published": theirs.considerable,
        "majority_ours": ours.in_most_seeds,
        "majority_published": theirs.in_most_seeds,
        "direction_published": None if d is None else (d > 0) - (d < 0),
        "n_examples": match.n_examples,
        "flags": " ".join(ours.flags),
        **{f"our_{kind}": id for kind, id in zip(IDS, match.ids, strict=True)},
    }


def _claim(result: ClaimResult) -> dict[str, Any]:
    (part,), claim = result.claim.parts, result.claim
    (tables,), (ours,) = result.tables, result.ours
    row = {**vars(claim), **vars(result), "claim_id": claim.id, "bound": part.bound}
    row["printed"] = float(part.least)
    holds = {HOLDS: True, FAILS: False}
    row |= {"tables_hold": holds.get(result.verdict), "ours_hold": holds.get(result.our_verdict)}
    row["tables_low"], row["tables_high"] = tables or (None, None)
    row["ours_low"], row["ours_high"] = ours or (None, None)
    return row


def _gap_claims(result: ClaimResult) -> list[dict[str, Any]]:
    """Return a row for each part of a statement."""
    claim = result.claim
    return [
        {
            **vars(claim),
            **vars(result),
            **{kind: ids[0] for kind, ids in part.counted.where.items()},
            "claim_id": claim.id,
            "counted": part.expression,
            "least": float(part.least) if part.least else None,
            "greatest": float(part.greatest) if part.least else None,
            "tables": tables[0] if tables else None,
            "ours": ours[0] if ours else None,
        }
        for part, tables, ours in zip(claim.parts, result.tables, result.ours, strict=True)
    ]


def comparison_summary(comparison: Comparison) -> str:
    """Return a comparison as text: statements, agreement, and what is beside what."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"aligned": _aligned, "percent": percent}
    template = "summary.txt.j2" if comparison.study.cells else "gap_summary.txt.j2"
    source = Path(__file__).with_name(template).read_text(encoding="utf-8")
    values = {"c": comparison, "w": sys.modules[__name__]}
    return environment.from_string(source).render(values).rstrip()


def _aligned(table: str) -> str:
    """Return lines of cells that tabs part as lines with aligned columns."""
    lines = aligned([line.split("\t") for line in table.splitlines()], are_words=True)
    return indent(lines, "  ", lambda _: True) + "\n"


def mean_and_sd(mean: float, sd: float | None) -> str:
    """Return shares in 1e-2, with their standard deviation where it is known."""
    return f"{100 * mean:+.2f}" + ("" if sd is None else f" ± {100 * sd:.2f}")


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
    (part,), unit = result.claim.parts, result.claim.unit
    number = f"{int(part.least):,}" if unit == "count" else part.least
    return f"{_SIGNS[part.bound]}{number}{_UNITS.get(unit, '')}"


def counted_value(values: tuple[Range | None, ...], unit: str) -> str:
    """Return what was counted: a number, a range, or a dash."""
    (value,) = values
    if value is None:
        return "–"
    low, high = (_number(end, unit) for end in value)
    return (low if low == high else f"{low} to {high}") + _UNITS.get(unit, "")


def _number(value: float, unit: str) -> str:
    if unit == "percent":
        return f"{value:.1f}"
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def part_values(values: tuple[Range | None, ...]) -> str:
    """Return the number of each part of a statement."""
    return ", ".join("–" if value is None else f"{value[0]:+.3g}" for value in values)
