"""Differences in the attribution of words within matched sets, over seeds."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from statistics import median
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
from exparity.core.grouping import grouped
from exparity.report.gather import Study
from exparity.report.reading import mean_and_sd
from exparity.report.verdicts import ROUNDING_NOISE, meaning_of, noise_of

SHOWN_WORDS = 10
_IDS = ("dataset", "model", "method", "group_a", "group_b", "word_a", "word_b")
_COLUMNS = plain_schema(
    f"{' '.join(_IDS)}: string",
    "mean_difference mean_absolute: float64",
    "significant tested n_sets significant_pooled tested_pooled: int64",
    "median_p_pooled: float64",
)


def difference_tables(rows: Sequence[Row], alpha: float) -> list[dict[str, Any]]:
    """Average the attribution_differences artefact over seeds: a table per dataset and pair.

    Its ``words`` are those with most matched sets that are tested, as (first, second); its
    ``cells`` are by (model, method, word), where the word ("", "") is all of them.
    """
    parts = grouped(rows, itemgetter("dataset", "group_a", "group_b"))
    return [_table(part, alpha) for part in parts.values()]


def _table(rows: Sequence[Row], alpha: float) -> dict[str, Any]:
    word_of = itemgetter("word_a", "word_b")
    parts = grouped(rows, lambda row: (row["model"], row["method"], word_of(row)))
    tested = grouped((row for row in rows if row["p"] == row["p"] and any(word_of(row))), word_of)
    sizes = {word: max(row["n_sets"] for row in of) for word, of in tested.items()}
    return {
        **{name: rows[0][name] for name in ("dataset", "group_a", "group_b")},
        "models": list(dict.fromkeys(row["model"] for row in rows)),
        "methods": list(dict.fromkeys(row["method"] for row in rows)),
        "words": sorted(sizes, key=lambda word: (-sizes[word], word))[:SHOWN_WORDS],
        "cells": {cell: _difference(part, alpha) for cell, part in parts.items()},
        "tested": len(sizes),
        "is_pooled": any(row["p_pooled"] == row["p_pooled"] for row in rows),
    }


def _difference(rows: Sequence[Row], alpha: float) -> dict[str, Any]:
    """Return the means over the seeds, and how many of those tested are significant by Holm."""
    pooled = [row["p_pooled"] for row in rows if row["p_pooled"] == row["p_pooled"]]
    return {
        **{name: rows[0][name] for name in _IDS},
        "mean_difference": mean_and_sd([row["mean_difference"] for row in rows])[0],
        "mean_absolute": mean_and_sd([row["mean_absolute_difference"] for row in rows])[0],
        "significant": sum(row["p_holm"] <= alpha for row in rows),
        "tested": sum(row["p"] == row["p"] for row in rows),
        "n_sets": max(row["n_sets"] for row in rows),
        "significant_pooled": sum(p <= alpha for p in pooled),
        "tested_pooled": len(pooled),
        "median_p_pooled": median(pooled) if pooled else None,
    }


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: the differences over seeds."""
    tables = difference_tables(rows, study.statistics["alpha"])
    title = "Attribution of words within matched sets"
    differences = [difference for table in tables for difference in table["cells"].values()]
    return Findings(
        {
            "differences": tables,
            "noise": noise_of(study.rows),
            "meaning": meaning_of(ROUNDING_NOISE),
        },
        [Export("attribution_differences", title, _COLUMNS, differences)],
    )
