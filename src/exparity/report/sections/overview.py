"""Overview: what was run, how often groups differ, and what to be careful about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.report.context import Context
from exparity.report.flags import meaning_of
from exparity.report.gather import Study
from exparity.report.provenance import Origin, versions
from exparity.report.sections.section import Content, Section
from exparity.stats.significance import SignificantShare, count_significant, headline_shares

TESTS = {
    "mann_whitney": "Mann–Whitney U",
    "wilcoxon": "Wilcoxon signed-rank",
    "kruskal_wallis": "Kruskal–Wallis",
    "friedman": "Friedman",
}
_PACKAGES = ("torch", "transformers", "accelerate", "numpy", "scipy", "pyarrow")


def headline_rates(study: Study) -> dict[str, dict[str, Any]]:
    """Return how often groups differ, by what is counted in words."""
    alpha = study.statistics["alpha"]
    names = {
        "plain": f"Mann–Whitney U, p ≤ {alpha:g}",
        "considerable": f"…and |d| ≥ {study.statistics['threshold']:g}",
        "holm": "…after correction by Holm",
        "bh": "…after correction by Benjamini and Hochberg",
        "paired": f"Wilcoxon signed-rank on matched sets, p ≤ {alpha:g}",
    }
    shares = headline_shares(study.rows, alpha=alpha, controls=study.controls.get("", ()))
    return {names[counted]: share_columns(share) for counted, share in shares.items()}


def rates_by_metric(study: Study) -> list[dict[str, Any]]:
    """Return the share of significant Mann–Whitney tests of each metric, beside the control's."""
    alpha = study.statistics["alpha"]
    rates = []
    for metric in study.metrics:
        rows = [row for row in study.rows if row["metric"] == metric]
        share = count_significant(rows, alpha=alpha, controls=study.controls.get(metric, ()))
        if share.n:
            kind = study.metric_facts(metric).kind
            shown = {"metric": study.display("metric", metric), "kind": kind}
            rates.append(shown | share_columns(share))
    return rates


def share_columns(share: SignificantShare) -> dict[str, Any]:
    """Return a share as the columns of a table: counts, interval and the control's."""
    low, high = share.interval()
    control = share.control
    return {
        "hits": share.hits,
        "n": share.n,
        "rate": share.share,
        "low": low,
        "high": high,
        "control": control.rate if control else None,
        "control_low": control.low if control else None,
        "control_high": control.high if control else None,
    }


def collapsed_sentences(study: Study) -> list[str]:
    """Return a sentence a dataset about its classifiers that predict one class."""
    seeds: dict[str, dict[str, list[int]]] = {}
    for a in study.accuracies:
        if a.collapsed:
            seeds.setdefault(a.dataset, {}).setdefault(a.model, []).append(a.seed)
    return [
        f"On {dataset}, one class is predicted for every test example by "
        + ", ".join(
            f"{model} (seed{'s' if len(of) > 1 else ''} {', '.join(map(str, sorted(of)))})"
            for model, of in models.items()
        )
        + "; their rows say nothing about explanations of a working classifier."
        for dataset, models in seeds.items()
    ]


def missing_results(results: Path, grid: Mapping[str, Any]) -> list[str]:
    """Return a sentence an artefact about its files that a grid has and that are not there."""
    missing: dict[str, list[Path]] = {}
    for artefact, ids in layout.report_inputs(grid):
        path = results / layout.path_of(artefact, ids)
        if not path.is_file():
            missing.setdefault(artefact, []).append(path)
    return [
        f"{len(paths):,} {artefact} {'file is' if len(paths) == 1 else 'files are'} missing, such "
        f"as {paths[0]}: the report is incomplete until snakemake has made them again."
        for artefact, paths in missing.items()
    ]


def _warnings(context: Context) -> list[str]:
    """Return what a reader must know before believing the numbers."""
    warnings = collapsed_sentences(context.study)
    cut = Counter[str]()
    for origin in context.origins:
        if origin.artefact == "explanations" and origin.facts.get("n_truncated"):
            name = f"{origin.ids[1]} on {origin.ids[0]}"
            cut[name] = max(cut[name], int(origin.facts["n_truncated"]))
    warnings += [f"{n} texts were longer than {name} can read and were cut." for name, n in
              sorted(cut.items())]  # fmt: skip
    undefined = sum(row["n_undefined"] for row in context.study.rows)
    if undefined:
        total = sum(row["n_examples"] for row in context.study.rows)
        warnings.append(
            f"{undefined:,} of {total:,} scores are undefined and left out of the tests."
        )
    warnings += missing_results(context.results, context.options)
    commits = versions(context.origins).get("commit", [])
    if len(commits) > 1:
        warnings.append(
            f"The results were made with {len(commits)} versions of the source code; see below."
        )
    return warnings


