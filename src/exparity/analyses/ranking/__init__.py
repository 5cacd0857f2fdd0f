"""Analysis ranking: which explanation method is better, for each group and for everybody?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses.ranking.section import findings
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.stages.cell import compared_in
from exparity.stages.compare import Cell, Classifiers, Scores, read_classifiers, read_scores
from exparity.stats.ranking import MethodTest, compare_methods
from exparity.types import FloatArray


def _job_options(
    experiment: ExperimentView, ids: Mapping[str, Any], **settings: Any
) -> dict[str, Any] | None:
    """Return the options of a job; none where there are fewer than two methods to compare."""
    return dict(settings) if len(experiment.methods) > 1 else None


@analysis(
    "ranking",
    level="model",
    reads=("predictions", "scores", "random_scores"),
    writes={
        "ranking": Table(
            "higher_is_better: bool",
            MethodTest,
            keys=("metric", "group", "method_a", "method_b"),
            ids=("metric",),
        )
    },
    display="Which method",
    always=True,
    memory_mb=4000,
    statistics=("alpha", "confidence"),
    job_options=_job_options,
    section=findings,
)
def rank_methods(
    predictions: Sequence[Path],
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    *,
    alpha: float = DEFAULTS.alpha,
    confidence: float = DEFAULTS.confidence,
) -> StageResult:
    """Compare every two methods on the same texts, for each group and for all texts.

    Random explanations take part under the name ``uniform_random``, with the mean of their draws.
    Classifiers that predict one class are left out, and so are metrics that describe explanations,
    of which neither end is better.

    Args:
        predictions: predictions artefacts, one per seed.
        scores: scores artefacts of one dataset and model; one per seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        alpha: largest corrected p-value that is significant.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file is damaged or of another dataset or model than the first.
    """
    model = read_scores(scores, random_scores, None)
    classifiers = read_classifiers(predictions, model)
    rows = [
        {"metric": metric, "higher_is_better": preference == "higher", **asdict(test)}
        for (metric, preference), cells in grouped(model.cells, _metric_of).items()
        if preference
        for test in _compared(cells, model, classifiers, alpha=alpha, confidence=confidence)
    ]
    return StageResult(rows, model.ids, compared_in(model.metadata))


def _metric_of(cell: Cell) -> tuple[str, str | None]:
    return cell.metric, cell.preference


def _compared(
    cells: Sequence[Cell], model: Scores, classifiers: Classifiers, **options: float
) -> Iterator[MethodTest]:
    """Yield the tests of one metric."""
    counted = [cell for cell in cells if cell.seed not in classifiers.uninformative]
    if not counted:
        return
    places = np.unique(np.concatenate([cell.places for cell in counted]))
    seeds = sorted({cell.seed for cell in counted})
    by_method = grouped(counted, lambda cell: cell.method)
    yield from compare_methods(
        {method: _table(of_method, seeds, places) for method, of_method in by_method.items()},
        model.groups[places].tolist(),
        model.order,
        model.sets[places].tolist(),
        higher_is_better=cells[0].preference == "higher",
        **options,
    )


def _table(cells: Sequence[Cell], seeds: Sequence[int], places: np.ndarray[Any, Any]) -> FloatArray:
    """Return the (s, n) scores of a method, the mean over the draws of a random one."""
    rows = []
    for seed in seeds:
        draws = np.full((sum(cell.seed == seed for cell in cells) or 1, len(places)), np.nan)
        of_seed = (cell for cell in cells if cell.seed == seed)
        for row, cell in zip(draws, of_seed, strict=False):
            measured = next(iter(cell.quantities.values()))
            row[np.searchsorted(places, cell.places)] = measured.shown
        rows.append(draws.mean(axis=0))
    return np.array(rows)
