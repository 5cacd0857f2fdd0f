"""Analysis debiasing: does debiasing a classifier change the gaps of its explanations?

Models that differ from a base in ``debias`` alone are compared with it, training by training and
over all trainings: |d| of every method and metric, in the scores, in excess over random
explanations and in skill.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from exparity.analyses import ExperimentView, StageResult, Table, analysis
from exparity.analyses._recipes import differences
from exparity.analyses.debiasing.section import findings
from exparity.artefacts.columns import records
from exparity.artefacts.files import read_tables
from exparity.artefacts.ids import Ids
from exparity.core.errors import InputError, require_known
from exparity.core.flags import Id
from exparity.core.grouping import grouped
from exparity.core.settings import DEFAULTS, Statistics
from exparity.quantities.limits import Training
from exparity.quantities.random_scores import are_scored_alike
from exparity.quantities.scales import over_scales, scales_of
from exparity.quantities.scores import Cell, Scores, read_scores
from exparity.stats.gap_change import GapChange, GapChanges, gap_changes


def _job_options(
    experiment: ExperimentView,
    ids: Ids,
    *,
    base: str = "",
) -> dict[str, object] | None:
    """Find the recipes of a dataset."""
    where = "analyses.debiasing"
    require_known(base, experiment.models, f"{where}.base: no model '{base}' here")
    fitting = [model for model, why in differences(experiment, base).items() if not why]
    if not fitting:
        raise InputError(
            f"{where}: no model differs from '{base}' in debias alone; add one, models.{base}_cda: "
            f"the settings of {base} and `debias: cda`"
        )
    dataset = ids.dataset
    recipes = [model for model in fitting if (dataset, model) in experiment.pairs]
    if (dataset, base) not in experiment.pairs or not recipes:
        return None
    return {"base": base, "recipes": recipes}


def _caution(experiment: ExperimentView, *, base: str = "") -> str | None:
    """Return which models are left out, and why, in one line; None if none is."""
    reasons = differences(experiment, base).items()
    unfit = [f"{model} ({why})" for model, why in reasons if why]
    return f"not compared with '{base}': {', '.join(unfit)}" if unfit else None


@dataclass(frozen=True)
class _BiasRow:
    """A row of a bias artefact: what is known of a classifier."""

    model: str
    seed: int
    flags: list[str]


@analysis(
    "debiasing",
    level="dataset",
    reads=("scores", "random_scores", "removal_limits", "bias"),
    writes={
        "debiasing": Table(
            "base quantity: string",
            "seed: int64?",
            GapChange,
            keys=("model", "method", "metric", "group_a", "group_b", "quantity"),
            ids=("model", "method", "metric"),
        )
    },
    display="Debiasing and explanations",
    memory_mb=4000,
    statistics=("alpha", "threshold", "ddof", "confidence"),
    job_options=_job_options,
    caution=_caution,
    section=findings,
)
def debiasing_cell(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    removal_limits: Sequence[Path] | None,
    bias: Sequence[Path],
    *,
    base: Id,
    recipes: Sequence[Id],
    alpha: float = DEFAULTS.alpha,
    threshold: float = DEFAULTS.threshold,
    ddof: int = DEFAULTS.ddof,
    confidence: float = DEFAULTS.confidence,
) -> StageResult:
    """Compare the gaps of debiased models with those of the model without debiasing.

    Trainings in which either classifier predicts one class are left out.

    Args:
        scores: scores artefacts of one dataset; one per model, seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        removal_limits: removal_limits artefacts of the dataset, for the skill of explanations; none
            without the control.
        bias: bias artefacts, one per model; they flag classifiers that predict one class.
        base: the model without debiasing.
        recipes: the debiased models.
        alpha: level of the test that the minimal detectable effect is for.
        threshold: change of |d| from which it is considerable.
        ddof: degrees of freedom taken off in the variances of d.
        confidence: coverage of the intervals.

    Raises:
        InputError: a file is damaged or of another dataset than the first, recipe and base were
            scored otherwise, or an option is out of range.
    """
    collapsed = {
        Training(row.model, row.seed)
        for row in records(_BiasRow, read_tables(bias, "bias"))
        if "collapsed" in row.flags
    }
    settings = Statistics(alpha=alpha, threshold=threshold, ddof=ddof, confidence=confidence)
    scored = read_scores(scores, random_scores, removal_limits, [base, *recipes])
    rows = [
        row
        for recipe in recipes
        for row in rows_of_changes(scored, base, recipe, collapsed, settings)
    ]
    ids = {"dataset": scored.metadata.ids.dataset}
    return StageResult(rows, ids, scored.metadata.compared)


def rows_of_changes(
    scores: Scores,
    base: str,
    recipe: str,
    collapsed: set[Training],
    settings: Statistics,
) -> Iterator[dict[str, object]]:
    """Yield the changes of a recipe: in each training, and in all together without a seed.

    Args:
        scores: those of both models.
        base: the model without debiasing.
        recipe: the debiased model.
        collapsed: the classifiers that predict one class.
        settings: level, threshold and coverage.
    """
    by_metric = grouped(scores.cells, lambda cell: (cell.method, cell.metric))
    for (method, metric), trainings in by_metric.items():
        cells = {Training(cell.model, cell.seed): cell for cell in trainings}
        seeds = sorted(s for model, s in cells if model == recipe and (base, s) in cells)
        matched = [(Training(recipe, seed), Training(base, seed)) for seed in seeds]
        pairs = [(cells[debiased], cells[plain]) for debiased, plain in matched]
        left_out = [not collapsed.isdisjoint(trained) for trained in matched]
        paired = [cell for pair in pairs for cell in pair]
        cell_flags = [flag for cell in paired for flag in cell.metadata.flags]
        ids = {"model": recipe, "base": base, "method": method, "metric": metric}
        for pair in pairs:
            if not are_scored_alike(pair[0].metadata, pair[1].metadata):
                raise InputError(
                    f"{pair[0].path}: was scored with other options than {pair[1].path}; give the "
                    "metric the same options for both models"
                )
        for quantity in dict.fromkeys(name for cell in paired for name in cell.quantities):
            for changes in _changes(scores, quantity, pairs, left_out, settings):
                for seed, change, is_left_out in (
                    *zip(seeds, changes.by_training, left_out, strict=True),
                    (None, changes.over_trainings, all(left_out)),
                ):
                    if quantity == "score" or change.n_seeds:
                        flags = [*change.flags, *["collapsed"] * is_left_out, *cell_flags]
                        row = {**ids, **asdict(change), "quantity": quantity, "seed": seed}
                        yield {**row, "flags": list(dict.fromkeys(flags))}


def _changes(
    scores: Scores,
    quantity: str,
    pairs: Sequence[tuple[Cell, Cell]],
    left_out: Sequence[bool],
    settings: Statistics,
) -> list[GapChanges]:
    """Return the changes of a quantity between every two groups; of skill on all scales."""
    n_texts = len(scores.examples)
    texts = scores.texts_at(np.arange(n_texts))
    cells = [cell for pair in pairs for cell in pair if quantity in cell.quantities]
    quantities = [cell.quantities[quantity] for cell in cells]
    by_scale = {}
    for scale in scales_of(quantities):
        values = np.full((2, len(pairs), n_texts), np.nan)
        for s, pair in enumerate(pairs):
            for m, cell in enumerate(pair):
                if quantity in cell.quantities and not left_out[s]:
                    values[m, s, cell.places] = cell.quantities[quantity].values[scale]
        by_scale[scale] = gap_changes(values[0], values[1], texts, settings)
    over_trainings = {
        scale: [pair.over_trainings for pair in changes] for scale, changes in by_scale.items()
    }
    tests = over_scales(quantities, over_trainings, "change")
    shown = next(iter(by_scale.values()))
    return [
        pair._replace(over_trainings=test) for pair, (test, _) in zip(shown, tests, strict=True)
    ]
