"""The comparison as tables: what the command writes and the report offers for download."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.exports import Export
from exparity.artefacts.files import save_export
from exparity.published.agreement import Agreement, Correlation
from exparity.published.claims import ClaimResult
from exparity.published.comparison import Comparison
from exparity.published.gap_comparison import GapComparison, gap_tables
from exparity.published.matching import IDS, Match
from exparity.published.trained import BiasMatch, ModelNote

_TEXT, _INT, _FLOAT, _BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()
_CELLS = {
    **dict.fromkeys(IDS, _TEXT),
    **dict.fromkeys(("significant_ours", "total_ours"), _INT),
    **dict.fromkeys(("significant_published", "total_published"), _INT),
    **dict.fromkeys(("majority_ours", "majority_published"), _BOOL),
    **dict.fromkeys(("mean_d_ours", "mean_d_published", "sd_d_published"), _FLOAT),
    **dict.fromkeys(("direction_ours", "direction_published"), _INT),
    **dict.fromkeys(("considerable_ours", "considerable_published"), _BOOL),
    "n_examples": _INT,
    **dict.fromkeys(("flags", "table", "effect_table", "effect_label"), _TEXT),
    **{f"our_{kind}": _TEXT for kind in IDS},
}
_CLAIMS = {
    **dict.fromkeys(("claim_id", "section", "description", "unit", "bound"), _TEXT),
    **dict.fromkeys(("printed", "tables_low", "tables_high"), _FLOAT),
    "tables_hold": _BOOL,
    **dict.fromkeys(("ours_low", "ours_high"), _FLOAT),
    "ours_hold": _BOOL,
    **dict.fromkeys(("rows", "cells", "cells_covered"), _INT),
    **dict.fromkeys(("comparable", "note"), _TEXT),
}

Record = dict[str, Any]


def comparison_tables(comparison: Comparison) -> list[Export]:
    """Return every table of a comparison."""
    cells = [_cell(match) for match in comparison.matches]
    claims = [_claim(result) for result in comparison.claims]
    export = partial(Export, folder="published")
    of = partial(Export.of, folder="published")
    correlations = "Rank correlation of effects, ours and published"
    return [
        export("cells", "Our cells beside the published ones", pa.schema(_CELLS.items()), cells),
        of("agreement", "Agreement with published cells", Agreement, comparison.agreements),
        of("correlation", correlations, Correlation, comparison.correlations),
        export("claims", "Published statements, counted again", pa.schema(_CLAIMS.items()), claims),
        of("models", "Models that stand beside published ones", ModelNote, comparison.models),
        of("bias", "Model bias, ours and published", BiasMatch, comparison.bias),
    ]


def write_comparison(comparison: Comparison | GapComparison, folder: Path) -> None:
    """Write every table of a comparison as CSV and Parquet."""
    facts = {"study": comparison.study.id, "version": version("exparity")}
    if isinstance(comparison, GapComparison):
        exports = gap_tables(comparison)
    else:
        exports = comparison_tables(comparison)
    for export in exports:
        save_export(export, folder, facts)


def _cell(match: Match) -> Record:
    """Return a match as one flat record."""
    ours, theirs = match.ours, match.theirs
    sign = None if theirs.mean_d is None else (theirs.mean_d > 0) - (theirs.mean_d < 0)
    return {
        **vars(theirs),
        **{f"{name}_ours": value for name, value in vars(ours).items()},
        **{f"{name}_published": value for name, value in vars(theirs).items()},
        "majority_ours": ours.in_most_seeds,
        "majority_published": theirs.in_most_seeds,
        "direction_published": sign,
        "n_examples": match.n_examples,
        "flags": " ".join(ours.flags),
        **{f"our_{kind}": id for kind, id in zip(IDS, match.ids, strict=True)},
    }


def _claim(result: ClaimResult) -> Record:
    bounds = {
        f"{side}_{end}": value
        for side in ("tables", "ours")
        for end, value in zip(("low", "high"), getattr(result, side) or (None, None), strict=True)
    }
    named = {"claim_id": result.claim.id, "printed": float(result.claim.printed)}
    return {**vars(result.claim), **vars(result), **bounds, **named}
