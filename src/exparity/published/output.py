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
from exparity.published.comparison import Comparison, GapMatch
from exparity.published.matching import IDS, MatchedCell
from exparity.published.trained import BiasMatch, ModelNote
from exparity.resources import resource

QUESTIONS = {
    "significant": "significant in most seeds",
    "direction": "direction, where both are significant",
    "considerable": "considerable effect",
}


@cache
def _columns(table: str) -> pa.Schema:
    """Return the columns of a table."""
    columns = tomllib.loads(resource("published/columns.toml").read_text(encoding="utf-8"))[table]
    return pa.schema([(name, type_named(kind)) for name, kind in columns.items()])


def comparison_tables(comparison: Comparison) -> list[Export]:
    """Return every table of a comparison."""
    if not comparison.study.cells:
        title = "Gaps of classifiers, ours and published"
        return [Export.of("gaps", title, GapMatch, comparison.gaps)]
    cells = [_cell(match) for match in comparison.matches]
    export = partial(Export, folder="published")
    of = partial(Export.of, folder="published")
    correlations = "Rank correlation of effects, ours and published"
    return [
        export("cells", "Our cells beside the published ones", _columns("cells"), cells),
        of("agreement", "Agreement with published cells", Agreement, comparison.agreements),
        of("correlation", correlations, Correlation, comparison.correlations),
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


def comparison_summary(comparison: Comparison) -> str:
    """Return a comparison as text: agreement, and what is beside what."""
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
