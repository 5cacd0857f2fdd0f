"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, product
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow.compute import equal

from exparity.artefacts.columns import records
from exparity.core.grouping import grouped
from exparity.quantities.inputs import Prediction
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.ranges import is_constant, shares_of
from exparity.report.rows import ExplanationRow, TextRow
from exparity.report.scores import ExampleScores
from exparity.report.sections.disparity import view_names

_DIGITS = 3
"""Digits of the largest attribution of a text; shades and labels of tokens need no more."""
SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None without explanations."""
    study = context.study
    if not study.methods:
        return None
    limit = max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))
    samples = []
    for dataset, models in study.models.items():
        examples = _test_examples(study, dataset)
        for model in models if examples else ():
            sample = _sample(context, _Classifier(dataset, model, study.seeds[0]), examples, limit)
            if sample is not None:
                samples.append(sample)
    if not samples:
        return None
    return Content(
        values={
            "limit": limit,
            "seed": study.seeds[0],
            "chosen": sum(len(sample.sets) for sample in samples),
            "available": sum(sample.n_available for sample in samples),
        },
        data={**view_names(study), "samples": [sample.data() for sample in samples]},
    )


class _Classifier(NamedTuple):
    """Ids of the classifier of a sample."""

    dataset: str
    model: str
    seed: int


@dataclass(frozen=True)
class _Example:
    """An example of the data, without its text."""

    example_id: str
    group: str
    match_id: str | None
    split: str

    @property
    def set_name(self) -> str:
        """Name of its matched set, or of one of its own."""
        return f"example {self.example_id}" if self.match_id is None else f"set {self.match_id}"


@dataclass(frozen=True)
class _Sample:
    """Matched sets of one classifier with their explanations.

    Attributes:
        classifier: ids of the classifier.
        name: of its dataset.
        classes: names of the classes.
        methods, metrics: ids, in the order of attributions and scores.
        sets: the examples of each set, for the script.
        n_available: sets that they are a sample of.
    """

    classifier: _Classifier
    name: str
    classes: Sequence[str]
    methods: Sequence[str]
    metrics: Sequence[str]
    sets: Sequence[Sequence[Mapping[str, object]]]
    n_available: int

    def data(self) -> dict[str, object]:
        """Return it for the script."""
        return {
            "dataset": self.classifier.dataset,
            "name": self.name,
            "model": self.classifier.model,
            "classes": self.classes,
            "methods": self.methods,
            "metrics": self.metrics,
            "sets": self.sets,
        }


def _test_examples(study: Study, dataset: str) -> list[_Example]:
    """Return the examples of the test split; none without data."""
    names = [field.name for field in fields(_Example)]
    table = study.columns("data", *names, dataset=dataset)
    if table is None:
        return []
    return records(_Example, table.filter(equal(table.column("split"), "test")))


def _sample(
    context: Context, classifier: _Classifier, examples: Sequence[_Example], limit: int
) -> _Sample | None:
    """Return a sample of one classifier; None if there are no predictions.

    ``examples`` are those of the test split. Sets without any explanation do not count. Only
    the rows of the sample are read whole.
    """
    study = context.study
    ids = classifier._asdict()
    predicted = _ids_in(study.columns("predictions", "example_id", **ids))
    if not predicted:
        return None
    explained = _explained(study, classifier)
    sets = _sets_of(examples, explained)
    metrics = study.applying("metrics", classifier.dataset)
    scores = _scores(context, classifier, list(explained), metrics)
    order = study.declared(classifier.dataset).parts

    def place(example: _Example) -> tuple[int, str]:
        return order.index(example.group), example.example_id

    by_set = grouped(examples, lambda example: example.set_name)
    chosen = [
        [example.example_id for example in sorted(by_set[name], key=place)]
        for name in choose_sets(sets, explained, scores, limit)
    ]
    shown = [[name for name in members if name in predicted] for members in chosen]
    members = _Members(study, classifier, {*chain.from_iterable(shown)}, list(explained))
    return _Sample(
        classifier,
        study.display("dataset", classifier.dataset),
        study.declared(classifier.dataset).classes,
        list(explained),
        metrics,
        [[members.data(name, scores, metrics) for name in names] for names in shown],
        len(sets),
    )


def _explained(study: Study, classifier: _Classifier) -> dict[str, set[str]]:
    """Return the ids of the examples that each method explains, for methods that explain any."""
    by_method = {
        method: _ids_in(
            study.columns("explanations", "example_id", **classifier._asdict(), method=method)
        )
        for method in study.applying("methods", classifier.dataset)
    }
    return {method: names for method, names in by_method.items() if names}


def _sets_of(
    examples: Sequence[_Example], explained: Mapping[str, Collection[str]]
) -> dict[str, list[str]]:
    """Return the ids of each set with an explained example; all sets if nothing is explained."""
    explained_ids = set().union(*explained.values()) or {example.example_id for example in examples}
    by_set = grouped(examples, lambda example: example.set_name)
    sets = {name: [example.example_id for example in members] for name, members in by_set.items()}
    return {name: ids for name, ids in sets.items() if not explained_ids.isdisjoint(ids)}


def _scores(
    context: Context, classifier: _Classifier, methods: Sequence[str], metrics: Sequence[str]
) -> dict[tuple[str, str], ExampleScores]:
    """Return the scores of each method and metric that there are."""
    scores = context.scores.examples
    cells = {pair: (*classifier, *pair) for pair in product(methods, metrics)}
    return {pair: scores[ids] for pair, ids in cells.items() if ids in scores}


def _ids_in(table: pa.Table | None) -> set[str]:
    """Return the ids of a table's examples; none if there is no table."""
    return set() if table is None else set(table.column("example_id").to_pylist())


