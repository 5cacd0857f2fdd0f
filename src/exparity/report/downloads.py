"""The tables of the report as they are downloaded."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.exports import Export
from exparity.artefacts.files import atomic_path
from exparity.artefacts.schemas import record_columns
from exparity.published.comparison import Comparison
from exparity.published.tables import comparison_tables
from exparity.report.bias import BiasTable
from exparity.report.costs import Cost
from exparity.report.gather import Study
from exparity.report.latex import render_export_latex, render_latex
from exparity.report.tables import Table, headline_rates, rates_by_metric
from exparity.stats.significance import ControlRate

_TEXT, _INT, _FLOAT, _BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_DIGITS = 6
_DISPARITY = {
    "dataset": _TEXT, "model": _TEXT, "method": _TEXT, "metric": _TEXT, "group_a": _TEXT,
    "group_b": _TEXT, "significant_runs": _INT, "total_runs": _INT, "mean_cohens_d": _FLOAT,
    "considerable": _BOOL, "higher_group": _TEXT, "flags": pa.list_(_TEXT),
    "significant_runs_holm": _INT, "significant_runs_bh": _INT, "mean_cohens_d_all": _FLOAT,
    "sd_cohens_d_all": _FLOAT, "share_same_sign": _FLOAT, "combined_p": _FLOAT,
}  # fmt: skip
_BIAS = {
    "dataset": _TEXT, "model": _TEXT, "quantity": _TEXT, "class": _TEXT, "group": _TEXT,
    "group_b": _TEXT, "mean": _FLOAT, "sd": _FLOAT, "runs": _INT, "undefined_runs": _INT,
    "collapsed_runs": _INT,
}  # fmt: skip
_INTERVALS = dict.fromkeys(("low", "high", "control", "control_low", "control_high"), _FLOAT)
_RATES = {"test": _TEXT, "n": _INT, "significant": _INT, "share": _FLOAT, **_INTERVALS}
_BY_METRIC = {
    **{"metric": _TEXT, "kind": _TEXT, "hits": _INT, "n": _INT, "rate": _FLOAT},
    **_INTERVALS,
}
_CONTROLS = {"metric": _TEXT, **record_columns(ControlRate)}
_ACCURACY = {
    **{"dataset": _TEXT, "model": _TEXT, "seed": _INT, "group": _TEXT, "accuracy": _FLOAT},
    **{"n_all": _INT, "collapsed": _BOOL},
}
_COST = record_columns(Cost)


def table_exports(
    study: Study,
    tables: Sequence[Table],
    bias: Sequence[BiasTable],
    costs: Sequence[Cost],
    published: Comparison | None,
) -> list[Export]:
    """Return every table of the report.

    Args:
        study: what it is about.
        tables: the disparity tables.
        bias: the tables of model bias.
        costs: time by stage, method and metric.
        published: the comparison with published numbers, if there is one.
    """
    exports = [_disparity(study, table) for table in tables]
    exports += [
        bias_export(table, f"Model bias on {study.display('dataset', table.dataset)}")
        for table in bias
    ]
    exports += [
        Export("rates", "How often groups differ", pa.schema(_RATES.items()), _rates(study)),
        Export("rates_by_metric", "How often groups differ, by metric",
               pa.schema(_BY_METRIC.items()), rates_by_metric(study)),
        Export("accuracy", "Test accuracy", pa.schema(_ACCURACY.items()), _accuracy(study)),
        Export("cost", "Time by stage, method and metric", pa.schema(_COST.items()),
               [asdict(cost) for cost in costs]),
    ]  # fmt: skip
    if study.controls:
        rows = [
            {**vars(rate), "metric": metric}
            for metric, rates in study.controls.items()
            for rate in rates
        ]
        schema = pa.schema(_CONTROLS.items())
        exports.append(Export("controls", "The permutation control", schema, rows))
    if published is not None:
        exports += comparison_tables(published)
    return exports


def write_tables(exports: Sequence[Export], folder: Path, facts: Mapping[str, Any]) -> None:
    """Write tables as CSV, LaTeX and Parquet.

    Args:
        exports: the tables.
        folder: folder of the page. Of its ``tables`` folder nothing else is left; the comparison
            with published numbers has its own CSV and Parquet, and is given LaTeX here.
        facts: metadata of the Parquet files.
    """
    place = folder / "tables"
    temporary = folder / ".tables.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for export in exports:
        at = temporary
        if export.folder == "tables":
            export.save(temporary, facts)
        else:
            at = folder / export.folder
        with atomic_path(at / f"{export.name}.tex") as path:
            path.write_text(render_export_latex(export), encoding="utf-8", newline="")
    shutil.rmtree(place, ignore_errors=True)
    temporary.replace(place)


def _disparity(study: Study, table: Table) -> Export:
    rows = []
    for model, method, cells in table.rows():
        for metric, cell in zip(table.metrics, cells, strict=True):
            higher = {1: table.group_a, -1: table.group_b, 0: None}[cell.direction]
            rows.append(
                {
                    "dataset": table.dataset, "model": model, "method": method, "metric": metric,
                    "group_a": table.group_a, "group_b": table.group_b,
                    "significant_runs": cell.significant, "total_runs": cell.total,
                    "mean_cohens_d": cell.mean_d, "considerable": cell.considerable,
                    "higher_group": higher, "flags": list(cell.flags),
                    "significant_runs_holm": cell.holm, "significant_runs_bh": cell.bh,
                    "mean_cohens_d_all": cell.summary.mean_d,
                    "sd_cohens_d_all": cell.summary.sd_d,
                    "share_same_sign": cell.summary.same_sign,
                    "combined_p": cell.summary.combined_p,
                }
            )  # fmt: skip
    name = study.display("dataset", table.dataset)
    return Export(
        table.name,
        f"Disparity on {name}, {table.group_a} and {table.group_b}",
        pa.schema(_DISPARITY.items()),
        rows,
        latex=render_latex("table.tex.j2", study=study, table=table),
        digits=_DIGITS,
    )


def bias_export(table: BiasTable, title: str) -> Export:
    """Return a table of model bias: those lines too that the page does not show."""
    rows = [
        {
            "dataset": table.dataset, "model": model, "quantity": line.quantity,
            "class": line.class_name, "group": line.group, "group_b": line.group_b,
            "mean": cell.mean, "sd": cell.sd, "runs": cell.runs,
            "undefined_runs": cell.undefined, "collapsed_runs": cell.collapsed,
        }
        for model in table.models
        for line in table.lines
        for cell in (table.cells[line, model],)
    ]  # fmt: skip
    return Export(
        table.name,
        title,
        pa.schema(_BIAS.items()),
        rows,
        latex=render_latex("bias.tex.j2", table=table),
        digits=_DIGITS,
    )


def _rates(study: Study) -> list[dict[str, Any]]:
    return [
        {"test": name, "significant": rate["hits"], "share": rate["rate"], **rate}
        for name, rate in headline_rates(study).items()
    ]


def _accuracy(study: Study) -> list[dict[str, Any]]:
    return [
        {
            "dataset": a.dataset, "model": a.model, "seed": a.seed, "group": group,
            "accuracy": value, "n_all": a.n, "collapsed": a.collapsed,
        }
        for a in study.accuracies
        for group, value in {"": a.overall, **a.by_group}.items()
    ]  # fmt: skip
