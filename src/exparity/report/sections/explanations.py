"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exparity.artefacts.files import read_artefact
from exparity.report.context import Content, Context
from exparity.report.gather import Study
from exparity.report.sections.disparity import view_names

SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""

Rows = Mapping[str, Mapping[str, Any]]
"""Rows by example id."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None without explanations."""
    study = context.study
    if not study.methods:
        return None
    limit = max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))
    examples = {d: _examples(study, d) for d in study.models}
    samples = []
    available = 0
    for dataset, model in study.pairs:
        sets = _matched_sets(examples[dataset])
        sample = _sample(context, dataset, model, examples[dataset], sets, limit)
        if sets and sample is not None:
            samples.append(sample)
            available += len(sets)
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


def _examples(study: Study, dataset: str) -> Rows:
    """Return the test examples of a dataset by id; none if the file is not there."""
    path = study.path("data", dataset=dataset)
    if not path.is_file():
        return {}
    rows = read_artefact(path, "data")[0].to_pylist()
    return {row["example_id"]: row for row in rows if row["split"] == "test"}


def _matched_sets(examples: Rows) -> dict[str, list[str]]:
    """Return example ids by matched set; an example without one is a set of its own."""
    sets: dict[str, list[str]] = {}
    for id, row in examples.items():
        key = f"example {id}" if row["match_id"] is None else f"set {row['match_id']}"
        sets.setdefault(key, []).append(id)
    return sets


def _sample(
    context: Context,
    dataset: str,
    model: str,
    examples: Rows,
    sets: Mapping[str, Sequence[str]],
    limit: int,
) -> dict[str, Any] | None:
    """Return a sample of the first seed for the script; None if there are no predictions."""
    study, ids = context.study, (dataset, model, context.study.seeds[0])
    cell: dict[str, str | int] = dict(zip(("dataset", "model", "seed"), ids, strict=True))
    predictions = study.path("predictions", **cell)
    if not predictions.is_file():
        return None
    explained = {}
    for method in study.applying("methods", dataset):
        path = study.path("explanations", **cell, method=method)
        if path.is_file():
            explained[method] = _by_id(path, "explanations")
    methods, metrics = list(explained), study.applying("metrics", dataset)
    scores = {
        (m, k): context.scores.examples.get((*ids, m, k), {}) for m in methods for k in metrics
    }
    chosen = choose_sets(sets, explained, scores, limit)
    predicted = _by_id(predictions, "predictions")
    order = study.declared(dataset).parts

    def member(id: str) -> dict[str, Any]:
        return {
            **_example(examples[id], predicted[id]),
            **_explanations([of_method.get(id) for of_method in explained.values()]),
            "scores": [[scores[m, k].get(id) for k in metrics] for m in methods],
        }

    return {
        "dataset": dataset,
        "name": study.display("dataset", dataset),
        "model": model,
        "classes": study.declared(dataset).classes,
        "methods": methods,
        "metrics": metrics,
        "sets": [
            [
                member(id)
                for id in sorted(
                    sets[name], key=lambda id: (order.index(examples[id]["group"]), id)
                )
                if id in predicted
            ]
            for name in chosen
        ],
    }


def choose_sets(
    sets: Mapping[str, Sequence[str]],
    explained: Mapping[str, Collection[str]],
    scores: Mapping[tuple[str, str], Mapping[str, float]],
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
    sets: Mapping[str, Sequence[str]], scores: Mapping[tuple[str, str], Mapping[str, float]]
) -> dict[str, float]:
    """Return the disparity of each set; 0 if no score is defined for all of its members."""
    differences: dict[str, list[float]] = {name: [] for name in sets}
    for of_cell in scores.values():
        finite = [x for x in of_cell.values() if np.isfinite(x)]
        sd = float(np.std(finite)) if finite else 0.0
        if not sd:
            continue
        for name, members in sets.items():
            values = np.array([of_cell.get(id, np.nan) for id in members])
            if np.isfinite(values).all():
                far = np.ptp(values) if len(values) > 1 else abs(values[0] - np.mean(finite))
                differences[name].append(float(far / sd))
    return {name: float(np.mean(of)) if of else 0.0 for name, of in differences.items()}


def _by_id(path: Path, artefact: str) -> Rows:
    return {row["example_id"]: row for row in read_artefact(path, artefact)[0].to_pylist()}


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
