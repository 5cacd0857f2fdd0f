"""Bias of the datasets, and the published bias of GECO."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, plain_schema
from exparity.core.grouping import grouped
from exparity.published.study import Key, load_study
from exparity.report.gather import Study

SHOWN_WORDS = 10
_WORDS = plain_schema(
    "dataset class_name word: string",
    "correlation: float64",
    "n_texts: int64",
    "rationale_share: float64",
)
_SHARES = plain_schema(
    "dataset split group: string", "share: float64", "count n_texts: int64", "published: float64"
)
_PUBLISHED_GROUP = "female"


def shares_of(rows: Sequence[Row], registered: str) -> list[dict[str, Any]]:
    """Return the co-occurrences of a dataset by split and group, with the published share."""
    of = {(row["quantity"], row["split"], row["group"]): row for row in rows}
    known = load_study("gecobench2024").values.get(Key(registered, metric="bias_c"))
    printed = {("all", _PUBLISHED_GROUP): known.mean if known else None}
    return [
        {
            "dataset": row["dataset"],
            "split": split,
            "group": group,
            "share": row["value"],
            "count": int(of["cooccurrence", split, group]["value"]),
            "n_texts": row["n"],
            "published": printed.get((split, group)),
        }
        for split in ("all", "train", "test")
        for group in rows[0]["groups"]
        if (row := of.get(("cooccurrence_share", split, group)))
    ]


def associations_of(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    """Return the words of a dataset that go most with each class.

    Of two classes the second alone has any, since the first is its mirror image.
    """
    labels = rows[0]["labels"]
    by_class = grouped(
        (r for r in rows if r["quantity"] == "tfidf_correlation" and r["value"] == r["value"]),
        itemgetter("class_name"),
    )
    return {
        name: [
            {**row, "correlation": row["value"], "n_texts": row["n"]}
            for row in sorted(by_class[name], key=lambda row: (-abs(row["value"]), row["word"]))
        ][:SHOWN_WORDS]
        for name in (labels[1:] if len(labels) == 2 else labels)
        if name in by_class
    }


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: shares by group and words by class."""
    biases = [
        {
            "dataset": dataset,
            "shares": shares_of(own, study.datasets[dataset]),
            "associations": associations_of(own),
        }
        for dataset, own in grouped(rows, itemgetter("dataset")).items()
    ]
    shares = [share for bias in biases for share in bias["shares"]]
    words = [row for bias in biases for of in bias["associations"].values() for row in of]
    return Findings(
        {"dataset_biases": biases, "reference": load_study("gecobench2024").reference},
        [
            Export("cooccurrence", "Words beside the terms of each group", _SHARES, shares),
            Export("word_associations", "Words that go with a class", _WORDS, words),
        ],
    )
