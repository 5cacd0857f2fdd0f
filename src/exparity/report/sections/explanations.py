"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow.compute import equal

from exparity.core.grouping import grouped
from exparity.report.context import Content, Context
from exparity.report.gather import Row, Study
from exparity.report.ranges import is_constant, shares_of
from exparity.report.scores import ExampleScores
from exparity.report.sections.disparity import view_names

SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None without explanations."""
    study = context.study
    if not study.methods:
        return None
    limit = max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))
    samples, available = [], 0
    for dataset, models in study.models.items():
        texts = study.columns("data", "example_id", "group", "match_id", "split", dataset=dataset)
        if texts is None:
            continue
        examples = texts.filter(equal(texts["split"], "test")).to_pylist()
        for model in models if examples else ():
            of_model = _sample(context, (dataset, model, study.seeds[0]), examples, limit)
            if of_model is not None:
                sample, n_sets = of_model
                samples.append(sample)
                available += n_sets
    if not samples:
        return None
    return Content(
        values={
            "limit": limit,
            "seed": study.seeds[0],
            "chosen": sum(len(sample["sets"]) for sample in samples),
            "available": available,
        },
        data={**view_names(study), "samples": samples},
    )


def _set_of(example: Row) -> str:
    """Return the name of the matched set of an example, or of one of its own."""
    match = example["match_id"]
    return f"example {example['example_id']}" if match is None else f"set {match}"


def _sample(
    context: Context, ids: tuple[str, str, int], examples: Sequence[Row], limit: int
) -> tuple[dict[str, Any], int] | None:
    """Return a sample of one classifier for the script, and the number of sets that it is of.

    ``examples`` are those of the test split. None if there are no predictions. Sets of which
    nothing is explained do not count. Only the rows of the sample are read whole.
    """
    study, (dataset, model, seed) = context.study, ids
    cell: dict[str, str | int] = {"dataset": dataset, "model": model, "seed": seed}
    predicted = _ids_in(study.columns("predictions", "example_id", **cell))
    if not predicted:
        return None
    by_method = {
        method: _ids_in(study.columns("explanations", "example_id", **cell, method=method))
        for method in study.applying("methods", dataset)
    }
    explained = {method: names for method, names in by_method.items() if names}
    ids_explained = set().union(*explained.values()) or {row["example_id"] for row in examples}
    by_set = grouped(examples, _set_of)
    sets = {name: [row["example_id"] for row in rows] for name, rows in by_set.items()}
    sets = {
        name: members for name, members in sets.items() if not ids_explained.isdisjoint(members)
    }
    metrics = study.applying("metrics", dataset)
    known = context.scores.examples
    cells = {(m, k): (*ids, m, k) for m in explained for k in metrics}
    scores = {pair: known[of_file] for pair, of_file in cells.items() if of_file in known}
    order = study.declared(dataset).parts

    def place(row: Row) -> tuple[int, str]:
        return order.index(row["group"]), row["example_id"]

    chosen = [
        [row["example_id"] for row in sorted(by_set[name], key=place)]
        for name in choose_sets(sets, explained, scores, limit)
    ]
    shown = [[id for id in members if id in predicted] for members in chosen]
    members = _Members(study, cell, {id for names in shown for id in names}, list(explained))
    sample = {
        "dataset": dataset,
        "name": study.display("dataset", dataset),
        "model": model,
        "classes": study.declared(dataset).classes,
        "methods": list(explained),
        "metrics": metrics,
        "sets": [[members.of(id, scores, metrics) for id in names] for names in shown],
    }
    return sample, len(sets)


def _ids_in(table: pa.Table | None) -> set[str]:
    """Return the ids of a table's examples; none if there is no table."""
    return set() if table is None else set(table["example_id"].to_pylist())


