"""Bias of the datasets themselves, beside what was published of GECO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from exparity.artefacts.analyses import Findings
from exparity.artefacts.exports import Export
from exparity.core.grouping import grouped
from exparity.published.study import Key, load_study

if TYPE_CHECKING:
    from exparity.report.gather import Study

SHOWN_WORDS = 10
_WORDS = pa.schema(
    {
        **dict.fromkeys(("dataset", "class_name", "word"), pa.string()),
        "correlation": pa.float64(),
        "n_texts": pa.int64(),
        "rationale_share": pa.float64(),
    }
)
_PUBLISHED_GROUP = "female"


@dataclass(frozen=True)
class GroupShare:
    """A group's share of all co-occurrences, and how many texts have one of its terms.

    Attributes:
        share: the group's share; NaN if there are no co-occurrences.
    """

    dataset: str
    split: str
    group: str
    share: float
    count: int
    n_texts: int
    published: float | None


@dataclass(frozen=True)
class DatasetBias:
    """One dataset.

    Attributes:
        shares: co-occurrence by split and group; empty where nobody says which words name them.
        associations: rows of the words that go most with each class that is shown: of two classes
            only the second, since the first is its mirror image.
    """

    dataset: str
    shares: Sequence[GroupShare]
    associations: Mapping[str, Sequence[Mapping[str, Any]]]


def dataset_biases(
    rows: Sequence[Mapping[str, Any]], datasets: Mapping[str, str]
) -> list[DatasetBias]:
    """Arrange the dataset_bias artefact by dataset."""
    return [
        DatasetBias(dataset, _shares(own, datasets[dataset]), _associations(own))
        for dataset, own in grouped(rows, itemgetter("dataset")).items()
    ]


def _shares(rows: Sequence[Mapping[str, Any]], registered: str) -> list[GroupShare]:
    of = {(row["quantity"], row["split"], row["group"]): row for row in rows}
    known = load_study("gecobench2024").values.get(Key(registered, metric="bias_c"))
    printed = known.mean if known else None
    return [
        GroupShare(
            dataset=row["dataset"],
            split=split,
            group=group,
            share=row["value"],
            count=int(of["cooccurrence", split, group]["value"]),
            n_texts=row["n"],
            published=printed if (split, group) == ("all", _PUBLISHED_GROUP) else None,
        )
        for split in ("all", "train", "test")
        for group in rows[0]["groups"]
        if (row := of.get(("cooccurrence_share", split, group)))
    ]


def _associations(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    by_class = grouped(
        (r for r in rows if r["quantity"] == "tfidf_correlation" and r["value"] == r["value"]),
        itemgetter("class_name"),
    )
    labels = rows[0]["labels"]
    strongest = {
        name: sorted(by_class[name], key=lambda row: (-abs(row["value"]), row["word"]))
        for name in labels
        if name in by_class
    }
    chosen = list(strongest)[1:] if len(labels) == 2 else strongest
    return {name: strongest[name][:SHOWN_WORDS] for name in chosen}


def findings(
    rows: Sequence[Mapping[str, Any]], study: Study, options: Mapping[str, Any]
) -> Findings:
    """Return what the report says: shares by group and words by class."""
    biases = dataset_biases(rows, study.datasets)
    shares = [share for bias in biases for share in bias.shares]
    words = [
        {**row, "correlation": row["value"], "n_texts": row["n"]}
        for bias in biases
        for associations in bias.associations.values()
        for row in associations
    ]
    title = "Words beside the terms of each group"
    return Findings(
        {"dataset_biases": biases, "reference": load_study("gecobench2024").reference},
        [
            Export.of("cooccurrence", title, GroupShare, shares),
            Export("word_associations", "Words that go with a class", _WORDS, words),
        ],
    )
