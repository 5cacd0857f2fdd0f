"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from exparity.core.grouping import grouped
from exparity.report.context import Content, Context
from exparity.report.gather import Row
from exparity.report.ranges import is_constant, shares_of
from exparity.report.sections.disparity import view_names

SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""

Rows = Mapping[str, Row]
"""Rows by example id."""


def build(context: Context) -> Content | None:
    """Return the content of the section; None without explanations."""
    study = context.study
    if not study.methods:
        return None
    limit = max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))
    samples, available = [], 0
    for dataset, models in study.models.items():
        texts = study.by_example("data", dataset=dataset)
        examples = {id: row for id, row in texts.items() if row["split"] == "test"}
        rows = grouped(examples.values(), _set_of)
        sets = {name: [row["example_id"] for row in of] for name, of in rows.items()}
        for model in models if sets else ():
            of_model = _sample(context, (dataset, model, study.seeds[0]), examples, sets, limit)
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
    context: Context,
    ids: tuple[str, str, int],
    examples: Rows,
    sets: Mapping[str, Sequence[str]],
    limit: int,
) -> tuple[dict[str, Any], int] | None:
    """Return a sample of one classifier for the script, and the number of sets that it is of.

    None if there are no predictions. Sets of which nothing is explained do not count.
    """
    study, (dataset, model, seed) = context.study, ids
    cell: dict[str, str | int] = {"dataset": dataset, "model": model, "seed": seed}
    predicted = study.by_example("predictions", **cell)
    if not predicted:
        return None
    by_method = {
        method: study.by_example("explanations", **cell, method=method)
        for method in study.applying("methods", dataset)
    }
    explained = {method: rows for method, rows in by_method.items() if rows}
    ids_explained = set().union(*explained.values()) or {*examples}
    sets = {name: of for name, of in sets.items() if not ids_explained.isdisjoint(of)}
    metrics = study.applying("metrics", dataset)
    known = context.scores.examples
    scores = {(m, k): known.get((*ids, m, k), {}) for m in explained for k in metrics}
    order = study.declared(dataset).parts

    def member(id: str) -> dict[str, Any]:
        return {
            **_example(examples[id], predicted[id]),
            **_explanations([of_method.get(id) for of_method in explained.values()]),
            "scores": [[scores[m, k].get(id) for k in metrics] for m in explained],
        }

    def place(id: str) -> tuple[int, str]:
        return order.index(examples[id]["group"]), id

    chosen = {
        "dataset": dataset,
        "name": study.display("dataset", dataset),
        "model": model,
        "classes": study.declared(dataset).classes,
        "methods": list(explained),
        "metrics": metrics,
        "sets": [
            [member(id) for id in sorted(sets[name], key=place) if id in predicted]
            for name in choose_sets(sets, explained, scores, limit)
        ],
    }
    return chosen, len(sets)


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
        finite = np.array([x for x in of_cell.values() if np.isfinite(x)])
        if not finite.size or is_constant(finite.min(), finite.max()):
            continue
        ends = float(finite.min()), float(finite.max())
        shares = shares_of(finite, *ends)
        mean, sd = shares.mean(), shares.std()
        for name, members in sets.items():
            scores_of = np.array([of_cell.get(id, np.nan) for id in members])
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
