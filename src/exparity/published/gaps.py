"""Our classifiers' gaps, as values by the ids of a published study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.artefacts.grid import read_grid
from exparity.core.grouping import grouped
from exparity.debiasing.recipes import RECIPES, calls_of
from exparity.published.study import Key, PublishedStudy, Value

_ZARI = {"normal": "zari", "cda": "zari_w_cda"}  # a checkpoint that the study calls a method
_PROBED = {"tpr_gap": "sg_tpr", "causal_tpr_gap": "cg_tpr"}
Drawn = tuple[Key, float]
"""A gap of one run."""


def our_gaps(
    results: Path,
    study: PublishedStudy,
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None,
) -> tuple[dict[Key, Value], list[str]]:
    """Return our gaps over seeds, and our classifiers without a counterpart, and why.

    ``runs`` are dataset, model and seed of the classifiers to compare; all there are if None.
    """
    datasets, left_out = _datasets(results, study), dict[str, None]()
    values: dict[Key, list[float]] = defaultdict(list)
    for key, value in _trained(results, study, datasets, models, runs, left_out):
        values[key].append(value)
    for key, value in _probed(results, study, datasets):
        values[key].append(value)
    return {
        key: Value(key, fmean(of), stdev(of) if len(of) > 1 else None, len(of))
        for key, of in values.items()
    }, list(left_out)


def _datasets(results: Path, study: PublishedStudy) -> dict[str, str]:
    """Return our datasets that the study has, by our id."""
    registered: dict[str, str] = dict((read_grid(results) or {}).get("datasets", ()))
    theirs = study.facts["datasets"]
    ids = {ids[0] for ids, _ in layout.files(results, "bias")} | set(registered)
    return {id: theirs[use] for id in sorted(ids) if (use := registered.get(id, id)) in theirs}


def _trained(
    results: Path,
    study: PublishedStudy,
    datasets: Mapping[str, str],
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None,
    left_out: dict[str, None],
) -> Iterator[Drawn]:
    """Yield the gaps of every classifier that has a counterpart; note the others."""
    for (dataset, model, seed), rows in _classifiers(results):
        if runs is not None and (dataset, model, seed) not in runs:
            continue
        if dataset not in datasets:
            left_out[f"dataset {dataset}"] = None
            continue
        ids = {"dataset": dataset, "model": model, "seed": seed}
        parameters = read_parquet(results / layout.path_of("predictions", ids))[1]["parameters"]
        checkpoint = parameters["model"].get("checkpoint")
        source = models.get(model) or study.facts["checkpoints"].get(checkpoint)
        recipe = recipe_of(parameters.get("debias", ()))
        method = None if recipe is None else study.facts["recipes"][datasets[dataset]].get(recipe)
        if source == "zari":
            source, method = "albert_large", _ZARI.get(method or "")
        if source is None or method is None:
            what = "model" if source is None else "way of debiasing"
            left_out[f"{model} on {dataset} (another {what})"] = None
            continue
        for printed in (method, f"{method}_once"):
            yield from _gaps_of(rows, study, (datasets[dataset], source, printed))


def _classifiers(results: Path) -> Iterator[tuple[tuple[str, ...], list[dict[str, Any]]]]:
    """Yield dataset, model and seed of every classifier, and the rows of its bias."""
    for ids, path in layout.files(results, "bias"):
        rows = read_artefact(path, "bias")[0].to_pylist()
        for seed, of_seed in grouped(rows, itemgetter("seed")).items():
            yield (*ids, str(seed)), of_seed


def recipe_of(debias: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the recipe that interventions are; empty without any, None where none is the same."""
    made = [{"use": call["use"], **call.get("params", {})} for call in debias]
    if not made:
        return ""
    return next((name for name in RECIPES if calls_of(name, "") == made), None)


def _gaps_of(
    rows: Iterable[Mapping[str, Any]], study: PublishedStudy, ids: tuple[str, str, str]
) -> Iterator[Drawn]:
    """Yield what the bias of a classifier has of the study's metrics, with the study's sign."""
    for row in rows:
        pair = row["group"], row["group_b"]
        sign = {study.groups: 1, study.groups[::-1]: -1, ("", ""): 1}.get(pair)
        if sign is None or row["value"] != row["value"]:
            continue
        unsigned = pair == ("", "") or row["quantity"].endswith("_rms")
        for metric, facts in study.facts["metrics"].items():
            class_name = facts.get("class", row["class_name"])
            if (facts["quantity"], class_name) == (row["quantity"], row["class_name"]):
                of_class = "" if "class" in facts else row["class_name"]
                value = row["value"] if unsigned else sign * row["value"]
                yield Key(*ids, metric, of_class), value


def _probed(results: Path, study: PublishedStudy, datasets: Mapping[str, str]) -> Iterator[Drawn]:
    """Yield the gaps of bags of words with scaled words."""
    for (dataset,), path in layout.files(results, "term_weight_probe"):
        for row in read_artefact(path, "term_weight_probe")[0].to_pylist():
            pair = row["group"], row["group_b"]
            sign = {study.groups: 1, study.groups[::-1]: -1}.get(pair)
            trained_alike = row["debias"] == "none"
            metric = _PROBED.get(row["quantity"])
            if not (dataset in datasets and sign and trained_alike and metric):
                continue
            if row["value"] == row["value"]:
                method = f"weight_{row['weight']:g}"
                ids = datasets[dataset], "bow_logistic_regression", method
                yield Key(*ids, metric, row["class_name"]), sign * row["value"]
