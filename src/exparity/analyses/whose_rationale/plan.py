"""What the raters of an experiment can show, before it runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from exparity.analyses import ExperimentView
from exparity.core.errors import InputError
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.raters import checked_markings
from exparity.quantities.raters import EVERY, Rated, RatedTexts
from exparity.stats.raters import ICC, planned_gap
from exparity.stats.verdicts import SHARE_OF_CLAIM

SCORE_SD = 0.25
"""Standard deviation of average precision within a group that a plan assumes, as measured on
``fair_rationales``."""


def caution(
    experiment: ExperimentView, *, metrics: Sequence[str] | None = None, **settings: object
) -> str | None:
    """Return the smallest gaps that the raters of each dataset can show; None without raters."""
    parts = [
        f"{dataset}: {gaps}"
        for dataset in experiment.datasets
        if (gaps := _gaps(experiment, dataset, len(metrics or [""])))
    ]
    if not parts:
        return None
    return (
        "smallest gaps between two groups of raters that are found with 80 % power, as gaps of "
        f"average precision with a standard deviation of {SCORE_SD} and {ICC:.0%} of its variance "
        f"between raters: {'; '.join(parts)}"
    )


def _gaps(experiment: ExperimentView, dataset: str, n_metrics: int) -> str:
    """Return the gaps of each attribute; empty where no raters are, or not at hand."""
    rated = _rated(experiment, dataset)
    if rated is None:
        return ""
    models = [model for name, model in experiment.pairs if name == dataset]
    n_cells = n_metrics * len(models) * len(experiment.applying("methods", dataset))
    level = SHARE_OF_CLAIM * experiment.config.statistics.alpha
    comparisons = [*rated.comparisons()]
    n_tests = max(1, sum(sides.compared != EVERY for sides in comparisons)) * max(1, n_cells)
    gaps: dict[str, list[float]] = {}
    for sides in comparisons:
        alpha = level / (n_tests if sides.compared != EVERY else n_cells * len(comparisons))
        gap = planned_gap(rated.pairs, sides.first, sides.second, alpha=alpha)
        gaps.setdefault(sides.compared, []).append(SCORE_SD * gap)
    return ", ".join(f"{name} {_range(smallest)}" for name, smallest in gaps.items())


def _range(gaps: Sequence[float]) -> str:
    low = np.nanmin(gaps)
    high = np.nanmax(gaps)
    return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"


def _rated(experiment: ExperimentView, dataset: str) -> RatedTexts | None:
    """Return the raters of a dataset whose files are at hand."""
    instance = experiment.datasets[dataset]
    facts = instance.entry.facts
    if not facts.has_raters(instance.params):
        return None
    options = instance.call(f"datasets.{dataset}")["params"]
    source = DataSource(Path(experiment.config.data_dir), download=False)
    try:
        loaded = load_dataset(instance.entry.id, source, options)
        examples = {example.example_id: example for example in loaded if example.split == "test"}
        markings = [
            marking
            for marking in facts.markings(source, {e.example_id: e for e in loaded}, **options)
            if marking.example_id in examples
        ]
        rows = [Rated.of(marking) for marking in checked_markings(markings, examples)]
    except InputError:  # the job says so
        return None
    return RatedTexts(rows, np.nan) if rows else None
