"""Our classifiers' gaps beside those of a published study."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pyarrow as pa

from exparity.artefacts import layout
from exparity.artefacts.exports import Export
from exparity.artefacts.files import read_artefact, read_parquet
from exparity.artefacts.grid import read_grid
from exparity.core.errors import InputError, did_you_mean
from exparity.core.options import complete
from exparity.debiasing import INTERVENTIONS
from exparity.debiasing.recipes import RECIPES, calls_of
from exparity.published.gap_claims import GapClaimResult, recount_gaps
from exparity.published.gaps import Gap, GapKey, Gaps, GapStudy, load_gap_study

_ZARI = {"normal": "zari", "cda": "zari_w_cda"}  # a checkpoint that the study calls a method
_PROBED = {"tpr_gap": "sg_tpr", "causal_tpr_gap": "cg_tpr"}
Drawn = tuple[GapKey, float]
"""A gap of one run."""
_TEXT, _FLOAT = pa.string(), pa.float64()
_CLAIMS = pa.schema(
    {
        **dict.fromkeys(("claim_id", "section", "description"), _TEXT),
        **dict.fromkeys(("dataset", "model", "counted"), _TEXT),
        **dict.fromkeys(("least", "greatest", "tables"), _FLOAT),
        "verdict": _TEXT,
        "ours": _FLOAT,
        "our_verdict": _TEXT,
    }.items()
)


@dataclass(frozen=True)
class GapMatch:
    """One gap of ours beside the published one, both first minus second of the study's groups.

    Attributes:
        dataset, model, method, metric, class_name: published ids.
        ours, ours_sd, runs: mean, standard deviation (NaN of one run) and number of our seeds.
        theirs, theirs_sd, table: the published ones.
        note: what to know before comparing; empty if nothing.
    """

    dataset: str
    model: str
    method: str
    metric: str
    class_name: str
    ours: float
    ours_sd: float
    runs: int
    theirs: float
    theirs_sd: float
    table: str
    note: str


@dataclass(frozen=True)
class GapComparison:
    """Our gaps beside a study's.

    Attributes:
        study: the study.
        matches: gaps that both have.
        left_out: our classifiers without a counterpart, and why.
        claims: its statements, counted again.
    """

    study: GapStudy
    matches: Sequence[GapMatch]
    left_out: Sequence[str]
    claims: Sequence[GapClaimResult]


def compare_gaps(
    results: Path,
    study: str,
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None = None,
) -> GapComparison:
    """Put the bias of our classifiers beside a published study."""
    published = load_gap_study(study)
    known = sorted({key.model for key in published.gaps} | {"zari"})
    for mine, theirs in models.items():
        if theirs not in known:
            raise InputError(
                f"--map {mine}={theirs}: the study has no model '{theirs}'; "
                f"{did_you_mean(theirs, known)}"
            )
    datasets = _datasets(results, published)
    left_out: dict[str, None] = {}
    drawn = [
        *_trained(results, published, datasets, models, runs, left_out),
        *_probed(results, published, datasets),
    ]
    ours = _over_seeds(drawn)
    return GapComparison(
        published, list(_matches(published, ours)), list(left_out), recount_gaps(published, ours)
    )


def _datasets(results: Path, study: GapStudy) -> dict[str, str]:
    """Return our datasets that the study has, by our id."""
    registered: dict[str, str] = dict((read_grid(results) or {}).get("datasets", ()))
    theirs = study.facts["datasets"]
    ids = {ids[0] for ids, _ in layout.files(results, "bias")} | set(registered)
    return {id: theirs[use] for id in sorted(ids) if (use := registered.get(id, id)) in theirs}


def _trained(
    results: Path,
    study: GapStudy,
    datasets: Mapping[str, str],
    models: Mapping[str, str],
    runs: Collection[tuple[str, ...]] | None,
    left_out: dict[str, None],
) -> Iterator[Drawn]:
    """Yield the gaps of every classifier that has a counterpart; note the others."""
    for (dataset, model, seed), path in layout.files(results, "bias"):
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
            yield from _gaps_of(path, study, (datasets[dataset], source, printed))


def recipe_of(debias: Iterable[Mapping[str, Any]]) -> str | None:
    """Return the recipe that interventions are; empty without any, None where none is the same."""
    made = [_complete(call["use"], call.get("params", {})) for call in debias]
    if not made:
        return ""
    for name in RECIPES:
        calls = calls_of(name, "")
        if made == [_complete(c["use"], {k: c[k] for k in c if k != "use"}) for c in calls]:
            return name
    return None


def _complete(use: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    if use not in INTERVENTIONS.ids():  # a plug-in's
        return use, dict(params)
    return use, complete(INTERVENTIONS.get(use).options, params, use)


def _gaps_of(path: Path, study: GapStudy, ids: tuple[str, str, str]) -> Iterator[Drawn]:
    """Yield what a bias artefact has of the study's metrics, with the study's sign."""
    for row in read_artefact(path, "bias")[0].to_pylist():
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
                yield GapKey(*ids, metric, of_class), value


def _probed(results: Path, study: GapStudy, datasets: Mapping[str, str]) -> Iterator[Drawn]:
    """Yield the gaps of bags of words with scaled words."""
    for (dataset,), path in layout.files(results, "term_weight_probe"):
        for row in read_artefact(path, "term_weight_probe")[0].to_pylist():
            pair = row["group"], row["group_b"]
            sign = {study.groups: 1, study.groups[::-1]: -1}.get(pair)
            trained_alike = (row["debias"], row["terms"]) == ("none", "both")
            metric = _PROBED.get(row["quantity"])
            if not (dataset in datasets and sign and trained_alike and metric):
                continue
            if row["value"] == row["value"]:
                method = f"weight_{row['weight']:g}"
                ids = datasets[dataset], "bow_logistic_regression", method
                yield GapKey(*ids, metric, row["class_name"]), sign * row["value"]


def _over_seeds(drawn: Iterable[Drawn]) -> Gaps:
    values: dict[GapKey, list[float]] = defaultdict(list)
    for key, value in drawn:
        values[key].append(value)
    return {
        key: Gap(fmean(of), stdev(of) if len(of) > 1 else float("nan"), len(of))
        for key, of in values.items()
    }


def _matches(study: GapStudy, ours: Gaps) -> Iterator[GapMatch]:
    for key, theirs in study.gaps.items():
        if key in ours:
            mixed = study.facts["metrics"][key.metric].get("mixed", False)
            note = study.facts["mixed"] if mixed else ""
            yield GapMatch(*key, *ours[key][:3], *theirs[:2], theirs.table, note)


def gap_tables(comparison: GapComparison) -> list[Export]:
    """Return every table of a comparison."""
    claims = [
        {
            "claim_id": result.claim.id,
            "section": result.claim.section,
            "description": result.claim.description,
            "dataset": part.dataset,
            "model": part.model,
            "counted": f"{part.function}({', '.join(part.arguments)})",
            "least": part.least,
            "greatest": part.greatest,
            "tables": theirs,
            "verdict": result.verdict,
            "ours": ours,
            "our_verdict": result.our_verdict,
        }
        for result in comparison.claims
        for part, theirs, ours in zip(
            result.claim.parts, result.values, result.our_values, strict=True
        )
    ]
    return [
        Export.of("gaps", "Gaps of classifiers, ours and published", GapMatch, comparison.matches),
        Export("claims", "Published statements on gaps, counted again", _CLAIMS, claims),
    ]
