"""Distributions of the scores by group."""

from __future__ import annotations

from exparity.report.context import Content, Context, Section
from exparity.report.scores import POINTS


def _build(context: Context) -> Content | None:
    study, scores = context.study, context.scores
    if not scores.distributions:
        return None
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
            # Nested in the order of pairs, methods, metrics and seeds, so that no ids are repeated.
            "items": [
                scores.distributions.get((dataset, model, seed, method, metric))
                for dataset, model in study.pairs
                for method in study.methods
                for metric in study.metrics
                for seed in study.seeds
            ],
        },
    )


SECTION = Section("distributions", "Distributions", _build, script="distributions.js")
