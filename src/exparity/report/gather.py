"""What the report is made from: the tests of the grid, and what is needed to read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artifacts import read_artefact, read_tables
from exparity.data import DATASETS
from exparity.errors import InputError
from exparity.interface import DatasetFacts, MetricFacts
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.registry import Registry


@dataclass(frozen=True)
class Accuracy:
    """Share of test examples that one trained classifier gets right, overall and by group."""

    dataset: str
    model: str
    seed: int
    overall: float
    by_group: Mapping[str, float]
    n: int
    collapsed: bool


@dataclass(frozen=True)
class Study:
    """Everything the report shows.

    Attributes:
        title: its title.
        pairs: every (dataset, model).
        seeds: seeds of each.
        methods: instance id to registered id.
        metrics: instance id to registered id.
        datasets: instance id to registered id.
        statistics: settings of the tests.
        rows: the disparity artefact: one mapping per test.
        accuracies: one per trained classifier.
    """

    title: str
    pairs: Sequence[tuple[str, str]]
    seeds: Sequence[int]
    methods: Mapping[str, str]
    metrics: Mapping[str, str]
    datasets: Mapping[str, str]
    statistics: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    accuracies: Sequence[Accuracy]

    def metric_facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric's instance."""
        return METRICS.get(self.metrics[metric]).facts

    def dataset_facts(self, dataset: str) -> DatasetFacts:
        """Return the facts of a dataset's instance."""
        return DATASETS.get(self.datasets[dataset]).facts

    def display(self, kind: str, id: str) -> str:
        """Return how tables name an instance: its implementation's name, or its own id."""
        parts: dict[str, tuple[Mapping[str, str], Registry[Any]]] = {
            "dataset": (self.datasets, DATASETS),
            "method": (self.methods, METHODS),
            "metric": (self.metrics, METRICS),
        }
        names, registry = parts[kind]
        # Two instances of one implementation would look the same.
        unique = list(names.values()).count(names[id]) == 1
        return registry.get(names[id]).display if unique else id


def gather(results: Path, options: Mapping[str, Any]) -> Study:
    """Read the artefacts of a grid.

    Args:
        results: folder of all results.
        options: what :meth:`exparity.config.Experiment.report_options` returns.

    Raises:
        InputError: an artefact of the grid is missing or damaged.
    """
    pairs = [(str(d), str(m)) for d, m in options["pairs"]]
    accuracies = [_accuracy(results, d, m, s) for d, m in pairs for s in options["seeds"]]
    metrics = dict(options["metrics"])
    paths = [
        results / "tests" / d / m / str(s) / method / f"{metric}.parquet"
        for d, m in pairs
        for s in options["seeds"]
        for method, _ in options["methods"]
        for metric in metrics
    ]
    if not paths:
        raise InputError("the report needs at least one test")
    by_model = {(a.dataset, a.model, a.seed): a.overall for a in accuracies}
    rows = []
    for row in read_tables(paths, "tests").to_pylist():
        cell = row["dataset"], row["model"], row["seed"]
        if cell not in by_model or row["metric"] not in metrics:
            raise InputError(
                f"{results / 'tests'}: a file holds {row['metric']} of {cell}, which is not the "
                "cell that its path names; delete it and run again"
            )
        direction = METRICS.get(metrics[row["metric"]]).facts.direction
        row["metric_direction"] = direction
        row["better_group"] = _better(row, direction)
        row["test_accuracy"] = by_model[cell]
        rows.append(row)
    return Study(
        title=options["title"],
        pairs=pairs,
        seeds=options["seeds"],
        methods=dict(options["methods"]),
        metrics=metrics,
        datasets=dict(options["datasets"]),
        statistics=options["statistics"],
        rows=rows,
        accuracies=accuracies,
    )


def _better(row: Mapping[str, Any], direction: str) -> str | None:
    sign = row["direction"] if direction == "higher" else -row["direction"]
    return None if sign == 0 else row["group_a"] if sign > 0 else row["group_b"]


def _accuracy(results: Path, dataset: str, model: str, seed: int) -> Accuracy:
    path = results / "predictions" / dataset / model / f"{seed}.parquet"
    table, _ = read_artefact(path, "predictions")
    right: dict[str, list[bool]] = defaultdict(list)
    for row in table.select(["group", "label", "predicted"]).to_pylist():
        right[row["group"]].append(row["label"] == row["predicted"])
    every = [value for values in right.values() for value in values]
    return Accuracy(
        dataset=dataset,
        model=model,
        seed=seed,
        overall=sum(every) / len(every),
        by_group={group: sum(values) / len(values) for group, values in sorted(right.items())},
        n=len(every),
        collapsed=len(set(table.column("predicted").to_pylist())) == 1,
    )