def _instances(context: Context, artefact: str, place: int) -> dict[str, list[Mapping[str, Any]]]:
    """Return the distinct parameters that each method or metric was run with."""
    parameters_of: dict[str, list[Mapping[str, Any]]] = {}
    for origin in context.origins:
        if origin.artefact != artefact:
            continue
        known = parameters_of.setdefault(str(origin.ids[place]), [])
        parameters = origin.facts.get("parameters") or {}
        if parameters not in known:
            known.append(parameters)
    return parameters_of


def _settings(all_parameters: Sequence[Mapping[str, Any]]) -> str:
    """Return parameters in words, as a config would write them."""
    return " | ".join(_setting(parameters) for parameters in all_parameters)


def _setting(parameters: Mapping[str, Any]) -> str:
    flat = dict(parameters.get("params") or {})
    flat["max_examples"] = parameters.get("max_examples")
    return ", ".join(f"{k}: {_text(v)}" for k, v in sorted(flat.items()) if v is not None)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _model_settings(context: Context) -> dict[str, str]:
    """Return how each model was made and trained, from its checkpoint's history."""
    settings: dict[str, list[str]] = {}
    for origin in context.origins:
        if origin.artefact not in ("history", "predictions") or not origin.facts.get("parameters"):
            continue
        parts = origin.facts["parameters"]
        flat = {**(parts.get("model") or {}), **(parts.get("training") or {})}
        size = flat.pop("size", None) or {}
        text = ", ".join(
            f"{k}: {_text(v)}" for k, v in {**flat, **size}.items() if v not in (None, "", {}, [])
        )
        known = settings.setdefault(origin.ids[1], [])
        if text and text not in known:
            known.append(text)
    return {model: " | ".join(texts) for model, texts in settings.items()}


def _devices(origins: Sequence[Origin]) -> list[str]:
    return sorted({o.device for o in origins if o.stage in ("finetune", "explain", "evaluate")})


def _datasets(context: Context) -> list[dict[str, Any]]:
    study = context.study
    return [
        {
            "name": study.display("dataset", dataset),
            "id": dataset,
            "attribute": study.declared(dataset).attribute,
            "groups": study.declared(dataset).groups,
            "classes": study.declared(dataset).classes,
            "n": max((a.n for a in study.accuracies if a.dataset == dataset), default=0),
        }
        for dataset in study.datasets
        if any(dataset == d for d, _ in study.pairs)
    ]


def _build(context: Context) -> Content:
    study = context.study
    flags = Counter(flag for row in study.rows for flag in row["flags"])
    versioned = versions(context.origins)
    methods = _instances(context, "explanations", 3)
    metrics = _instances(context, "scores", 4)
    return Content(
        values={
            "rates": headline_rates(study),
            "tests": TESTS,
            "flags": [(f, n, meaning_of(f)) for f, n in sorted(flags.items())],
            "warnings": _warnings(context),
            "datasets": _datasets(context),
            "models": [
                (model, _model_settings(context).get(model, ""))
                for model in dict.fromkeys(model for _, model in study.pairs)
            ],
            "methods": [(id, study.display("method", id), _settings(methods.get(id, [])))
                        for id in study.methods],
            "metrics": [(id, study.display("metric", id), _settings(metrics.get(id, [])))
                        for id in study.metrics],
            "versions": {k: versioned[k] for k in ("exparity", *_PACKAGES) if k in versioned},
            "commits": versioned.get("commit", []),
            "devices": _devices(context.origins),
            "config": {k: v for k, v in context.options.items() if k != "digest"},
        },
        data={"alpha": study.statistics["alpha"], "metrics": rates_by_metric(study)},
    )  # fmt: skip


SECTION = Section("overview", "Overview", _build, script="overview.js")
