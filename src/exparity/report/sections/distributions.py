"""Distributions of the scores by group."""

from __future__ import annotations

from typing import Any

from exparity.report.context import Context
from exparity.report.scores import POINTS, Distribution
from exparity.report.sections.section import Content, Section


def _plain(scores: Distribution | None, groups: tuple[str, ...]) -> list[Any] | None:
    """Return a distribution as lists: low, high, and per group n, five numbers, density."""
    if scores is None:
        return None
    parts = [scores.groups.get(group) for group in groups]
    summaries = [part and [part.n, list(part.numbers), part.density] for part in parts]
    return [scores.low, scores.high, summaries]


def _build(context: Context) -> Content | None:
    study, scores = context.study, context.scores
    if not scores.distributions:
        return None
    # Nested in the order of pairs, methods, metrics and seeds, so that no ids are repeated.
    items = [
        _plain(
            scores.distributions.get((dataset, model, seed, method, metric)),
            study.declared(dataset).groups,
        )
        for dataset, model in study.pairs
        for method in study.methods
        for metric in study.metrics
        for seed in study.seeds
    ]
    return Content(
        values={"missing": len(scores.missing), "points": POINTS},
        data={
            "pairs": study.pairs,
            "methods": list(study.methods),
            "metrics": list(study.metrics),
            "seeds": study.seeds,
            "groups": {d: study.declared(d).groups for d, _ in study.pairs},
            "datasets": {d: study.display("dataset", d) for d, _ in study.pairs},
            "points": POINTS,
            "items": items,
        },
    )


SECTION = Section("distributions", "Distributions", _build, script="distributions.js")
