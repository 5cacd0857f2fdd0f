"""The jobs of an experiment: what each works on, and whether it is finished."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from exparity.artefacts.layout import ANALYSES
from exparity.config.instances import canonical
from exparity.costs import kinds
from exparity.costs.examples import ExampleCounts, prepared_from
from exparity.costs.kinds import Kind
from exparity.jobs.parts import shard_sizes

if TYPE_CHECKING:
    from exparity.config import Experiment


@dataclass(frozen=True)
class PlannedJob:
    """A job of an experiment.

    Attributes:
        kind: what its cost depends on.
        examples: what it works on; of a training, its examples times its epochs.
        finished: whether its output is there.
    """

    kind: Kind
    examples: int
    finished: bool


def planned_jobs(experiment: Experiment, counts: ExampleCounts) -> Iterator[PlannedJob]:
    """Yield every job that a run of an experiment from scratch has, finished or not.

    Whether a finished one would run again, since something changed that it depends on, is for
    Snakemake to say (``snakemake -n``).
    """
    grid = _Grid(experiment, counts)
    for dataset in experiment.datasets:
        yield grid.job(
            kinds.prepare_kind(grid.made_from[dataset]), counts.total(dataset), f"data/{dataset}"
        )
    for dataset, model in experiment.pairs:
        for seed in experiment.seeds:
            yield from _Classifier(grid, dataset, model, seed).jobs()
    for name in experiment.analyses.settings:
        for dataset, *models in experiment.analyses.targets(name):
            yield from _analysis(grid, name, dataset, *models)
    yield PlannedJob(Kind("report"), grid.tests, grid.exists("report/index.html"))


class _Grid:
    """What the cells of an experiment share."""

    def __init__(self, experiment: Experiment, counts: ExampleCounts) -> None:
        self.experiment, self.counts = experiment, counts
        self.made_from = {name: prepared_from(experiment, name) for name in experiment.datasets}
        self.tests = 0

    def exists(self, path: str) -> bool:
        return os.path.exists(f"{self.experiment.results}/{path}")

    def job(self, kind: Kind, examples: int, output: str) -> PlannedJob:
        return PlannedJob(kind, examples, self.exists(f"{output}.parquet"))


def _analysis(
    grid: _Grid, name: str, dataset: str, model: str | None = None
) -> Iterator[PlannedJob]:
    """Yield the jobs of an analysis: one for a dataset, or one for every seed of a model."""
    experiment, counts, made_from = grid.experiment, grid.counts, grid.made_from[dataset]
    folder = f"{ANALYSES[name]}/{dataset}"
    if model is None:
        kind = kinds.analysis_kind(name, "", made_from)
        yield grid.job(kind, counts.total(dataset), folder)
        return
    examples = counts.explained(dataset, experiment.analyses.settings[name].get("max_examples"))
    for seed in experiment.seeds:
        text = kinds.model_text(experiment.finetune_options(dataset, model, seed))
        kind = kinds.analysis_kind(name, text, made_from)
        yield grid.job(kind, examples, f"{folder}/{model}/{seed}")


class _Classifier:
    """The jobs of one dataset, model and seed."""

    def __init__(self, grid: _Grid, dataset: str, model: str, seed: int) -> None:
        self.grid, self.experiment = grid, grid.experiment
        self.dataset, self.cell = dataset, (dataset, model, seed)
        self.path = f"{dataset}/{model}/{seed}"
        self.training = self.experiment.finetune_options(*self.cell)
        self.model = kinds.model_text(self.training)
        self.made_from = grid.made_from[dataset]
        self.scored = 0

    def jobs(self) -> Iterator[PlannedJob]:
        """Yield its jobs in the order of a run."""
        counts, path = self.grid.counts, self.path
        epochs = int(_read(self.training)["training"]["epochs"])
        trained = self.grid.exists(f"models/{path}/history.parquet")
        yield PlannedJob(
            kinds.finetune_kind(self.training, self.made_from),
            epochs * counts.train(self.dataset),
            trained and self.grid.exists(f"predictions/{path}.parquet"),
        )
        bias = self._statistics("bias", self.experiment.bias_options(*self.cell), "statistics")
        yield self.grid.job(bias, counts.test(self.dataset), f"bias/{path}")
        for method in self.experiment.methods:
            yield from self._method(method)
        if self.experiment.has_controls:
            options = self.experiment.control_options(*self.cell)
            control = self._statistics("control", options, "controls")
            yield self.grid.job(control, self.scored, f"controls/{path}")

    def _method(self, method: str) -> Iterator[PlannedJob]:
        options = self.experiment.explain_options(*self.cell, method)
        size = _read(options)["max_examples"]
        yield from self._shared(
            kinds.explain_kind(options, self.model, self.made_from),
            self.grid.counts.explained(self.dataset, size),
            self.experiment.methods[method].entry.facts.passes,
            self.experiment.explain_shards(*self.cell, method),
            "explanations",
            f"{self.path}/{method}",
        )
        for metric in self.experiment.metrics:
            yield from self._metric(method, metric, options, size)

    def _metric(
        self, method: str, metric: str, explained: str, size: int | None
    ) -> Iterator[PlannedJob]:
        cell = (*self.cell, method, metric)
        options = self.experiment.evaluate_options(*cell)
        path = f"{self.path}/{method}/{metric}"
        examples = self.grid.counts.scored(self.dataset, size, _read(options)["max_examples"])
        yield from self._shared(
            kinds.evaluate_kind(options, explained, self.model, self.made_from),
            examples,
            passes_of(self.experiment, method, metric),
            self.experiment.evaluate_shards(*cell),
            "scores",
            path,
        )
        self.scored += examples
        self.grid.tests += 1
        test = self._statistics("test", self.experiment.test_options(*cell), "statistics")
        yield self.grid.job(test, examples, f"tests/{path}")

    def _shared(
        self, kind: Kind, examples: int, passes: int, shards: int, artefact: str, path: str
    ) -> Iterator[PlannedJob]:
        """Yield the job of a cell, or its shards and the job that gathers them."""
        whole = self.grid.job(kind, examples, f"{artefact}/{path}")
        if shards == 1:
            yield whole
            return
        for index, size in enumerate(shard_sizes(examples, passes, shards), start=1):
            share = self.grid.job(kind, size, f"shards/{artefact}/{path}/{index}-of-{shards}")
            yield PlannedJob(kind, size, whole.finished or share.finished)
        yield PlannedJob(Kind("gather"), examples, whole.finished)

    def _statistics(self, stage: str, options: str, block: str) -> Kind:
        return kinds.statistics_kind(stage, canonical(_read(options)[block]), self.made_from)


def passes_of(experiment: Experiment, method: str, metric: str) -> int:
    """Return how many model passes a metric of a method's explanations takes, roughly."""
    facts = experiment.metrics[metric].entry.facts
    again = experiment.methods[method].entry.facts.passes if facts.needs == "explainer" else 1
    return int(facts.passes * again)


@lru_cache(maxsize=4096)
def _read(options: str) -> Any:
    return json.loads(options)
