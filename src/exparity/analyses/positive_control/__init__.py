"""Analysis positive_control: would this study have found worse explanations of one group?"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from exparity.analyses import (
    CHANCE_IS_ZERO,
    ExperimentView,
    StageResult,
    Table,
    analysis,
    metrics_that_foresee,
    metrics_with_limits,
)
from exparity.analyses.positive_control._removal import removal_rows
from exparity.analyses.positive_control.section import FORESIGHT, findings
from exparity.artefacts.columns import Examples, Row, laid, records
from exparity.artefacts.files import facts_of
from exparity.artefacts.ids import Ids
from exparity.artefacts.seal import read_metadata
from exparity.core.seeding import generator
from exparity.metrics.foresight import (
    FEWEST_UNITS,
    ROUNDING,
    Design,
    Foresight,
    correlation,
    predictions,
    ridge_weights,
)
from exparity.quantities.classifiers import read_classifiers
from exparity.quantities.foresights import ForesightRow
from exparity.quantities.inputs import model_of, read_all
from exparity.stats.planted import PlantedGap, planted_gaps
from exparity.stats.samples import GroupedTexts
from exparity.types import BoolArray, FloatArray, IntArray


def _job_options(experiment: ExperimentView, ids: Ids, **settings: Any) -> dict[str, object] | None:
    """Return the options of a job; none where no metric leaves out what a control could."""
    foreseen = metrics_that_foresee(experiment, ids.dataset)
    limited = metrics_with_limits(experiment, ids.dataset)
    return dict(settings) if foreseen or limited else None


@analysis(
    "positive_control",
    level="model",
    reads=("predictions", "foresight", "removal_limits"),
    metric_needs={"foresight": CHANCE_IS_ZERO},
    writes={
        "positive_control": Table(
            "witness unit: string",
            "left_out: float64",
            "num_masks: int32",
            PlantedGap,
            keys=(
                *("witness", "unit", "left_out", "num_masks"),
                *("group_a", "group_b", "worse_group", "share"),
            ),
        )
    },
    display="Positive control",
    always=True,
    memory_mb=4000,
    job_options=_job_options,
    section=findings,
)
def control_power(
    predictions: Sequence[Path],
    foresight: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None = None,
) -> StageResult:
    """Worsen good explanations in one group, and test the gap.

    By forward simulation, the good explanation of a text is the ridge regression of the
    classifier's falls on what was left out, fitted on one half of the draws and scored on the
    other; the random one has the same weights on other units. By removal, it is the reference, and
    the random one a random order of the units. Nothing is asked of the model. Classifiers that
    predict one class are left out.

    Args:
        predictions: predictions artefacts, one per seed.
        foresight: foresight artefacts of one dataset and model, one per seed and metric.
        removal_limits: removal_limits artefacts, one per seed.

    Raises:
        InputError: a file is damaged or of another dataset or model than the first.
    """
    first, *_ = [*(foresight or ()), *(removal_limits or ())]
    metadata = facts_of(read_metadata(first).metadata)
    ids = model_of(metadata)
    uninformative = read_classifiers(predictions, ids).uninformative
    rows = [*_foresight_rows(foresight, uninformative)] if foresight else []
    if removal_limits:
        rows += removal_rows(removal_limits, uninformative)
    return StageResult(rows, ids, metadata.compared)


def _foresight_rows(foresight: Sequence[Path], left_out: Collection[int]) -> Iterator[Row]:
    """Yield the planted gaps in what is foreseen, for each way to leave out parts of texts."""
    examples = Examples()
    by_design: dict[Design, dict[int, _Controls]] = {}
    tables = [*read_all("foresight", foresight, over=("seed", "metric"))]
    _, first_metadata = tables[0]
    for table, metadata in tables:
        seed = metadata.ids.seed
        places = examples.places(table)
        rows = records(ForesightRow, table)
        if rows and seed not in left_out:
            controls_of_seeds = by_design.setdefault(rows[0].design, {})
            if seed not in controls_of_seeds:  # several metrics may draw alike
                controls_of_seeds[seed] = _controls_of(rows, places, seed)
    size = len(examples)
    texts = GroupedTexts.of(examples.groups, first_metadata.groups, examples.sets)
    for design, controls_of_seeds in by_design.items():
        trainings = controls_of_seeds.values()
        good = np.array([laid(controls.good, controls.places, size) for controls in trainings])
        random = np.array([laid(controls.random, controls.places, size) for controls in trainings])
        laid_units = [laid(controls.n_units, controls.places, size) for controls in trainings]
        n_units = np.fmax.reduce(laid_units)  # as the scores of methods are compared
        for gap in planted_gaps(partial(_spoilt_scores, good, random), texts, covariate=n_units):
            yield {"witness": FORESIGHT, **design._asdict(), **asdict(gap)}


def _spoilt_scores(good: FloatArray, random: FloatArray, spoilt: BoolArray) -> FloatArray:
    """Return (1, r, s, n) scores on their scale where some of the explanations are random."""
    return np.where(spoilt[None, :, None], random, good)


class _Controls(NamedTuple):
    """(n,) places of the texts of a training, their units, and scores of both explanations."""

    places: IntArray
    n_units: FloatArray
    good: FloatArray
    random: FloatArray


def _controls_of(rows: Sequence[ForesightRow], places: IntArray, seed: int) -> _Controls:
    """Return the controls of a training, whose texts are drawn in one way."""
    scores = []
    for row in rows:
        rng = generator(seed, "positive_control", row.example_id, *map(str, row.design))
        scores.append(control_scores(row.foresight, rng))
    good, random = np.array(scores).T
    n_units = np.array([row.n_units for row in rows], dtype=np.float64)
    return _Controls(places, n_units, good, random)


def control_scores(foresight: Foresight, rng: np.random.Generator) -> tuple[float, float]:
    """Return how well a good and a random explanation of a text foresee its classifier.

    Both are means over two halves of the draws: weights are fitted on one and scored on the other.

    Args:
        foresight: what the classifier does with the text.
        rng: draws the random explanation.

    Returns:
        Two correlations in [−1, 1]; NaN where the falls are constant or the text is short.
    """
    left_out, falls, _ = foresight
    if left_out.shape[1] < FEWEST_UNITS or not len(falls) or falls.std() < ROUNDING:
        return np.nan, np.nan
    half = np.arange(len(falls)) % 2 == 0
    good = []
    random = []
    for fitted in (half, ~half):
        weights = ridge_weights(left_out[fitted], falls[fitted])
        held_out = left_out[~fitted]
        true_falls = falls[~fitted]
        good.append(correlation(predictions(weights, held_out), true_falls))
        shuffled = rng.permutation(weights)
        random.append(correlation(predictions(shuffled, held_out), true_falls))
    return float(np.mean(good)), float(np.mean(random))
