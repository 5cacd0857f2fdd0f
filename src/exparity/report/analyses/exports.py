"""The tables of the analyses as they are downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from exparity.artefacts.exports import Export
from exparity.report.analyses.attribution_difference import difference_tables
from exparity.report.analyses.correctness import correctness_tables
from exparity.report.analyses.dataset_bias import dataset_biases
from exparity.report.analyses.mlm_score import mlm_lines
from exparity.report.analyses.reading import read_analysis

_TEXT, _INT, _FLOAT = pa.string(), pa.int64(), pa.float64()
_CORRECTNESS = {
    "dataset": _TEXT, "model": _TEXT, "method": _TEXT, "metric": _TEXT, "subset": _TEXT,
    "group": _TEXT, "mean": _FLOAT, "sd": _FLOAT, "n": _INT, "undefined": _INT,
}  # fmt: skip
_DIFFERENCES = {
    "dataset": _TEXT, "model": _TEXT, "method": _TEXT, "group_a": _TEXT, "group_b": _TEXT,
    "word_a": _TEXT, "word_b": _TEXT, "mean_difference": _FLOAT, "mean_absolute": _FLOAT,
    "significant": _INT, "tested": _INT, "n_sets": _INT,
}  # fmt: skip
_COOCCURRENCE = {
    "dataset": _TEXT, "split": _TEXT, "group": _TEXT, "share": _FLOAT, "count": _INT,
    "n_texts": _INT, "published": _FLOAT,
}  # fmt: skip
_WORDS = {
    "dataset": _TEXT, "class_name": _TEXT, "word": _TEXT, "correlation": _FLOAT, "n_texts": _INT,
    "rationale_share": _FLOAT,
}  # fmt: skip
_MLM = {
    "dataset": _TEXT, "model": _TEXT, "group_a": _TEXT, "group_b": _TEXT, "mean_a": _FLOAT,
    "mean_b": _FLOAT, "difference": _FLOAT, "significant": _INT, "tested": _INT,
    "likelier": _FLOAT, "n": _INT,
}  # fmt: skip
Rows = list[dict[str, Any]]


def analysis_exports(results: Path, options: Mapping[str, Any]) -> list[Export]:
    """Return a table for each analysis that the config asks for.

    Args:
        results: folder of all results.
        options: what :meth:`exparity.config.Experiment.report_options` returned.

    Raises:
        InputError: an artefact is missing or damaged.
    """
    alpha = options["statistics"]["alpha"]
    read = {name: read_analysis(results, options, name) for name in options.get("analyses", {})}
    bias = dataset_biases(read.get("dataset_bias", []), dict(options["datasets"]))
    found = (
        ("correctness", "Correctness of explanations", _CORRECTNESS,
         _correctness(read.get("correctness", []))),
        ("attribution_differences", "Attribution of words within matched sets", _DIFFERENCES,
         _differences(read.get("attribution_difference", []), alpha)),
        ("cooccurrence", "Words beside the terms of each group", _COOCCURRENCE,
         [{"dataset": b.dataset, **asdict(share)} for b in bias for share in b.shares]),
        ("word_associations", "Words that go with a class", _WORDS,
         [{"dataset": b.dataset, "class_name": name, "word": row["word"],
           "correlation": row["value"], "n_texts": row["n"],
           "rationale_share": row["rationale_share"]}
          for b in bias for name, rows in b.associations.items() for row in rows]),
        ("mlm_scores", "Masked language model", _MLM,
         [asdict(line) for line in mlm_lines(read.get("mlm_score", []), alpha)]),
    )  # fmt: skip
    return [
        Export(name, title, pa.schema(columns.items()), rows)
        for name, title, columns, rows in found
        if rows
    ]


def _correctness(rows: Rows) -> Rows:
    return [
        {
            "dataset": table.dataset, "model": line.model, "method": line.method,
            "metric": table.metric, "subset": subset, "group": group, **asdict(level),
        }
        for table in correctness_tables(rows)
        for line in table.lines
        for (subset, group), level in line.levels.items()
    ]  # fmt: skip


def _differences(rows: Rows, alpha: float) -> Rows:
    return [
        {
            "dataset": table.dataset, "group_a": table.group_a, "group_b": table.group_b,
            "model": model, "method": method, "word_a": word[0], "word_b": word[1],
            **asdict(found),
        }
        for table in difference_tables(rows, alpha)
        for (model, method, word), found in table.cells.items()
    ]  # fmt: skip