class _Members:
    """Texts, predictions and explanations of the examples of a sample."""

    def __init__(
        self,
        study: Study,
        classifier: _Classifier,
        names: Collection[str],
        methods: Sequence[str],
    ) -> None:
        ids = classifier._asdict()
        texts = study.records_of(TextRow, "data", names, dataset=classifier.dataset)
        predictions = study.records_of(Prediction, "predictions", names, **ids)
        self._texts = {text.example_id: text for text in texts}
        self._predictions = {row.example_id: row for row in predictions}
        self._explanations = {
            method: {
                row.example_id: row
                for row in study.records_of(
                    ExplanationRow, "explanations", names, **ids, method=method
                )
            }
            for method in methods
        }

    def data(
        self,
        name: str,
        scores: Mapping[tuple[str, str], ExampleScores],
        metrics: Sequence[str],
    ) -> dict[str, object]:
        """Return an example for the script."""
        return {
            **_example(self._texts[name], self._predictions[name]),
            **_explanations([by_id.get(name) for by_id in self._explanations.values()]),
            "scores": [
                [
                    scores[method, metric].of(name) if (method, metric) in scores else None
                    for metric in metrics
                ]
                for method in self._explanations
            ],
        }


def choose_sets(
    sets: Mapping[str, Sequence[str]],
    explained: Mapping[str, Collection[str]],
    scores: Mapping[tuple[str, str], ExampleScores],
    limit: int,
) -> list[str]:
    """Choose the sets to show: half have the largest disparity, half are spread evenly.

    Sets that every method has explained come first, so that any two methods can be compared. The
    disparity of a set is the mean, over methods and metrics, of the largest difference between its
    members in standard deviations of that score. For a single example it is the distance from
    the mean.
    """
    explained_ids = [set(ids) for ids in explained.values()]
    complete = {
        name: sum(ids.issuperset(members) for ids in explained_ids)
        for name, members in sets.items()
    }
    most = max(complete.values(), default=0)
    by_number = sorted(sets, key=lambda name: -complete[name])
    candidates = [name for i, name in enumerate(by_number) if i < limit or complete[name] == most]
    disparity = _disparities({name: sets[name] for name in candidates}, scores)
    ranked = sorted(candidates, key=lambda name: (-disparity[name], name))
    top = ranked[: (limit + 1) // 2]
    rest = ranked[(limit + 1) // 2 :]
    places = np.linspace(0, len(rest) - 1, min(limit // 2, len(rest))).round().astype(int)
    return top + [rest[place] for place in sorted(set(places.tolist()))]


def _disparities(
    sets: Mapping[str, Sequence[str]], scores: Mapping[tuple[str, str], ExampleScores]
) -> dict[str, float]:
    """Return the disparity of each set; 0 if no score is defined for all of its members."""
    differences: dict[str, list[float]] = {name: [] for name in sets}
    for cell in scores.values():
        finite = cell.values[np.isfinite(cell.values)]
        if not finite.size or is_constant(finite.min(), finite.max()):
            continue
        low = float(finite.min())
        high = float(finite.max())
        shares = shares_of(finite, low, high)
        mean = shares.mean()
        sd = shares.std()
        for name, members in sets.items():
            places = [cell.places.get(example) for example in members]
            set_scores = np.array([np.nan if i is None else cell.values[i] for i in places])
            if np.isfinite(set_scores).all():
                values = shares_of(set_scores, low, high)
                far = np.ptp(values) if len(values) > 1 else abs(values[0] - mean)
                differences[name].append(float(far / sd))
    return {name: float(np.mean(d)) if d else 0.0 for name, d in differences.items()}


def _example(text: TextRow, prediction: Prediction) -> dict[str, object]:
    marked = text.rationale
    return {
        "id": text.example_id,
        "group": text.group,
        "label": text.label,
        "predicted": prediction.predicted,
        "probabilities": _alike(prediction.probabilities),
        "words": text.all_words,
        **({"second": len(text.words)} if text.words_b else {}),
        "rationale": None if marked is None else [i for i, yes in enumerate(marked) if yes],
    }


def _explanations(explanations: Sequence[ExplanationRow | None]) -> dict[str, object]:
    """Return tokens of words, which all methods share, and the attributions of each method."""
    first = next((row for row in explanations if row is not None), None)
    if first is None:
        return {"tokens": [], "word_ids": [], "attributions": [None] * len(explanations)}
    chosen = [place for place, word in enumerate(first.word_ids) if word >= 0]
    return {
        "tokens": [first.tokens[place] for place in chosen],
        "word_ids": [first.word_ids[place] for place in chosen],
        "attributions": [
            # What does not line up is not shown.
            _alike([row.scores[place] for place in chosen])
            if row is not None and row.tokens == first.tokens
            else None
            for row in explanations
        ],
    }


def _alike(values: Sequence[float]) -> list[float]:
    """Return values with as many decimals as leave :data:`_DIGITS` digits of the largest one."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not largest:
        return list(values)
    decimals = _DIGITS - 1 - math.floor(math.log10(largest))
    return [round(value, decimals) for value in values]
