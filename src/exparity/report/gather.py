"""What the report is made from: the tests of the grid, and what is needed to read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_tables
from exparity.core.errors import InputError
from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.interface import ARROWS, MetricFacts
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.report.bias import Declared, ModelBias, collapsed_cells, read_bias
from exparity.stats.multiplicity import adjust
from exparity.stats.significance import ControlRate, control_rates

Ids = tuple[str | int, ...]
"""Ids of a file, in the order of its path: dataset, model, seed, method, metric."""
REGISTRIES: Mapping[str, Registry[Any]] = {
    "dataset": DATASETS,
    "method": METHODS,
    "metric": METRICS,
}


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
        results: folder of all results.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returned.
        title: its title.
        pairs: every (dataset, model).
        seeds: seeds of each.
        methods: instance id to registered id.
        metrics: instance id to registered id.
        datasets: instance id to registered id.
        statistics: settings of the tests.
        rows: the disparity artefact: one mapping per test.
        bias: how the classifiers themselves treat the groups.
        accuracies: one per trained classifier.
        controls: how often permuted groups differ, overall ("") and by metric; empty if no control
            was run.
        control_rows: rows of the permutation control.
    """

    results: Path
    options: Mapping[str, Any]
    title: str
    pairs: Sequence[tuple[str, str]]
    seeds: Sequence[int]
    methods: Mapping[str, str]
    metrics: Mapping[str, str]
    datasets: Mapping[str, str]
    statistics: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]
    bias: ModelBias
    accuracies: Sequence[Accuracy]
    controls: Mapping[str, Sequence[ControlRate]]
    control_rows: Sequence[Mapping[str, Any]] = ()

    def metric_facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric's instance."""
        return METRICS.get(self.metrics[metric]).facts

    def arrow(self, metric: str) -> str:
        """Return ↑ where higher values of a metric are better, else ↓."""
        return ARROWS[self.metric_facts(metric).direction]

    def declared(self, dataset: str) -> Declared:
        """Return the attribute, groups and classes of a dataset's instance."""
        return self.bias.declared[dataset]

    def files(self, artefact: str) -> Iterator[tuple[Ids, Path]]:
        """Yield ids and path of every file that the grid has of an artefact, there or not."""
        for ids in layout.cells(self.options, artefact):
            yield tuple(ids.values()), self.path(artefact, **ids)

    def path(self, artefact: str, **ids: str | int) -> Path:
        """Return where the file of a cell is."""
        return self.results / layout.path_of(artefact, ids)

    def display(self, kind: str, id: str) -> str:
        """Return how tables name an instance: its implementation's name, or its own id."""
        uses: Mapping[str, str] = getattr(self, f"{kind}s")
        names = {instance: display_name(kind, use, instance) for instance, use in uses.items()}
        # Instances of one implementation would look the same, as would two plug-ins of one name.
        others = [*(name for i, name in names.items() if i != id), *(names.keys() - {id})]
        return id if names[id] in others else names[id]


def display_name(kind: str, use: str, instance: str) -> str:
    """Return the name of a registered dataset, method or metric.

    A table of the user's own has none, and is known by the id of its instance.
    """
    entry = REGISTRIES[kind].get(use)
    return entry.facts.display or instance if kind == "dataset" else entry.display


def gather(results: Path, options: Mapping[str, Any]) -> Study:
    """Read the artefacts of a grid.

    Args:
        results: folder of all results.
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returns.

    Raises:
        InputError: an artefact of the grid is missing or damaged.
    """
    pairs = [(str(d), str(m)) for d, m in options["pairs"]]
    bias = read_bias(results, options)
    accuracies = _accuracies(bias, pairs, options["seeds"])
    metrics = dict(options["metrics"])
    paths = layout.paths_of(results, options, "tests")
    if not paths:
        raise InputError("the report needs at least one test")
    tests = read_tables(paths, "tests").to_pylist()
    _complete(tests, results, metrics, accuracies)
    controls = layout.paths_of(results, options, "controls")
    control_rows = read_tables(controls, "controls").to_pylist()
    statistics = options["statistics"]
    return Study(
        results=results,
        options=options,
        title=options["title"],
        pairs=pairs,
        seeds=options["seeds"],
        methods=dict(options["methods"]),
        metrics=metrics,
        datasets=dict(options["datasets"]),
        statistics=statistics,
        rows=adjust(tests, statistics["family"], alpha=statistics["alpha"]),
        bias=bias,
        accuracies=accuracies,
        controls=_controls(control_rows, metrics),
        control_rows=control_rows,
    )


def _complete(
    tests: list[dict[str, Any]],
    results: Path,
    metrics: Mapping[str, str],
    accuracies: Sequence[Accuracy],
) -> None:
    """Add what the report says of each test beside its own columns."""
    models = {(a.dataset, a.model, a.seed): a for a in accuracies}
    for row in tests:
        cell = row["dataset"], row["model"], row["seed"]
        if cell not in models or row["metric"] not in metrics:
            raise InputError(
                f"{results / 'tests'}: a file holds {row['metric']} of {cell}, which is not the "
                "cell that its path names; delete it and run again"
            )
        direction = METRICS.get(metrics[row["metric"]]).facts.direction
        better = row["direction"] if direction == "higher" else -row["direction"]
        row["metric_direction"] = direction
        row["better_group"] = {1: row["group_a"], -1: row["group_b"], 0: None}[better]
        row["test_accuracy"] = models[cell].overall
        row["flags"] += ["collapsed"] * models[cell].collapsed


def _accuracies(
    bias: ModelBias, pairs: Sequence[tuple[str, str]], seeds: Sequence[int]
) -> list[Accuracy]:
    measured = {
        (row["dataset"], row["model"], row["seed"], row["group"]): row
        for row in bias.rows
        if row["quantity"] == "accuracy"
    }
    collapsed = collapsed_cells(bias)
    return [
        Accuracy(
            dataset=dataset,
            model=model,
            seed=seed,
            overall=measured[dataset, model, seed, ""]["value"],
            by_group={
                group: measured[dataset, model, seed, group]["value"]
                for group in bias.declared[dataset].groups
            },
            n=measured[dataset, model, seed, ""]["n"],
            collapsed=(dataset, model, seed) in collapsed,
        )
        for dataset, model in pairs
        for seed in seeds
    ]


def _controls(
    rows: Sequence[Mapping[str, Any]], metrics: Iterable[str]
) -> dict[str, list[ControlRate]]:
    if not rows:
        return {}
    rates = {"": control_rates(rows)}
    for metric in metrics:
        rates[metric] = control_rates([row for row in rows if row["metric"] == metric])
    return rates
