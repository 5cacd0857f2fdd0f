"""Analysis dataset_bias: what the words of a dataset say of its groups and classes.

Wilming et al. 2024, A.1.3, has both measures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.dataset_bias.section import findings
from exparity.artefacts.ids import Ids
from exparity.data.table import read_prepared
from exparity.types import IntArray

_SPLITS = ("all", "train", "test")
Forms = Sequence[Sequence[str]]
"""Terms that name a group, by form: words that stand for one another, such as him and his."""


def cooccurrence(
    texts: Sequence[Sequence[str]],
    groups: Sequence[str],
    order: Sequence[str],
    terms: Mapping[str, Forms],
    split: str = "all",
) -> Iterator[dict[str, object]]:
    r"""Count the words beside the terms of each group (Zhao et al. 2017; Cabello et al. 2023).

    In group g, :math:`C_g = \sum_S \sum_{a \in A_g} \sum_{w \in V} 1_S(a, w)`: over its texts S,
    the forms a of its terms that S has, and the words w of S that are no term of any group. A form
    counts once a text, a word as often as it occurs.

    Args:
        texts: (n,) words of each text.
        groups: (n,) each text's group.
        order: the groups.
        terms: the forms of each group.
        split: the part of the dataset that these texts are.

    Yields:
        Two rows of the artefact per group: the count, and its share of the counts of all groups,
        NaN if there are none; with two groups, a share of 0.5 is balance. Their ``n`` is the number
        of the group's texts with one of its terms.
    """
    forms = {g: [{word.lower() for word in form} for form in terms[g]] for g in order}
    all_terms = set().union(*chain(*forms.values()))
    counts = dict.fromkeys(order, 0)
    with_terms = dict.fromkeys(order, 0)
    for text, group in zip(texts, groups, strict=True):
        words = [word.lower() for word in text]
        n_forms = sum(not form.isdisjoint(words) for form in forms[group])
        counts[group] += n_forms * sum(word not in all_terms for word in words)
        with_terms[group] += n_forms > 0
    total = sum(counts.values())
    for g in order:
        share = counts[g] / total if total else np.nan
        yield _row("cooccurrence", split, float(counts[g]), with_terms[g], group=g)
        yield _row("cooccurrence_share", split, share, with_terms[g], group=g)


def word_associations(
    texts: Sequence[Sequence[str]],
    labels: Sequence[int] | IntArray,
    classes: Sequence[str],
    rationales: Sequence[Sequence[int] | None] | None = None,
) -> Iterator[dict[str, object]]:
    """Correlate the tf-idf value of each word with the classes (Wilming et al. 2024, figure 3).

    Words are lower-cased. tf-idf is scikit-learn's: smoothed, each text scaled to length 1. A
    correlation is NaN where word or class is constant.

    Args:
        texts: (n,) words of each text.
        labels: (n,) class index of each.
        classes: names of the classes.
        rationales: (n,) a 0 or 1 per word of each text, or None where unknown.

    Yields:
        One row of the artefact per word and class.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.feature_selection import r_regression

    lowered = [[word.lower() for word in text] for text in texts]
    vectorizer = TfidfVectorizer(analyzer=list)
    values = vectorizer.fit_transform(lowered)  # sparse: (n, words)
    words = vectorizer.get_feature_names_out().tolist()
    n_texts = values.getnnz(axis=0).tolist()
    # A word with the same value everywhere varies by rounding alone.
    varies = (values.max(axis=0) - values.min(axis=0)).toarray()[0] > 1e-12
    marked_texts = [
        (t, r)
        for t, r in zip(lowered, rationales or (), strict=rationales is not None)
        if r is not None
    ]
    counts = Counter(word for text, _ in marked_texts for word in text)
    marked = Counter(w for pair in marked_texts for w, mark in zip(*pair, strict=True) if mark)
    for c, class_name in enumerate(classes):
        with np.errstate(all="ignore"):  # a class of all texts, or of none
            r = r_regression(values, np.equal(labels, c), force_finite=False)
        correlations = np.where(varies, r.clip(-1, 1), np.nan).tolist()
        for word, n, correlation in zip(words, n_texts, correlations, strict=True):
            share = marked[word] / counts[word] if counts[word] else np.nan
            facts = {"word": word, "class_name": class_name, "rationale_share": share}
            yield _row("tfidf_correlation", "all", correlation, n, **facts)


def _job_options(experiment: ExperimentView, ids: Ids) -> dict[str, object]:
    """Return the words that name each group of a dataset, by form; none where it declares none."""
    named = experiment.datasets[ids.dataset].entry.facts.group_terms
    return {"terms": {group: [list(form) for form in forms] for group, forms in named.items()}}


@analysis(
    "dataset_bias",
    level="dataset",
    reads=("data",),
    writes={
        "dataset_bias": Table(
            "quantity split group class_name word: string",
            "value: float64",
            "n: int64",
            "rationale_share: float64",
            keys=("quantity", "split", "group", "class_name", "word"),
        )
    },
    memory_mb=4000,
    job_options=_job_options,
    section=findings,
)
def measure_dataset_bias(data: Path, *, terms: Mapping[str, Forms] | None = None) -> StageResult:
    """Measure the co-occurrence bias of a dataset, and how its words correlate with classes.

    Args:
        data: the data artefact.
        terms: words that name each group, by form: ``{"male": [["he"], ["him", "his"]], ...}``;
            co-occurrence is left out if None.
    """
    prepared = read_prepared(data)
    rows = list(
        word_associations(
            [example.all_words for example in prepared.examples],
            [example.label for example in prepared.examples],
            prepared.labels,
            [example.rationale for example in prepared.examples],
        )
    )
    for split in _SPLITS if terms else ():
        examples = [e for e in prepared.examples if split in ("all", e.split)]
        texts = [example.all_words for example in examples]
        groups = [example.group for example in examples]
        rows += cooccurrence(texts, groups, prepared.groups, terms or {}, split)
    facts = {**prepared.compared, "labels": list(prepared.labels)}
    return StageResult(rows, {"dataset": prepared.dataset}, facts)


def _row(quantity: str, split: str, value: float, n: int, **more: Any) -> dict[str, object]:
    empty = {"group": "", "class_name": "", "word": "", "rationale_share": np.nan}
    return {"quantity": quantity, "split": split, "value": value, "n": n, **empty, **more}
