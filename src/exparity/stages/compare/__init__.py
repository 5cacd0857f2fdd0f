"""Stage compare: all scores of a model on a dataset to tests between groups, and over trainings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from exparity.artefacts.analyses import Table
from exparity.artefacts.running import StageResult, analysis
from exparity.core.flags import Params
from exparity.core.settings import Statistics
from exparity.core.validation import read_settings
from exparity.quantities.classifiers import read_classifiers
from exparity.quantities.scores import read_scores
from exparity.stages.compare._levels import level_rows
from exparity.stages.compare._tests import read_covariates, rows_of_tests
from exparity.stages.compare._trainings import training_rows
from exparity.stats.adjusted import AtEqualCovariates
from exparity.stats.among import AmongRight, GroupFacts
from exparity.stats.compare import GroupComparison
from exparity.stats.crossed import CrossedTest
from exparity.stats.levels import GroupLevel
from exparity.stats.omnibus import Omnibus
from exparity.stats.skill import Rooms, ScaleTests
from exparity.stats.sources import GapParts, GapSources

TESTS = Table(
    "quantity: string",
    "draw: int16?",
    GroupComparison,
    "metric_direction better_group: string?",
    "test_accuracy random_significant: float64",
    GapParts,
    AtEqualCovariates,
    keys=("seed", "method", "metric", "group_a", "group_b", "quantity", "draw"),
    ids=("seed", "method", "metric"),
)
"""The tests artefact, beside the ids of its level."""
OVER_TRAININGS = (CrossedTest, Omnibus, ScaleTests, Rooms, GapSources, GroupFacts, AmongRight)
"""Columns of a gap over trainings, and of the skill that it may be of."""
_ACROSS_TRAININGS = Table(
    "quantity: string",
    "run metric_kind metric_direction better_group: string?",
    *OVER_TRAININGS,
    keys=("method", "metric", "group_a", "group_b", "quantity"),
    ids=("method", "metric"),
)
_LEVELS = Table(
    "quantity: string",
    "metric_kind metric_direction: string?",
    GroupLevel,
    keys=("method", "metric", "quantity", "group"),
    ids=("method", "metric"),
)


@analysis(
    "compare",
    level="model",
    reads=("data", "predictions", "scores", "random_scores", "removal_limits"),
    writes={"tests": TESTS, "across_trainings": _ACROSS_TRAININGS, "levels": _LEVELS},
    display="Comparing groups",
    memory_mb=4000,
    minutes=10,
    always=True,
    statistics=tuple(Statistics.model_fields),  # not how tests are corrected
)
def compare_model(
    data: Path,
    predictions: Sequence[Path],
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None = None,
    *,
    statistics: Params,
) -> StageResult:
    """Compare the groups by all scores of a model on a dataset.

    Score, excess and skill are tested within each training and over all trainings; rows of scores
    also have the gaps at equal class and length. Each draw of random explanations is tested within
    its training, and the first one over trainings, under names that begin with ``random_``.

    The comparison over trainings leaves out classifiers that predict one class, and prompts that
    the model hardly answers with a class. A cell with equal scores in every training is
    ``constant``.

    Args:
        data: the data artefact, which has the texts' words.
        predictions: predictions artefacts, one per seed.
        scores: scores artefacts of one dataset and model; one per seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts, one per seed, for the skill of metrics that take
            tokens.
        statistics: entry of the config's statistics block: ``alpha``, ``threshold``, ``ddof``,
            ``confidence`` or ``resamples``.

    Raises:
        InputError: a file is damaged or of another dataset or model than the first, or an option is
            unknown or out of range.
    """
    settings = read_settings(Statistics, statistics, "statistics")
    model = read_scores(scores, random_scores, removal_limits)
    classifiers = read_classifiers(predictions, model.ids)
    covariates = read_covariates(data, model)
    tests = rows_of_tests(model, settings, classifiers, covariates)
    across = training_rows(model, settings, classifiers, covariates["length"])
    levels = level_rows(model, settings, classifiers)
    return StageResult(
        [*tests],
        model.ids,
        model.metadata.compared,
        {"statistics": dict(sorted(settings.all_values.items()))},
        {"across_trainings": [*across], "levels": [*levels]},
    )
