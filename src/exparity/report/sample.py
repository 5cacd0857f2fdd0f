"""The sample of explanations that the page shows: which examples, and all that belongs to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from exparity.artefacts.files import read_artefact
from exparity.artefacts.layout import path_of
from exparity.artefacts.seal import open_sealed
from exparity.report.gather import Study
from exparity.report.scores import Scores

SETS_PER_CLASSIFIER = 40
SETS_IN_ALL = 800
"""Bounds of the sample: matched sets, or single examples of datasets without sets."""

Member = dict[str, Any]


@dataclass(frozen=True)
class Sample:
    """Explanations of one trained classifier.

    Attributes:
        dataset: its dataset.
        model: the model.
        seed: its seed.
        methods: methods that the members have attributions of.
        metrics: metrics of their scores.
        sets: the members of each chosen set, in the order of the dataset's groups. A member has
            ``id``, ``group``, ``label``, ``predicted``, ``probabilities``, ``words``,
            ``rationale`` (indices of words), ``tokens``, ``word_ids``, ``attributions`` (by
            method) and ``scores`` (by method and metric; None where there is none).
        available: sets of the test split to choose from.
        missing: files that the sample would need and that are not there.
    """

    dataset: str
    model: str
    seed: int
    methods: Sequence[str]
    metrics: Sequence[str]
    sets: Sequence[Sequence[Member]]
    available: int
    missing: Sequence[Path]


def sets_per_classifier(study: Study) -> int:
    """Return how many sets of each classifier the page shows at most."""
    return max(1, min(SETS_PER_CLASSIFIER, SETS_IN_ALL // len(study.pairs)))


def read_samples(results: Path, study: Study, scores: Scores) -> list[Sample]:
    """Choose and read the sample of every classifier of the first seed.

    Args:
        results: folder of all results.
        study: the grid.
        scores: its scores, with those of single examples of the first seed.

    Raises:
        InputError: a file is damaged. One that is not there is listed.
    """
    seed = study.seeds[0]
    limit = sets_per_classifier(study)
    datasets: dict[str, dict[str, Member]] = {}
    samples = []
    for dataset, model in study.pairs:
        if dataset not in datasets:
            datasets[dataset] = _examples(results / path_of("data", {"dataset": dataset}))
        samples.append(_sample(results, study, scores, datasets[dataset], (dataset, model), limit))
    assert all(sample.seed == seed for sample in samples)
    return samples


def _examples(path: Path) -> dict[str, Member]:
    """Return the test examples of a dataset by id; none if the file is not there."""
    if not path.is_file():
        return {}
    table, _ = read_artefact(path, "data")
    columns = ["example_id", "match_id", "split", "words", "group", "label", "rationale"]
    rows = table.select(columns).to_pylist()
    return {row["example_id"]: row for row in rows if row["split"] == "test"}


def _sample(
    results: Path,
    study: Study,
    scores: Scores,
    examples: Mapping[str, Member],
    pair: tuple[str, str],
    limit: int,
) -> Sample:
    dataset, model = pair
    seed = study.seeds[0]
    cell: dict[str, str | int] = {"dataset": dataset, "model": model, "seed": seed}
    data, predictions = (results / path_of(kind, cell) for kind in ("data", "predictions"))
    files = {m: results / path_of("explanations", {**cell, "method": m}) for m in study.methods}
    missing = [path for path in (predictions, *files.values()) if not path.is_file()]
    if not examples:
        missing.append(data)
    sets = _sets(examples)
    if predictions in missing or not sets:
        return Sample(dataset, model, seed, (), (), (), len(sets), missing)
    methods = [m for m in study.methods if files[m] not in missing]
    ids = {m: set(_ids(files[m])) for m in methods}
    values = {
        (m, k): scores.examples.get((dataset, model, seed, m, k), {})
        for m in methods
        for k in study.metrics
    }
    chosen = choose_sets(sets, ids, values, limit)
    wanted = {member for name in chosen for member in sets[name]}
    explained = {m: _rows(files[m], "explanations", wanted) for m in methods}
    predicted = _rows(predictions, "predictions", wanted)
    order = {group: i for i, group in enumerate(study.declared(dataset).groups)}
    return Sample(
        dataset=dataset,
        model=model,
        seed=seed,
        methods=methods,
        metrics=list(study.metrics),
        sets=[
            [
                _member(
                    examples[id],
                    predicted[id],
                    {m: explained[m].get(id) for m in methods},
                    values,
                )
                for id in sorted(sets[name], key=lambda id: (order[examples[id]["group"]], id))
                if id in predicted
            ]
            for name in chosen
        ],
        available=len(sets),
        missing=missing,
    )


def _sets(examples: Mapping[str, Member]) -> dict[str, list[str]]:
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

    Args:
        sets: example ids by set.
        explained: ids that each method has explained.
        values: scores by method and metric, then by id.
        limit: how many at most.

    Returns:
        Names of sets, largest disparity first.
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
    candidates = [name for name in sets if complete[name] == most]
    if len(candidates) < limit:
        rest = sorted((n for n in sets if n not in set(candidates)), key=lambda n: -complete[n])
        candidates += rest[: limit - len(candidates)]
    of = {name: disparity(name) for name in candidates}
    ranked = sorted(candidates, key=lambda name: (-of[name], name))
    top, rest = ranked[: (limit + 1) // 2], ranked[(limit + 1) // 2 :]
    places = np.linspace(0, len(rest) - 1, min(limit // 2, len(rest))).round().astype(int)
    return top + [rest[place] for place in sorted(set(places.tolist()))]


def _ids(path: Path) -> list[str]:
    with open_sealed(path) as file:
        ids: list[str] = file.read(columns=["example_id"], use_threads=False)[0].to_pylist()
    return ids


def _rows(path: Path, artefact: str, wanted: set[str]) -> dict[str, Member]:
    """Return the rows of some examples by id."""
    table, _ = read_artefact(path, artefact)
    mask = pa.array([id in wanted for id in table["example_id"].to_pylist()])
    return {row["example_id"]: row for row in table.filter(mask).to_pylist()}


def _member(
    example: Member,
    prediction: Member,
    explanations: Mapping[str, Member | None],
    values: Mapping[tuple[str, str], Mapping[str, float]],
) -> Member:
    id = example["example_id"]
    first = next((e for e in explanations.values() if e is not None), None)
    return {
        "id": id,
        "group": example["group"],
        "label": example["label"],
        "predicted": prediction["predicted"],
        "probabilities": [_short(p) for p in prediction["probabilities"]],
        "words": example["words"],
        "rationale": None
        if example["rationale"] is None
        else [i for i, carries in enumerate(example["rationale"]) if carries],
        "tokens": first["tokens"] if first else [],
        "word_ids": first["word_ids"] if first else [],
        "attributions": {
            method: [_short(x) for x in explanation["scores"]]
            for method, explanation in explanations.items()
            # One tokeniser made them all; what does not line up is not shown.
            if explanation and first and explanation["tokens"] == first["tokens"]
        },
        "scores": {
            method: {
                metric: values[method, metric].get(id)
                for m, metric in values
                if m == method and id in values[method, metric]
            }
            for method in explanations
        },
    }


def _short(value: float) -> float:
    """Return a float32 with the fewest digits that give it back."""
    return float(str(np.float32(value)))
