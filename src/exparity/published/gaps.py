"""Gaps of our classifiers beside those of a published study."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np

from exparity.artefacts import layout
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.artefacts.grid import read_grid
from exparity.core.grouping import grouped
from exparity.core.plain import as_list, as_mapping
from exparity.debiasing.recipes import RECIPES, calls_of
from exparity.published.study import Key, PublishedStudy, check_models, load_study
from exparity.stats.rank_correlation import rank_correlation
from exparity.types import FloatArray

_BAG = "bow_logistic_regression"
_ZARI = {"normal": "zari", "cda": "zari_w_cda"}  # a checkpoint that the study calls a method


@dataclass(frozen=True)
class GapMatch:
    """One gap of ours beside the published one, both first minus second of the study's groups.

    Ids are published ones, and ``our_model`` is our own, or several; standard deviations are None
    of one run. ``note`` says what to know before comparing.
    """

    dataset: str
    model: str
    method: str
    metric: str
    class_name: str
    ours: float | None
    ours_sd: float | None
    runs: int
    theirs: float | None
    theirs_sd: float | None
    table: str
    note: str
    our_model: str


@dataclass(frozen=True)
class ClassAgreement:
    """Gaps of single classes beside the published ones, over the classes that both have.

    Ids are published ones.

    Attributes:
        classes: how many classes both have.
        rms_ours, rms_theirs: root of the mean square of the gaps over these classes, in [0, 1].
        deviation: root of the mean square of ours − published, in [0, 2].
        rho: Spearman's rank correlation of the gaps; None below three classes or where one side is
            constant.
        table: figure or table that prints the gaps.
    """

    dataset: str
    model: str
    method: str
    metric: str
    classes: int
    rms_ours: float
    rms_theirs: float
    deviation: float
    rho: float | None
    table: str


@dataclass(frozen=True)
class GapComparison:
    """Gaps of our classifiers beside a study's; ``left_out`` is what of ours it has not."""

    study: PublishedStudy
    left_out: Sequence[str]
    gaps: Sequence[GapMatch]

    @cached_property
    def by_class(self) -> Sequence[ClassAgreement]:
        """The agreement over classes of each model, way of debiasing and metric."""
        class_gaps = [match for match in self.gaps if match.class_name]
        by_ids = grouped(class_gaps, attrgetter("dataset", "model", "method", "metric", "table"))
        return [_class_agreement(matches) for matches in by_ids.values()]


def compare_gaps(
    results: Path,
    study: str,
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None = None,
) -> GapComparison:
    """Put the bias of our classifiers beside a published study.

    Args:
        results: folder of all results.
        study: id of the study.
        models: our model ids to published ones, for models from other checkpoints.
        runs: dataset, model and seed of the classifiers to compare; all there are if None.

    Raises:
        InputError: unknown study or model, or a damaged artefact.
    """
    published = load_study(study)
    check_models(models, sorted({key.model for key in published.values} | {"zari"}))
    grid = read_grid(results)
    registered = grid.datasets if grid else {}
    theirs_of: Mapping[str, str] = published.facts.datasets
    left_out = dict[str, None]()
    placed: list[_Placed] = []
    for ids, rows in _classifiers(results):
        if runs is not None and ids not in runs:
            continue
        dataset = theirs_of.get(registered.get(ids[0], ids[0]))
        if dataset is None:
            left_out[f"dataset {ids[0]}"] = None
            continue
        source, method = _counterpart(results, published, ids, dataset, models)
        if source is None or method is None:
            what = "model" if source is None else "way of debiasing"
            left_out[f"{ids[1]} on {ids[0]} (another {what})"] = None
            continue
        for name in (method, f"{method}_once"):
            placed.append(_Placed((dataset, source, name), ids[1], rows))
    for method, our_dataset, row in _probed(results):
        dataset = theirs_of.get(registered.get(our_dataset, our_dataset))
        if dataset is not None:
            placed.append(_Placed((dataset, _BAG, method), _BAG, [row]))
    return GapComparison(published, list(left_out), [*_matches(placed, published)])


class _Placed(NamedTuple):
    """Rows of one of our models, and the published ids of its dataset, model and method."""

    place: tuple[str, str, str]
    our_model: str
    rows: Sequence[Row]


