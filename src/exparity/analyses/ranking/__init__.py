"""Analysis ranking: which explanation method is better, for each group and for everybody?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from exparity.analyses import StageResult, Table, analysis, where_methods_compete
from exparity.analyses.ranking.section import findings
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS
from exparity.quantities.classifiers import read_classifiers
from exparity.quantities.scores import Cell, Scores, places_of, read_scores
from exparity.stats.ranking import MethodTest, compare_methods
from exparity.types import FloatArray


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
    minutes=10,
    statistics=("alpha", "confidence"),
    job_options=where_methods_compete,
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
    classifiers = read_classifiers(predictions, model.ids)
    counted = (cell for cell in model.cells if cell.seed not in classifiers.uninformative)
    rows = []
    for (metric, preference), cells in grouped(counted, _metric_of).items():
        if preference:
            is_higher_better = preference == "higher"
            tests = compare_methods(
                *_compared(cells, model),
                higher_is_better=is_higher_better,
                alpha=alpha,
                confidence=confidence,
            )
            facts = {"metric": metric, "higher_is_better": is_higher_better}
            rows += [{**facts, **asdict(test)} for test in tests]
    return StageResult(rows, model.ids, model.metadata.compared)


def _metric_of(cell: Cell) -> tuple[str, str | None]:
    return cell.metric, cell.preference_of("score")


def _compared(
    cells: Sequence[Cell], model: Scores
) -> tuple[dict[str, FloatArray], list[str], Sequence[str], list[str | None]]:
    """Return the (s, n) scores of each method by one metric, and groups and sets of the texts.

    Random explanations have the mean over their draws.
    """
    places = places_of(cells)
    seeds = sorted({cell.seed for cell in cells})
    missing = np.full(len(places), np.nan)
    scores = {}
    for method, method_cells in grouped(cells, lambda cell: cell.method).items():
        draws = {
            seed: [cell.laid(places, cell.measured) for cell in draws_of_seed]
            for seed, draws_of_seed in grouped(method_cells, lambda cell: cell.seed).items()
        }
        scores[method] = np.array([np.mean(draws.get(seed, [missing]), axis=0) for seed in seeds])
    return scores, model.groups[places].tolist(), model.order, model.sets[places].tolist()
