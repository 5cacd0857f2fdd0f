"""Downloads: the tables of the report."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from exparity.artefacts.columns import Export, plain_schema
from exparity.artefacts.files import new_folder, save_export
from exparity.artefacts.schemas import schema_of
from exparity.core.escaping import file_name
from exparity.report.bias import BiasTable
from exparity.report.failures import Failures
from exparity.report.gather import Study
from exparity.report.preference import favoured_group, levels_of
from exparity.report.quality import QualityTable
from exparity.report.tables import Table
from exparity.report.templating import asset, text_environment
from exparity.report.verdicts import judgement_of, untested_text
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.seeds import has_both_signs, sd_of_effects

_DIGITS = 6
_TITLES = {"bias": "Model bias", "causal_bias": "Causal bias"}


@cache
def _columns(table: str) -> pa.Schema:
    columns = tomllib.loads(asset("downloads.toml"))[table]
    return plain_schema(*map(": ".join, columns.items()))


def write_tables(
    exports: Sequence[Export], folder: Path, facts: Mapping[str, object], failures: Failures
) -> None:
    """Write tables as CSV and Parquet, and those with a LaTeX form as LaTeX."""
    with new_folder(folder / "tables") as temporary:
        for export in exports:
            if export.folder == "tables":
                with failures.caught(part_of(export)):
                    _write_table(export, temporary, facts)


def part_of(export: Export) -> str:
    """Return the name of a table among the parts of a report."""
    return f"Table {export.name}"


def _write_table(export: Export, folder: Path, facts: Mapping[str, object]) -> None:
    save_export(export, folder, facts)
    if export.latex is not None:
        path = folder / f"{export.name}.tex"
        path.write_text(export.latex, encoding="utf-8", newline="")


def disparity_export(study: Study, table: Table) -> Export:
    """Return a disparity table in the published form, with its LaTeX."""
    pair = (table.group_a, table.group_b)
    higher = {1: table.group_a, -1: table.group_b, 0: None}
    rows = [
        {
            **dict(zip(CELL_IDS, (table.dataset, *key, *pair), strict=True)),
            "significant_runs": cell.significant,
            "total_runs": cell.total,
            "mean_cohens_d": cell.mean_d,
            "considerable": cell.considerable,
            "higher_group": higher[cell.direction],
            "flags": list(cell.flags),
            "mean_cohens_d_all": cell.mean_d_all,
            "sd_cohens_d_all": sd_of_effects(cell.scores),
            "seeds_of_either_sign": has_both_signs(cell.scores),
        }
        for key, cell in table.cells.items()
    ]
    name = study.display("dataset", table.dataset)
    return Export(
        file_name("disparity", table.dataset, *pair),
        f"Disparity on {name}, {table.group_a} and {table.group_b}",
        _columns("disparity"),
        rows,
        latex=_latex("table.tex.j2", study=study, table=table),
        digits=_DIGITS,
    )


class VerdictLine(NamedTuple):
    """A line of the LaTeX table of verdicts."""

    dataset: str
    model: str
    method: str
    metric: str
    groups: str  # first and second, whose levels follow
    level_a: str
    level_b: str
    interval: str  # of R; a dash of a single training
    verdict: str  # with the favoured group, or why nothing was tested


def verdict_lines(study: Study) -> list[VerdictLine]:
    """Return a line for each comparison, from its standing row."""
    lines = []
    for row in study.standing:
        levels = levels_of(row)
        judgement = judgement_of(row)
        verdict = untested_text(row) if judgement is None else judgement.id
        is_sided = judgement is not None and judgement.favours
        favoured = favoured_group(row) if is_sided else None
        lines.append(
            VerdictLine(
                study.display("dataset", row.dataset),
                row.model,
                study.display("method", row.method),
                study.display("metric", row.metric),
                f"{row.group_a}, {row.group_b}",
                _level(levels, row.group_a),
                _level(levels, row.group_b),
                _interval(row.rms_low, row.rms_high),
                f"{verdict}: {favoured}" if favoured else verdict,
            )
        )
    return lines


def _interval(low: float, high: float) -> str:
    if math.isnan(low):
        return "--"
    return f"{low:.2f}--" + ("$\\infty$" if math.isinf(high) else f"{high:.2f}")


def _level(levels: Mapping[str, float], group: str) -> str:
    return f"${levels[group]:.2f}$" if group in levels else "--"


def verdicts_export(study: Study) -> Export:
    """Return all rows of verdicts but those of random explanations; in LaTeX those that stand."""
    judged = [vars(row) for row in study.judged if not row.is_random]
    latex = _latex("verdicts.tex.j2", rows=verdict_lines(study))
    return Export("verdicts", "Verdicts", schema_of("verdicts"), judged, latex=latex)


def bias_export(study: Study, table: BiasTable) -> Export:
    """Return a table of model bias, with the lines that the page does not show."""
    rows = [
        {
            **{"dataset": table.dataset, "model": model, "class": line.class_name},
            **line._asdict(),
            **vars(table.cells[line, model]),
        }
        for model in table.models
        for line in table.lines
    ]
    return Export(
        file_name(table.kind, table.dataset),
        f"{_TITLES[table.kind]} on {study.display('dataset', table.dataset)}",
        _columns("bias"),
        rows,
        latex=_latex("bias.tex.j2", table=table),
        digits=_DIGITS,
    )


def confusion_export(study: Study, table: QualityTable) -> Export:
    """Return the confusion matrices of a dataset, a row for each two classes."""
    rows = []
    for matrix in table.matrices:
        facts = {"dataset": table.dataset, "model": matrix.model, "group": matrix.group}
        for true_class, cells in matrix.rows():
            for predicted_class, (count, share) in zip(matrix.classes, cells, strict=True):
                classes = {"true_class": true_class, "predicted_class": predicted_class}
                rows.append({**facts, **classes, "texts": count, "share": share})
    return Export(
        file_name("confusion", table.dataset),
        f"Confusion matrices on {study.display('dataset', table.dataset)}",
        _columns("confusion"),
        rows,
        latex=_latex("confusion.tex.j2", table=table),
        digits=_DIGITS,
    )


def roc_export(study: Study, table: QualityTable) -> Export:
    """Return the points of all ROC curves of a dataset."""
    rows = []
    for curve in table.curves:
        facts = {"dataset": table.dataset, "model": curve.model, "seed": curve.seed}
        facts |= {"group": curve.group, "class": curve.class_name}
        for fpr, tpr in zip(curve.fpr, curve.tpr, strict=True):
            rows.append({**facts, "fpr": fpr, "tpr": tpr})
    name = study.display("dataset", table.dataset)
    title = f"ROC curves on {name}"
    return Export(file_name("roc", table.dataset), title, _columns("roc"), rows, digits=_DIGITS)


def _latex(template: str, **values: object) -> str:
    """Return a table as LaTeX for ``booktabs`` and ``xcolor`` (option ``table``)."""
    return text_environment().get_template(template).render(values)
