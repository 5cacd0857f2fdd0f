"""Distributions of the scores by group: a panel for every cell and seed."""

from __future__ import annotations

from itertools import chain, product

from exparity.report.charts import violins, violins_axis
from exparity.report.context import Content, Context
from exparity.report.scores import Distribution
from exparity.report.sections.disparity import view_names


def build(context: Context) -> Content | None:
    """Return the content of the section; None if there are no scores."""
    study = context.study
    scores = context.scores.distributions
    if not scores:
        return None
    groups = {dataset: study.declared(dataset).parts for dataset, _ in study.pairs}
    cells = [
        [scores.get((*pair, seed, method, metric)) for seed in study.seeds]
        # Nested in this order, so that no ids are repeated.
        for pair, method, metric in product(study.pairs, study.methods, study.metrics)
    ]
    return Content(
        data={
            "pairs": study.pairs,
            "methods": list(study.methods),
            "metrics": list(study.metrics),
            "names": view_names(study),
            "seeds": study.seeds,
            "groups": {dataset: [part or "all" for part in groups[dataset]] for dataset in groups},
            "datasets": {d: study.display("dataset", d) for d, _ in study.pairs},
            "cells": [_cell(by_seed) for by_seed in cells],
        },
    )


def _cell(by_seed: list[Distribution | None]) -> dict[str, object] | None:
    """Return the axis of a cell, and the numbers and the violins of each of its seeds."""
    scored = [distribution for distribution in by_seed if distribution is not None]
    if not scored:
        return None
    spreads = list(chain.from_iterable(distribution.spreads for distribution in scored))
    axis = violins_axis(spreads, len(scored[0].spreads))
    return {
        "axis": axis.data() if axis else None,
        "seeds": [
            distribution
            and {
                "numbers": distribution.numbers,
                "shapes": [
                    [shape.style, shape.path] for shape in violins(distribution.spreads, spreads)
                ],
            }
            for distribution in by_seed
        ],
    }
