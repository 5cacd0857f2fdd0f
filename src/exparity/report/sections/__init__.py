"""The sections of the page, in order: each is a function that builds it and one template.

The function turns the study into plain values for its template, and into data for its script if it
has one. Short ones are here, the others in a module each. To add a section, write function and
template and put it into :data:`SECTIONS`. Those of analyses are written beside the analyses.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from exparity.core.plain import as_float, as_mapping, as_text
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


@dataclass(frozen=True)
class _PromptedRun:
    """A run of a prompted model.

    Attributes:
        dataset, model, seed: its ids.
        template: of its prompt.
        mass: mean probability of the answers that name a class.
        is_low: whether that is too low to tell anything.
        deviation: how far its gaps are from those of other runs; None where it is unknown.
    """

    dataset: str
    model: str
    seed: int
    template: str
    mass: float
    is_low: bool
    deviation: float | None

    @property
    def stands_out(self) -> bool:
        """Whether its gaps are not those of the other runs."""
        return self.deviation is not None and self.deviation >= OUTLYING


def _prompts(context: Context) -> Content | None:
    """Show the template of each run of prompted models, and mark the runs that stand out."""
    deviating = deviations(informative(context.study.rows))
    runs = []
    for origin in context.origins:
        mass = origin.facts.get("label_mass")
        if origin.artefact != "predictions" or mass is None:
            continue
        ids = (origin.dataset, origin.model, origin.seed)
        template = as_text(as_mapping(origin.parameters["prompt"])["template"])
        is_low = bool(origin.facts.get("flags"))
        runs.append(_PromptedRun(*ids, template, as_float(mass), is_low, deviating.get(ids)))
    marked = any(run.is_low or run.stands_out for run in runs)
    return Content({"rows": runs, "outlying": OUTLYING}, unfolded=marked) if runs else None


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
    drawings = {
        (table.dataset, model, class_name): roc_chart(table, model, class_name)
        for table in tables
        if table.is_drawn
        for model, class_name in product(table.models, table.shown_classes)
    }
    return Content(
        {
            "quality_tables": tables,
            "drawings": drawings,
            "places": {ids: place for place, ids in enumerate(drawings)},
            "curve_style": curve_style,
        },
        data=[drawing.data() for drawing in drawings.values()],
    )


def _causal_bias(context: Context) -> Content | None:
    if not context.causal_tables:
        return None
    noted = {
        origin.dataset: origin.notes
        for origin in context.origins
        if origin.artefact == "bias" and "counterfactuals" in origin.notes
    }
    return Content({"bias_tables": context.causal_tables, "rates": RATES, "texts": noted})


def _published(context: Context) -> Content | None:
    comparison = context.published.get("cells")
    if not isinstance(comparison, CellComparison):
        return None
    rates: dict[str, dict[str, Agreement]] = {}
    for agreement in comparison.agreements:
        if agreement.by in ("all", "dataset"):
            name = _known_name(agreement.by, agreement.group) or "All"
            rates.setdefault(name, {})[agreement.question] = agreement
    values = {"comparison": comparison, "rates": rates, "written": output}
    return Content({**values, "known_name": _known_name})


def _known_name(kind: str, name: str) -> str:
    """Return the name of a published dataset, method or metric, which may not be one of ours."""
    registered_ids = {"dataset": DATASETS.ids(), "method": METHODS.ids(), "metric": METRICS.ids()}
    return display_name(kind, name, name) if name in registered_ids.get(kind, ()) else name


def _published_gaps(context: Context) -> Content | None:
    comparison = context.published.get("gaps")
    return None if comparison is None else Content({"comparison": comparison, "w": output})


def _cost(context: Context) -> Content | None:
    if not context.costs:
        return None
    study = context.study
    names = {method: study.display("method", method) for method in study.methods}
    names |= {metric: study.display("metric", metric) for metric in study.metrics}
    return Content(
        {
            "stages": totals(context.costs),
            "parts": totals_by_part(context.costs),
            "devices": sorted({job.device for job in context.costs if job.runs_model}),
            "names": names,
        }
    )


_WIDTHS = {"1col": "One column", "2col": "Two columns"}
"""Headings of the widths that names of figures end with."""


def _figures(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Return the paths of figures by title and width, from the folder of a page."""
    paths: dict[str, dict[str, list[str]]] = defaultdict(lambda: {width: [] for width in _WIDTHS})
    for path in sorted((folder / "figures").glob("**/*"), reverse=True):
        if path.suffix in (".svg", ".pdf"):
            title, _, width = path.stem.rpartition("_")
            paths[title][width].append(path.relative_to(folder).as_posix())
    return {title: paths[title] for title in sorted(paths)}


def _downloads(context: Context) -> Content:
    failures = context.failures.reasons
    failed_files = {part: why for part, why in failures.items() if part.startswith(FILES)}
    values = {
        "exports": [export for export in context.exports if part_of(export) not in failures],
        "figures": _figures(context.folder),
        "widths": _WIDTHS,
        "paragraph": " ".join(context.paragraph),
        "summary": SUMMARY if context.study.compares else "",
        "failures": failed_files,
    }
    return Content(values, unfolded=bool(failed_files))


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
    Section("classifiers", "Quality of the classifiers", _classifiers, script="classifiers.js"),
    Section("bias", "Model bias", _bias),
    Section("causal_bias", "Statistical and causal bias", _causal_bias),
    Section("published", "Beside published numbers", _published),
    Section("published_gaps", "Beside published gaps of classifiers", _published_gaps),
    Section("cost", "Cost", _cost),
    Section("definitions", "Methods and definitions", definitions.build),
    Section("downloads", "Downloads", _downloads),
    Section("answers", "Questions after an audit", answers.build, shows_texts=True),
)
