"""The sections of the page, in order: each is a function that builds it and one template.

The function turns the study into plain values for its template, and into data for its script if it
has one. Short ones are here, the others in a module each. To add a section, write function and
template and put it into :data:`SECTIONS`. Those of analyses are written beside the analyses.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from exparity.artefacts.schemas import IDS
from exparity.costs.forecast import totals
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.published import output
from exparity.published.cells import Agreement, CellComparison
from exparity.report.bias import RATES
from exparity.report.charts import curve_style, roc_chart
from exparity.report.context import Content, Context, Section
from exparity.report.downloads import part_of
from exparity.report.failures import FILES
from exparity.report.means import mean_tables
from exparity.report.names import display_name
from exparity.report.paragraph import SUMMARY
from exparity.report.reading import totals_by_part
from exparity.report.sections import (
    answers,
    definitions,
    disparity,
    distributions,
    explanations,
    overview,
)
from exparity.report.written import WRITTEN
from exparity.stats.informative import informative
from exparity.stats.outlying import OUTLYING, deviations


def _means(context: Context) -> Content | None:
    study = context.study
    tables = mean_tables(context.scores.means)
    return Content({"tables": tables}, unfolded=not study.compares) if tables else None


def _prompts(context: Context) -> Content | None:
    """Show the template of each run of prompted models, and mark the runs that stand out."""
    deviating = deviations(informative(context.study.rows))
    rows: list[dict[str, Any]] = []
    for origin in context.origins:
        if origin.artefact == "predictions" and "label_mass" in origin.facts:
            deviation = deviating.get(tuple(origin.ids[id] for id in IDS[:3]))
            rows.append(
                {
                    **origin.ids,
                    "template": origin.facts["parameters"]["prompt"]["template"],
                    "mass": origin.facts["label_mass"],
                    "is_low": bool(origin.facts.get("flags")),
                    "deviation": deviation,
                    "stands_out": (deviation or 0.0) >= OUTLYING,
                }
            )
    marked = any(row["is_low"] or row["stands_out"] for row in rows)
    return Content({"rows": rows, "outlying": OUTLYING}, unfolded=marked) if rows else None


def _self_explanations(context: Context) -> Content | None:
    return Content({"lines": context.written}) if context.written else None


def _accuracy(context: Context) -> Content | None:
    return None if context.study.compares else Content()


def _bias(context: Context) -> Content | None:
    return Content({"bias_tables": context.bias_tables}) if context.study.compares else None


def _classifiers(context: Context) -> Content | None:
    tables = context.quality_tables
    if not tables:
        return None
    drawn = {"roc_chart": roc_chart, "curve_style": curve_style}
    return Content({"quality_tables": tables, **drawn})


def _causal_bias(context: Context) -> Content | None:
    if not context.causal_tables:
        return None
    noted = {
        origin.ids["dataset"]: origin.facts["notes"]
        for origin in context.origins
        if origin.artefact == "bias" and "counterfactuals" in origin.facts.get("notes", {})
    }
    return Content({"bias_tables": context.causal_tables, "rates": RATES, "texts": noted})


def _published(context: Context) -> Content | None:
    comparison = context.published.get("cells")
    if not isinstance(comparison, CellComparison):
        return None
    rates: dict[str, dict[str, Agreement]] = {}
    for one in comparison.agreements:
        if one.by in ("all", "dataset"):
            rates.setdefault(_known_name(one.by, one.group) or "All", {})[one.question] = one
    values = {"comparison": comparison, "rates": rates, "written": output}
    return Content({**values, "known_name": _known_name})


def _known_name(kind: str, id: str) -> str:
    """Return the name of a published dataset, method or metric, which may not be one of ours."""
    known = {"dataset": DATASETS.ids(), "method": METHODS.ids(), "metric": METRICS.ids()}
    return display_name(kind, id, id) if id in known.get(kind, ()) else id


def _published_gaps(context: Context) -> Content | None:
    comparison = context.published.get("gaps")
    return None if comparison is None else Content({"comparison": comparison, "w": output})


def _cost(context: Context) -> Content | None:
    if not context.costs:
        return None
    study = context.study
    names = {id: study.display("method", id) for id in study.methods}
    names |= {id: study.display("metric", id) for id in study.metrics}
    return Content(
        {
            "stages": totals(context.costs),
            "parts": totals_by_part(context.costs),
            "devices": sorted({job.device for job in context.costs if job.runs_model}),
            "names": names,
        }
    )


def _downloads(context: Context) -> Content:
    figures: dict[str, list[str]] = defaultdict(list)
    for path in sorted((context.folder / "figures").glob("**/*"), reverse=True):
        if path.suffix in (".svg", ".pdf"):
            figures[path.relative_to(context.folder).with_suffix("").as_posix()].append(path.suffix)
    failures = context.failures.reasons
    values = {
        "exports": [export for export in context.exports if part_of(export) not in failures],
        "figures": figures,
        "paragraph": " ".join(context.paragraph),
        "summary": SUMMARY if context.study.compares else "",
        "failures": {part: why for part, why in failures.items() if part.startswith(FILES)},
    }
    return Content(values, unfolded=bool(values["failures"]))


SECTIONS = (
    Section("overview", "Overview", overview.build),
    Section("disparity", "Disparity", disparity.build, script="disparity.js"),
    Section("prompts", "Prompts", _prompts),
    Section("means", "Explanation quality", _means),
    Section("distributions", "Distributions", distributions.build, script="distributions.js"),
    Section(
        "explanations",
        "Explanations",
        explanations.build,
        script="explanations.js",
        shows_texts=True,
    ),
    Section(WRITTEN, "Self-explanations", _self_explanations),
    Section("accuracy", "Accuracy", _accuracy),
    Section("classifiers", "Quality of the classifiers", _classifiers),
    Section("bias", "Model bias", _bias),
    Section("causal_bias", "Statistical and causal bias", _causal_bias),
    Section("published", "Beside published numbers", _published),
    Section("published_gaps", "Beside published gaps of classifiers", _published_gaps),
    Section("cost", "Cost", _cost),
    Section("definitions", "Methods and definitions", definitions.build),
    Section("downloads", "Downloads", _downloads),
    Section("answers", "Questions after an audit", answers.build, shows_texts=True),
)
