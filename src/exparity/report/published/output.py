"""The comparison as files: every table as CSV and Parquet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.files import atomic_path, save_parquet
from exparity.core.escaping import csv_text
from exparity.report.published.agreement import majority
from exparity.report.published.claims import ClaimResult
from exparity.report.published.comparison import Comparison
from exparity.report.published.matching import IDS, Match

_TEXT, _INT, _FLOAT, _BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()

_CELLS = {
    "dataset": _TEXT, "model": _TEXT, "method": _TEXT, "metric": _TEXT,
    "significant_ours": _INT, "total_ours": _INT,
    "significant_published": _INT, "total_published": _INT,
    "majority_ours": _BOOL, "majority_published": _BOOL,
    "mean_d_ours": _FLOAT, "mean_d_published": _FLOAT, "sd_d_published": _FLOAT,
    "direction_ours": _INT, "direction_published": _INT,
    "considerable_ours": _BOOL, "considerable_published": _BOOL,
    "n_examples": _INT, "flags": _TEXT, "table": _TEXT, "effect_table": _TEXT,
    "effect_label": _TEXT,
    "our_dataset": _TEXT, "our_model": _TEXT, "our_method": _TEXT, "our_metric": _TEXT,
}  # fmt: skip
_AGREEMENT = {
    "question": _TEXT, "by": _TEXT, "group": _TEXT, "n": _INT, "agree": _INT, "share": _FLOAT,
    "low": _FLOAT, "high": _FLOAT, "expected": _FLOAT, "kappa": _FLOAT, "ours": _FLOAT,
    "theirs": _FLOAT,
}  # fmt: skip
_CORRELATION = {"by": _TEXT, "group": _TEXT, "n": _INT, "rho": _FLOAT}
_CLAIMS = {
    "claim_id": _TEXT, "section": _TEXT, "description": _TEXT, "unit": _TEXT, "bound": _TEXT,
    "printed": _FLOAT, "tables_low": _FLOAT, "tables_high": _FLOAT, "tables_hold": _BOOL,
    "ours_low": _FLOAT, "ours_high": _FLOAT, "ours_hold": _BOOL, "rows": _INT, "cells": _INT,
    "cells_covered": _INT, "comparable": _TEXT, "note": _TEXT,
}  # fmt: skip
_MODELS = {"model": _TEXT, "published": _TEXT, "as_published": _BOOL, "text": _TEXT}
_BIAS = {
    "dataset": _TEXT, "model": _TEXT, "published": _TEXT, "quantity": _TEXT, "ours": _FLOAT,
    "ours_sd": _FLOAT, "seeds": _INT, "theirs": _FLOAT, "theirs_sd": _FLOAT, "collapsed": _INT,
}  # fmt: skip

Record = dict[str, Any]
_FILES: Mapping[str, tuple[dict[str, pa.DataType], Callable[[Comparison], list[Record]]]] = {
    "cells": (_CELLS, lambda c: [cell_record(match) for match in c.matches]),
    "agreement": (_AGREEMENT, lambda c: [asdict(a) for a in c.agreements]),
    "correlation": (_CORRELATION, lambda c: [asdict(a) for a in c.correlations]),
    "claims": (_CLAIMS, lambda c: [_claim_record(result) for result in c.claims]),
    "models": (_MODELS, lambda c: [asdict(note) for note in c.models]),
    "bias": (_BIAS, lambda c: [asdict(match) for match in c.bias]),
}


def write_comparison(comparison: Comparison, folder: Path) -> None:
    """Write every table of a comparison as CSV and Parquet.

    Args:
        comparison: the comparison.
        folder: where to; files of an earlier comparison are replaced.
    """
    facts = {"study": comparison.study.id, "version": version("exparity")}
    for name, (schema, rows) in comparison_tables(comparison).items():
        table = pa.Table.from_pylist(rows, schema=schema)
        save_parquet(folder / f"{name}.parquet", table, facts)
        text = csv_text(schema.names, ([row[column] for column in schema.names] for row in rows))
        with atomic_path(folder / f"{name}.csv") as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")


def comparison_tables(comparison: Comparison) -> dict[str, tuple[pa.Schema, list[Record]]]:
    """Return every table of a comparison by file name: its columns and its rows."""
    return {
        name: (pa.schema(columns.items()), records(comparison))
        for name, (columns, records) in _FILES.items()
    }


def cell_record(match: Match) -> Record:
    """Return a match as one flat record."""
    ours, theirs = match.ours, match.theirs
    sign = None if theirs.mean_d is None else (theirs.mean_d > 0) - (theirs.mean_d < 0)
    return {
        **{kind: getattr(theirs, kind) for kind in IDS},
        "significant_ours": ours.significant,
        "total_ours": ours.total,
        "significant_published": theirs.significant,
        "total_published": theirs.total,
        "majority_ours": majority(ours.significant, ours.total),
        "majority_published": majority(theirs.significant, theirs.total),
        "mean_d_ours": ours.mean_d,
        "mean_d_published": theirs.mean_d,
        "sd_d_published": theirs.sd_d,
        "direction_ours": ours.direction,
        "direction_published": sign,
        "considerable_ours": ours.considerable,
        "considerable_published": theirs.considerable,
        "n_examples": match.n_examples,
        "flags": " ".join(ours.flags),
        "table": theirs.table,
        "effect_table": theirs.effect_table,
        "effect_label": theirs.effect_label,
        **{f"our_{kind}": id for kind, id in zip(IDS, match.ids, strict=True)},
    }


def _claim_record(result: ClaimResult) -> Record:
    tables, ours = result.tables or (None, None), result.ours or (None, None)
    return {
        "claim_id": result.claim.id,
        "section": result.claim.section,
        "description": result.claim.description,
        "unit": result.claim.unit,
        "bound": result.bound,
        "printed": float(result.claim.printed),
        "tables_low": tables[0],
        "tables_high": tables[1],
        "tables_hold": result.tables_hold,
        "ours_low": ours[0],
        "ours_high": ours[1],
        "ours_hold": result.ours_hold,
        "rows": result.rows,
        "cells": result.cells,
        "cells_covered": result.cells_covered,
        "comparable": result.comparable,
        "note": result.note,
    }
