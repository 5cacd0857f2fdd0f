"""Runs that treat groups differently from the other runs of their model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from exparity.stats.seeds import SeedTest

OUTLYING = 3.5
"""Modified z-score from which a run stands out (Iglewicz and Hoaglin 1993)."""
_FEWEST_RUNS = 4
_TO_NORMAL = 0.6745  # median absolute deviation of a standard normal distribution


def deviations(tests: Iterable[SeedTest]) -> dict[tuple[str, str, int], float]:
    """Return how far the gaps of each run are from those of the other runs of its model.

    In a cell (method, metric, pair of groups), a run's modified z-score is 0.6745 times the
    distance of its d from the median of all runs, over their median absolute distance. The result
    is the median over the cells: a template that names one group moves most of them, chance few.
    """
    cells: dict[tuple[str, ...], dict[int, float]] = defaultdict(dict)
    for test in tests:
        if np.isfinite(test.cohens_d):
            cells[test.cell][test.seed] = test.cohens_d
    scores: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for (dataset, model, *_), by_run in cells.items():
        d = np.array([*by_run.values()])
        distances = np.abs(d - np.median(d))
        usual = float(np.median(distances))
        if len(d) >= _FEWEST_RUNS and usual > 0:
            for run, distance in zip(by_run, distances, strict=True):
                scores[dataset, model, run].append(_TO_NORMAL * float(distance) / usual)
    return {run: float(np.median(z_scores)) for run, z_scores in scores.items()}