def _matches(placed: Iterable[_Placed], published: PublishedStudy) -> Iterator[GapMatch]:
    """Yield our gaps over all runs beside those that are published."""
    values: dict[Key, list[float]] = defaultdict(list)
    our_models: dict[Key, dict[str, None]] = defaultdict(dict)
    for place, our_model, rows in placed:
        for metric, class_name, value in _gaps_of(rows, published):
            key = Key._make((*place, metric, class_name))
            values[key].append(value)
            our_models[key][our_model] = None
    metrics = published.facts.metrics
    for key, theirs in published.values.items():
        if ours := values.get(key):
            is_mixed = metrics.get(key.metric, {}).get("mixed")
            yield GapMatch(
                *key,
                *(fmean(ours), stdev(ours) if len(ours) > 1 else None, len(ours)),
                *(theirs.mean, theirs.sd, theirs.table),
                published.facts.mixed if is_mixed else "",
                ", ".join(our_models[key]),
            )


def _class_agreement(matches: Sequence[GapMatch]) -> ClassAgreement:
    """Compare the gaps of single classes of one model, way of debiasing and metric."""
    pairs = [(match.ours, match.theirs) for match in matches]
    ours, theirs = np.array(pairs, dtype=np.float64).T
    rho = rank_correlation(ours, theirs).correlation
    first = matches[0]
    return ClassAgreement(
        first.dataset,
        first.model,
        first.method,
        first.metric,
        classes=len(pairs),
        rms_ours=_rms(ours),
        rms_theirs=_rms(theirs),
        deviation=_rms(ours - theirs),
        rho=None if math.isnan(rho) else rho,
        table=first.table,
    )


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))


@dataclass(frozen=True)
class _Bias:
    """A row of bias: a quantity of a classifier, of two groups or of all, and of one class."""

    seed: int
    quantity: str
    class_name: str
    group: str
    group_b: str
    value: float


@dataclass(frozen=True)
class _Probed:
    """A row of the probe of term weights, as one of bias, and what was weighted."""

    weight: float
    terms: str
    debias: str
    quantity: str
    class_name: str
    group: str
    group_b: str
    value: float


Row = _Bias | _Probed
"""A gap of one of our classifiers."""


def _classifiers(results: Path) -> Iterator[tuple[tuple[str, ...], Sequence[Row]]]:
    """Yield dataset, model and seed of every classifier, and the rows of its bias."""
    for ids, path in layout.files(results, "bias"):
        rows = records(_Bias, read_artefact(path, "bias")[0])
        for seed, seed_rows in grouped(rows, attrgetter("seed")).items():
            yield (*ids, str(seed)), seed_rows


def _probed(results: Path) -> Iterator[tuple[str, str, _Probed]]:
    """Yield the published name of a scale, the dataset and each row of the probe, undebiased."""
    for (dataset,), path in layout.files(results, "term_weight_probe"):
        for row in records(_Probed, read_artefact(path, "term_weight_probe")[0]):
            method = f"weight_{row.weight:g}"
            if row.terms != "all":
                method += f"_{row.terms}"
            if row.debias == "none":
                yield method, str(dataset), row


def _counterpart(
    results: Path,
    study: PublishedStudy,
    ids: tuple[str, ...],
    dataset: str,
    models: Mapping[str, str],
) -> tuple[str | None, str | None]:
    """Return the published model and way of debiasing of a classifier, None where it has none."""
    path = layout.path_of("predictions", dict(zip(("dataset", "model", "seed"), ids, strict=True)))
    parameters = read_parquet(results / path)[1].parameters
    checkpoint = as_mapping(parameters["model"]).get("checkpoint")
    source = models.get(ids[1]) or study.facts.checkpoints.get(str(checkpoint))
    recipe = recipe_of(map(as_mapping, as_list(parameters.get("debias", ()))))
    method = None if recipe is None else study.facts.recipes[dataset].get(recipe)
    return ("albert_large", _ZARI.get(method or "")) if source == "zari" else (source, method)


def recipe_of(debias: Iterable[Mapping[str, object]]) -> str | None:
    """Return the recipe that interventions are; empty without any, None where none is the same."""
    calls = [{"use": call["use"], **as_mapping(call.get("params", {}))} for call in debias]
    if not calls:
        return ""
    return next((name for name in RECIPES if calls_of(name, "") == calls), None)


def _gaps_of(rows: Iterable[Row], study: PublishedStudy) -> Iterator[tuple[str, str, float]]:
    """Yield metric, class and value that the study has too, with the study's sign."""
    for row in rows:
        is_of_all = not row.group and not row.group_b
        sign = 1 if is_of_all else study.sign(row.group, row.group_b)
        if not sign or row.value != row.value:
            continue
        if row.quantity.endswith("_rms"):
            sign = 1
        for metric, facts in study.facts.metrics.items():
            class_name = facts.get("class", row.class_name)
            if (facts["quantity"], class_name) == (row.quantity, row.class_name):
                published_class = "" if "class" in facts else row.class_name
                yield metric, published_class, sign * row.value
