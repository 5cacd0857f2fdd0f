"""Analysis dataset_bias: what the words of a dataset say of its groups and classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.analyses import ExperimentView, StageResult, Table, analysis, fields
from exparity.analyses.dataset_bias._words import Forms, cooccurrence, word_associations
from exparity.analyses.dataset_bias.section import findings
from exparity.core.errors import InputError
from exparity.data.table import PreparedData, read_prepared
from exparity.types import Example

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

    Raises:
        InputError: terms that do not fit the groups.
    """
    prepared = read_prepared(data)
    rows = list(_associations(prepared))
    for split in _SPLITS if terms else ():
        rows += _cooccurrences(data, prepared, split, terms or {})
    return StageResult(
        rows,
        {"dataset": prepared.dataset},
        {
            "groups": list(prepared.groups),
            "labels": list(prepared.labels),
            "attribute": prepared.attribute,
        },
    )


def _row(quantity: str, split: str, value: float, n: int, **more: Any) -> dict[str, Any]:
    empty = {"group": "", "class_name": "", "word": "", "rationale_share": np.nan}
    return {"quantity": quantity, "split": split, "value": value, "n": n, **empty, **more}


def _associations(prepared: PreparedData) -> Iterator[dict[str, Any]]:
    examples = prepared.examples
    for one in word_associations(
        [example.all_words for example in examples],
        [example.label for example in examples],
        len(prepared.labels),
        [example.rationale for example in examples],
    ):
        yield _row(
            "tfidf_correlation",
            "all",
            one.correlation,
            one.n_texts,
            word=one.word,
            class_name=prepared.labels[one.class_index],
            rationale_share=one.rationale_share,
        )


def _cooccurrences(
    data: Path, prepared: PreparedData, split: str, terms: Mapping[str, Forms]
) -> Iterator[dict[str, Any]]:
    examples: list[Example] = [e for e in prepared.examples if split in ("all", e.split)]
    words, groups = [e.all_words for e in examples], [e.group for e in examples]
    try:
        counts = cooccurrence(words, groups, prepared.groups, terms)
    except InputError as error:
        raise InputError(f"{data}: {error}") from None
    for one in counts:
        yield _row("cooccurrence", split, float(one.count), one.n_texts, group=one.group)
        yield _row("cooccurrence_share", split, one.share, one.n_texts, group=one.group)
