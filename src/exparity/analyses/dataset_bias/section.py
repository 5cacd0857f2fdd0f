"""Bias of the datasets, and the published bias of GECO."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter, itemgetter

from exparity.artefacts.analyses import Findings
from exparity.artefacts.columns import Export, Row, records
from exparity.core.grouping import grouped
from exparity.published.study import Key, load_study
from exparity.report.gather import Study

SHOWN_WORDS = 10
_PUBLISHED_GROUP = "female"


@dataclass(frozen=True)
class _Measured:
    """A row of the artefact, and the groups and classes of its dataset."""

    dataset: str
    quantity: str
    split: str
    group: str
    class_name: str
    word: str
    value: float
    n: int
    rationale_share: float
    groups: Sequence[str]
    labels: Sequence[str]


@dataclass(frozen=True)
class CooccurrenceShare:
    """The words beside the terms of a group, among those of all groups.

    Attributes:
        dataset, split, group: what it is of.
        share: share of the group in the counts of all; NaN of none.
        count: words beside its terms.
        n_texts: its texts with a term.
        published: the published share; None without.
    """

    dataset: str
    split: str
    group: str
    share: float
    count: int
    n_texts: int
    published: float | None


@dataclass(frozen=True)
class Association:
    """How a word goes with a class.

    Attributes:
        dataset, class_name, word: what it is of.
        correlation: Pearson's, of its tf-idf value with the class.
        n_texts: texts that have it.
        rationale_share: share of its occurrences that rationales mark; NaN of none.
    """

    dataset: str
    class_name: str
    word: str
    correlation: float
    n_texts: int
    rationale_share: float


def shares_of(rows: Sequence[Row], registered: str) -> list[CooccurrenceShare]:
    """Return the co-occurrences of a dataset by split and group, with the published share."""
    measured = records(_Measured, rows)
    by_place = {(row.quantity, row.split, row.group): row for row in measured}
    published_value = load_study("gecobench2024").values.get(Key(registered, metric="bias_c"))
    published = {("all", _PUBLISHED_GROUP): published_value.mean if published_value else None}
    return [
        CooccurrenceShare(
            row.dataset,
            split,
            group,
            share=row.value,
            count=int(by_place["cooccurrence", split, group].value),
            n_texts=row.n,
            published=published.get((split, group)),
        )
        for split in ("all", "train", "test")
        for group in measured[0].groups
        if (row := by_place.get(("cooccurrence_share", split, group)))
    ]


def associations_of(rows: Sequence[Row]) -> dict[str, list[Association]]:
    """Return the words of a dataset that go most with each class.

    Of two classes the second alone has any, since the first is its mirror image.
    """
    measured = records(_Measured, rows)
    labels = measured[0].labels
    associations = [
        Association(row.dataset, row.class_name, row.word, row.value, row.n, row.rationale_share)
        for row in measured
        if row.quantity == "tfidf_correlation" and row.value == row.value
    ]
    associations.sort(key=lambda word: (-abs(word.correlation), word.word))
    by_class = grouped(associations, attrgetter("class_name"))
    return {
        name: by_class[name][:SHOWN_WORDS]
        for name in (labels[1:] if len(labels) == 2 else labels)
        if name in by_class
    }


def findings(rows: Sequence[Row], study: Study) -> Findings:
    """Return the section: shares by group and words by class."""
    biases = [
        DatasetBias(dataset, shares_of(part, study.datasets[dataset]), associations_of(part))
        for dataset, part in grouped(rows, itemgetter("dataset")).items()
    ]
    title = "Words beside the terms of each group"
    shares = [share for bias in biases for share in bias.shares]
    words = [word for bias in biases for word in chain(*bias.associations.values())]
    return Findings(
        {"dataset_biases": biases, "reference": load_study("gecobench2024").reference},
        [
            Export.of("cooccurrence", title, CooccurrenceShare, shares),
            Export.of("word_associations", "Words that go with a class", Association, words),
        ],
    )


@dataclass(frozen=True)
class DatasetBias:
    """The co-occurrences of a dataset, and its words by class."""

    dataset: str
    shares: Sequence[CooccurrenceShare]
    associations: Mapping[str, Sequence[Association]]
