"""A comparison as tables and in words: what the command prints and writes, and the report shows."""

from __future__ import annotations

import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path
from textwrap import indent

from exparity.artefacts.columns import Export
from exparity.artefacts.files import save_export
from exparity.core.formats import aligned, percent
from exparity.published.cells import Agreement, CellComparison
from exparity.published.gaps import ClassAgreement, GapComparison, GapMatch
from exparity.published.matches import CellMatch
from exparity.published.shares import Claim, RunShares

QUESTIONS = {
    "significant": "significant in most seeds",
    "direction": "direction, where both are significant",
    "considerable": "considerable effect",
    "effect": "rank correlation of mean d",
}
Comparison = CellComparison | GapComparison


def comparison_tables(comparison: Comparison) -> list[Export]:
    """Return every table of a comparison."""
    export = partial(Export.of, folder="published")
    if isinstance(comparison, GapComparison):
        title = "Gaps of single classes, ours and published"
        return [
            export("gaps", "Gaps of classifiers, ours and published", GapMatch, comparison.gaps),
            export("gaps_by_class", title, ClassAgreement, comparison.by_class),
        ]
    title = "Our cells beside the published ones"
    return [
        export("cells", title, CellMatch, comparison.matches),
        export("agreement", "Agreement with published cells", Agreement, comparison.agreements),
        export(
            "shares", "Shares of significant and considerable runs", RunShares, comparison.shares
        ),
        export("claims", "Shares in the study's text and tables", Claim, comparison.claims),
    ]


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write every table as CSV and Parquet, in place of those of an earlier comparison."""
    facts = {"study": comparison.study.id, "version": version("exparity")}
    for export in comparison_tables(comparison):
        save_export(export, folder, facts)


def comparison_summary(comparison: Comparison) -> str:
    """Return a comparison as text: what is compared, and its agreement or gaps."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"aligned": _aligned, "percent": percent}
    is_of_gaps = isinstance(comparison, GapComparison)
    template = "gap_summary.txt.j2" if is_of_gaps else "summary.txt.j2"
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


def hundredths(value: float) -> str:
    """Return a share in 1e-2."""
    return f"{100 * value:.2f}"


def decimals(value: float | None) -> str:
    """Return a number with two decimals and its sign; a dash if there is none."""
    return "–" if value is None else f"{value:+.2f}"
