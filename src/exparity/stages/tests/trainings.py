"""Stage across_trainings: all scores of one model to the gaps over its trainings and texts."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from exparity.artefacts.analyses import ExperimentView
from exparity.artefacts.columns import fields, record_columns
from exparity.artefacts.examples import Examples
from exparity.artefacts.running import Made, analysis
from exparity.core.settings import Statistics
from exparity.stages.cell import compared_in, read_examples
from exparity.stages.excess import RandomScores, excess_over, random_by
from exparity.stages.reading import read_compared
from exparity.stats.crossed import PROMPT, TRAINING, CrossedTest, crossed_tests
from exparity.stats.model_bias import is_collapsed
from exparity.types import FloatArray, IntArray

_OPTIONS = ("alpha", "threshold", "confidence")
_CONSTANT = ("constant",)
_RANDOM = "uniform_random"


def _settle(experiment: ExperimentView, ids: Mapping[str, Any]) -> dict[str, Any]:
    """Take the options from how groups are compared, as far as all seeds and cells share them.

    Of ``overrides`` only those count that name neither a seed, a method nor a metric.
    """
    statistics = experiment.statistics(ids)
    return {name: statistics[name] for name in _OPTIONS}


@analysis(
    "across_trainings",
    level="model",
    reads=("scores", "random_scores", "predictions"),
    artefact="across_trainings",
    columns=fields(
        ("quantity", pa.string()),
        ("run", pa.string(), True),
        *record_columns(CrossedTest).items(),
    ),
    keys=("method", "metric", "group_a", "group_b", "quantity"),
    ids=("method", "metric"),
    display="Gaps over all trainings",
    always=True,
    settle=_settle,
)
def across_trainings_cell(
    scores: Sequence[Path],
    random_scores: Sequence[Path] | None,
    predictions: Sequence[Path],
    *,
    alpha: float = Statistics.alpha,
    threshold: float = Statistics.threshold,
    confidence: float = Statistics.confidence,
) -> Made:
    """Test the gaps between groups over all trainings of a model.

    A row is of the ``score``, or of the ``excess`` over random explanations, where there are any.
    Rows of the first random explanation itself are of its ``random_score``, and of its
    ``random_excess`` over the others.
    Trainings whose classifier predicts one class, and prompts that the model hardly answers with a
    class, are left out. A cell in which no training has two
    scores that differ is ``constant``.

    Args:
        scores: scores artefacts of one dataset and model; one per seed, method and metric.
        random_scores: scores of random explanations by the same metrics; none without the control.
        predictions: predictions artefacts, one per seed.
        alpha: level of the test whose minimal detectable effect is wanted.
        threshold: |d| from which a gap is considerable: a smaller one counts as equivalent.
        confidence: coverage of the interval.

    Raises:
        InputError: a file does not hold the scores that were written, is of another dataset or
            model than the first, of the same seed, method and metric as another or has an example
            in another group or set than another, or an option is out of range.
    """
    options = {"alpha": alpha, "threshold": threshold, "confidence": confidence}
    uninformative, run = _read_predictions(predictions)
    model = _Scores(random_by(random_scores, "seed", "metric"), uninformative)
    facts: dict[str, Any] = {}
    for path, table, facts in read_compared("across_trainings", scores, over_seeds=True):
        model.add(path, table, facts)
    model.add_random()
    ids = {name: facts["wildcards"][name] for name in ("dataset", "model")}
    return Made(
        [{**row, "run": run} for row in model.tested(facts["groups"], options)],
        ids,
        compared_in(facts),
    )


def _read_predictions(predictions: Sequence[Path]) -> tuple[set[int], str]:
    """Return the seeds whose classifier says nothing, and what a run is: a training or a prompt."""
    seeds, run = set(), TRAINING
    for path in predictions:
        table, metadata = read_examples(path, "predictions")
        low = "label_mass_low" in metadata.get("flags", ())
        if low or is_collapsed(table.column("predicted").to_pylist()):
            seeds.add(int(metadata["wildcards"]["seed"]))
        if "prompt" in metadata["parameters"]:
            run = PROMPT
    return seeds, run


class _Cell(NamedTuple):
    """What the trainings have scores of; the names of its quantities begin with a prefix."""

    method: str
    metric: str
    prefix: str


class _Seed(NamedTuple):
    """The scores of one training: numbers of its examples, their scores, and the excess."""

    places: IntArray
    scores: FloatArray
    excess: FloatArray


class _Scores:
    """The scores of a model by method, metric and seed, and each example once.

    Args:
        random: scores of random explanations by seed and metric.
        collapsed: seeds that say nothing.
    """

    def __init__(
        self, random: Mapping[tuple[str, ...], RandomScores], collapsed: Container[int]
    ) -> None:
        self._random, self._collapsed = random, collapsed
        self._examples = Examples()
        self._cells: dict[_Cell, dict[int, _Seed]] = {}
        self._flags: dict[_Cell, set[str]] = {}

    def add(self, path: Path, table: pa.Table, metadata: Mapping[str, Any]) -> None:
        """Add a scores artefact."""
        ids = metadata["wildcards"]
        cell, seed = _Cell(str(ids["method"]), str(ids["metric"]), ""), int(ids["seed"])
        over = excess_over(self._random.get((str(seed), cell.metric)), table, metadata)
        self._add(cell, seed, path, table, over)
        if seed not in self._collapsed:  # what is left out says nothing of the others
            self._flags[cell].update(metadata.get("flags", []))

    def add_random(self) -> None:
        """Add the first of the random explanations, in excess over the others."""
        for (seed, metric), random in self._random.items():
            table, over = random.first_draw()
            self._add(_Cell(_RANDOM, metric, "random_"), int(seed), random.path, table, over)

    def _add(self, cell: _Cell, seed: int, path: Path, table: pa.Table, over: FloatArray) -> None:
        scores = table.column("score").to_numpy()
        if seed in self._collapsed:
            scores, over = np.full((2, len(scores)), np.nan)
        of_seed = _Seed(self._examples.places(path, table), scores, over)
        self._cells.setdefault(cell, {})[seed] = of_seed
        self._flags.setdefault(cell, set())

    def tested(
        self, order: Sequence[str], options: Mapping[str, float]
    ) -> Iterator[dict[str, Any]]:
        """Yield the rows of every method and metric."""
        all_groups, all_sets = self._examples.groups, self._examples.sets
        for cell, of_all in self._cells.items():
            by_seed = {seed: of_all[seed] for seed in sorted(of_all)}
            used = np.unique(np.concatenate([of_seed.places for of_seed in by_seed.values()]))
            groups = [all_groups[place] for place in used]
            sets = [all_sets[place] for place in used]
            scores, over = np.full((2, len(by_seed), len(used)), np.nan)
            for row, of_seed in enumerate(by_seed.values()):
                at = np.searchsorted(used, of_seed.places)
                scores[row, at], over[row, at] = of_seed.scores, of_seed.excess
            quantities = {"score": scores, "excess": over}
            for quantity, values in quantities.items():
                for test in crossed_tests(list(values), groups, order, sets, **options):
                    if quantity == "excess" and not test.n_seeds:
                        continue  # there are no random explanations
                    pair = np.isin(groups, (test.group_a, test.group_b))
                    flags = {*self._flags[cell], *([] if _differ(scores[:, pair]) else _CONSTANT)}
                    test.flags.extend(sorted(flags.difference(test.flags)))
                    ids = {"method": cell.method, "metric": cell.metric}
                    quantity_of = {"quantity": f"{cell.prefix}{quantity}"}
                    yield {**ids, **quantity_of, **asdict(test)}


def _differ(scores: FloatArray) -> bool:
    """Return whether in some training two of (s, n) scores differ."""
    defined = scores[~np.isnan(scores).all(axis=1)]
    return bool((np.nanmax(defined, axis=1) > np.nanmin(defined, axis=1)).any())