class _Members:
    """Texts, predictions and explanations of the examples of a sample."""

    def __init__(
        self,
        study: Study,
        cell: Mapping[str, str | int],
        names: Collection[str],
        methods: Sequence[str],
    ) -> None:
        self._texts = study.rows_of("data", names, dataset=cell["dataset"])
        self._predictions = study.rows_of("predictions", names, **cell)
        self._explanations = {
            method: study.rows_of("explanations", names, **cell, method=method)
            for method in methods
        }

    def of(
        self,
        name: str,
        scores: Mapping[tuple[str, str], ExampleScores],
        metrics: Sequence[str],
    ) -> dict[str, Any]:
        """Return an example for the script."""
        return {
            **_example(self._texts[name], self._predictions[name]),
            **_explanations([rows.get(name) for rows in self._explanations.values()]),
            "scores": [
                [scores[m, k].of(name) if (m, k) in scores else None for k in metrics]
                for m in self._explanations
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
    complete = {
        name: sum(all(id in of_method for id in members) for of_method in explained.values())
        for name, members in sets.items()
    }
    most = max(complete.values(), default=0)
    by_number = sorted(sets, key=lambda name: -complete[name])
    candidates = [name for i, name in enumerate(by_number) if i < limit or complete[name] == most]
    disparity = _disparities({name: sets[name] for name in candidates}, scores)
    ranked = sorted(candidates, key=lambda name: (-disparity[name], name))
    top, rest = ranked[: (limit + 1) // 2], ranked[(limit + 1) // 2 :]
    places = np.linspace(0, len(rest) - 1, min(limit // 2, len(rest))).round().astype(int)
    return top + [rest[place] for place in sorted(set(places.tolist()))]


def _disparities(
    sets: Mapping[str, Sequence[str]], scores: Mapping[tuple[str, str], ExampleScores]
) -> dict[str, float]:
    """Return the disparity of each set; 0 if no score is defined for all of its members."""
    differences: dict[str, list[float]] = {name: [] for name in sets}
    for of_cell in scores.values():
        finite = of_cell.values[np.isfinite(of_cell.values)]
        if not finite.size or is_constant(finite.min(), finite.max()):
            continue
        ends = float(finite.min()), float(finite.max())
        shares = shares_of(finite, *ends)
        mean, sd = shares.mean(), shares.std()
        for name, members in sets.items():
            places = [of_cell.places.get(id) for id in members]
            scores_of = np.array([np.nan if i is None else of_cell.values[i] for i in places])
            if np.isfinite(scores_of).all():
                values = shares_of(scores_of, *ends)
                far = np.ptp(values) if len(values) > 1 else abs(values[0] - mean)
                differences[name].append(float(far / sd))
    return {name: float(np.mean(of)) if of else 0.0 for name, of in differences.items()}


def _example(example: Mapping[str, Any], prediction: Mapping[str, Any]) -> dict[str, Any]:
    carries, words_b = example["rationale"], example.get("words_b")
    return {
        "id": example["example_id"],
        "group": example["group"],
        "label": example["label"],
        "predicted": prediction["predicted"],
        "probabilities": [_short(p) for p in prediction["probabilities"]],
        "words": [*example["words"], *(words_b or ())],
        **({"second": len(example["words"])} if words_b else {}),
        "rationale": None if carries is None else [i for i, yes in enumerate(carries) if yes],
    }


def _explanations(explanations: list[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Return tokens, which all methods share, and the attributions of each method."""
    nothing: Mapping[str, Any] = {"tokens": [], "word_ids": []}
    first = next((e for e in explanations if e is not None), nothing)
    return {
        "tokens": first["tokens"],
        "word_ids": first["word_ids"],
        "attributions": [
            # What does not line up is not shown.
            [_short(x) for x in explanation["scores"]]
            if explanation and explanation["tokens"] == first["tokens"]
            else None
            for explanation in explanations
        ],
    }


def _short(value: float) -> float:
    """Return a float32 with the fewest digits that give it back."""
    return float(str(np.float32(value)))
