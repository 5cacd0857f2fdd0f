"""Explanations side by side: a sample of matched sets with their attributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.files import read_artefact
from exparity.report.context import Content, Context

SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""

Rows = Mapping[str, Mapping[str, Any]]
"""Rows by example id."""


def build(context: Context) -> Content | None:
    """Return what the section shows."""
    study = context.study
    if not study.methods:
        return None
    limit = max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))
    datasets = dict.fromkeys(dataset for dataset, _ in study.pairs)
    examples = {dataset: _examples(context, dataset) for dataset in datasets}
    samples = [_sample(context, d, model, examples[d], limit) for d, model in study.pairs]
    data = [sample for _, sample in samples if sample is not None]
    if not data:
        return None
    return Content(
        values={
            "limit": limit,
            "seed": study.seeds[0],
            "chosen": sum(len(sample["sets"]) for sample in data),
            "available": sum(n for n, sample in samples if sample is not None),
        },
        data={
            "methods": {id: study.display("method", id) for id in study.methods},
            "metrics": {
                id: [study.display("metric", id), study.metric_facts(id).direction]
                for id in study.metrics
            },
            "samples": data,
        },
    )


def _examples(context: Context, dataset: str) -> dict[str, dict[str, Any]]:
    """Return the test examples of a dataset by id; none if the file is not there."""
    path = context.study.path("data", dataset=dataset)
    if not path.is_file():
        return {}
    columns = ["example_id", "match_id", "split", "words", "group", "label", "rationale"]
    table = read_artefact(path, "data")[0]
    columns += ["words_b"] if "words_b" in table.column_names else []
    rows = table.select(columns).to_pylist()
    return {row["example_id"]: row for row in rows if row["split"] == "test"}


def _sample(
    context: Context, dataset: str, model: str, examples: Rows, limit: int
) -> tuple[int, dict[str, Any] | None]:
    """Return how many sets there are, and a sample of the first seed for the script."""
    study, scores = context.study, context.scores.examples
    ids = dataset, model, study.seeds[0]
    cell: dict[str, str | int] = dict(zip(("dataset", "model", "seed"), ids, strict=True))
    predictions = study.path("predictions", **cell)
    applying = {kind: study.applying(kind, dataset) for kind in ("methods", "metrics")}
    files = {m: study.path("explanations", **cell, method=m) for m in applying["methods"]}
    sets = _matched_sets(examples)
    if not predictions.is_file() or not sets:
        return len(sets), None
    tables = {
        method: read_artefact(path, "explanations")[0]
        for method, path in files.items()
        if path.is_file()
    }
    methods, metrics = list(tables), applying["metrics"]
    values = {(m, k): scores.get((*ids, m, k), {}) for m in methods for k in metrics}
    ids_of = {m: set(table["example_id"].to_pylist()) for m, table in tables.items()}
    chosen = choose_sets(sets, ids_of, values, limit)
    wanted = {member for name in chosen for member in sets[name]}
    explained = {method: _rows(table, wanted) for method, table in tables.items()}
    predicted = _rows(read_artefact(predictions, "predictions")[0], wanted)
    order = {group: i for i, group in enumerate(study.declared(dataset).parts)}
    members = {
        id: {
            **_example(examples[id], predicted[id]),
            **_explanations([of_method.get(id) for of_method in explained.values()]),
            "scores": [[values[m, k].get(id) for k in metrics] for m in methods],
        }
        for id in sorted(predicted, key=lambda id: (order[examples[id]["group"]], id))
    }
    data = {
        "dataset": dataset,
        "name": study.display("dataset", dataset),
        "model": model,
        "classes": study.declared(dataset).classes,
        "methods": methods,
        "metrics": metrics,
        "sets": [[row for id, row in members.items() if id in sets[name]] for name in chosen],
    }
    return len(sets), data


def _matched_sets(examples: Rows) -> dict[str, list[str]]:
    """Return example ids by matched set; an example without one is a set of its own."""
    sets: dict[str, list[str]] = {}
    for id, row in examples.items():
        key = f"example {id}" if row["match_id"] is None else f"set {row['match_id']}"
        sets.setdefault(key, []).append(id)
    return sets


def choose_sets(
    sets: Mapping[str, Sequence[str]],
    explained: Mapping[str, set[str]],
    values: Mapping[tuple[str, str], Mapping[str, float]],
    limit: int,
) -> list[str]:
    """Choose the sets to show: half have the largest disparity, half are spread evenly.

    Sets that every method has explained come first, so that any two methods can be compared. The
    disparity of a set is the mean, over methods and metrics, of the largest difference between its
    members in standard deviations of that score. For a single example it is the distance from
    the mean.
    """
    spread = {
        key: (float(np.mean(finite)), float(np.std(finite)))
        for key, of_cell in values.items()
        if (finite := [x for x in of_cell.values() if np.isfinite(x)])
    }

    def disparity(name: str) -> float:
        differences = []
        for key, (mean, sd) in spread.items():
            of_set = [values[key].get(id, np.nan) for id in sets[name]]
            of_set = [x for x in of_set if np.isfinite(x)]
            if not sd or not of_set or len(of_set) < len(sets[name]):
                continue
            low, high = min(of_set), max(of_set)
            differences.append((high - low if len(of_set) > 1 else abs(high - mean)) / sd)
        return float(np.mean(differences)) if differences else 0.0

    complete = {
        name: sum(all(id in ids for id in sets[name]) for ids in explained.values())
        for name in sets
    }
    most = max(complete.values(), default=0)
    by_number = sorted(sets, key=lambda name: -complete[name])
    candidates = [name for i, name in enumerate(by_number) if i < limit or complete[name] == most]
    of = {name: disparity(name) for name in candidates}
    ranked = sorted(candidates, key=lambda name: (-of[name], name))
    top, rest = ranked[: (limit + 1) // 2], ranked[(limit + 1) // 2 :]
    places = np.linspace(0, len(rest) - 1, min(limit // 2, len(rest))).round().astype(int)
    return top + [rest[place] for place in sorted(set(places.tolist()))]


def _rows(table: pa.Table, wanted: set[str]) -> Rows:
    """Return the rows of some examples by id."""
    mask = pa.array([id in wanted for id in table["example_id"].to_pylist()])
    return {row["example_id"]: row for row in table.filter(mask).to_pylist()}


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
    """Return tokens and attributions by method; one tokeniser made them all."""
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
