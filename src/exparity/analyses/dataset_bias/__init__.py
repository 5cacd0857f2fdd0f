"""Analysis dataset_bias: what the words of a dataset say of its groups and classes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.analyses import ExperimentView, StageResult, Table, analysis, fields
from exparity.analyses.dataset_bias._words import Forms, cooccurrence, word_associations
from exparity.analyses.dataset_bias.section import findings
from exparity.data.table import read_prepared

_SPLITS = ("all", "train", "test")


def _job_options(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Return the words that name each group of a dataset, by form; none where it declares none."""
    named = experiment.datasets[ids["dataset"]].entry.facts.group_terms
    return {"terms": {group: [list(form) for form in forms] for group, forms in named.items()}}


@analysis(
    "dataset_bias",
    level="dataset",
    reads=("data",),
    writes={
        "dataset_bias": Table(
            fields(
                ("quantity", pa.string()),
                ("split", pa.string()),
                ("group", pa.string()),
                ("class_name", pa.string()),
                ("word", pa.string()),
                ("value", pa.float64()),
                ("n", pa.int64()),
                ("rationale_share", pa.float64()),
            ),
            keys=("quantity", "split", "group", "class_name", "word"),
        )
    },
    memory_mb=4000,
    job_options=_job_options,
    section=findings,
)
def measure_dataset_bias(data: Path, *, terms: Mapping[str, Forms] | None = None) -> StageResult:
    """Measure the co-occurrence bias of a dataset, and how its words go with its classes.

    Args:
        data: the data artefact.
        terms: words that name each group, by form: ``{"male": [["he"], ["him", "his"]], ...}``;
            co-occurrence is left out if None.
    """
    prepared = read_prepared(data)
    rows = [
        _row(
            "tfidf_correlation",
            "all",
            one.correlation,
            one.n_texts,
            word=one.word,
            class_name=prepared.labels[one.class_index],
            rationale_share=one.rationale_share,
        )
        for one in word_associations(
            [example.all_words for example in prepared.examples],
            [example.label for example in prepared.examples],
            len(prepared.labels),
            [example.rationale for example in prepared.examples],
        )
    ]
    for split in _SPLITS if terms else ():
        examples = [e for e in prepared.examples if split in ("all", e.split)]
        texts, groups = [e.all_words for e in examples], [e.group for e in examples]
        for count in cooccurrence(texts, groups, prepared.groups, terms or {}):
            of: dict[str, Any] = {"n": count.n_texts, "group": count.group}
            rows.append(_row("cooccurrence", split, float(count.count), **of))
            rows.append(_row("cooccurrence_share", split, count.share, **of))
    facts = {**prepared.compared, "labels": list(prepared.labels)}
    return StageResult(rows, {"dataset": prepared.dataset}, facts)


def _row(quantity: str, split: str, value: float, n: int, **more: Any) -> dict[str, Any]:
    empty = {"group": "", "class_name": "", "word": "", "rationale_share": np.nan}
    return {"quantity": quantity, "split": split, "value": value, "n": n, **empty, **more}
