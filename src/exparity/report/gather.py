"""What the report is made from: the tests of the grid, and what is needed to read them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from exparity.artefacts import layout
from exparity.artefacts.files import read_tables
from exparity.core.errors import InputError
from exparity.core.registry import Registry
from exparity.data import DATASETS
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.metrics.facts import ARROWS, MetricFacts
from exparity.report.bias import Declared, ModelBias, collapsed_cells, read_bias
from exparity.report.dependence import known_of_data
from exparity.report.reading import read_analysis
from exparity.report.verdicts import is_random, run_of
from exparity.stats.dependence import Dependence
from exparity.stats.informative import flagged, of_quantity
from exparity.stats.multiplicity import CELL_IDS, adjust

Ids = tuple[str | int, ...]
"""Ids of a file, in the order of its path: dataset, model, seed, method, metric."""
Verdicts = Mapping[tuple[str, ...], Mapping[str, Mapping[str, Any]]]
_DRAWN = ("dataset", "model", "seed", "metric", "group_a", "group_b")
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
        options: what :meth:`exparity.config.experiment.Experiment.report_options` returned.
        pairs: every (dataset, model).
        methods, metrics, datasets: instance id to registered id.
        rows: tests of scores, as the disparity artefact has them.
        excess: those of the excess over random explanations.
        bias: how the classifiers themselves treat the groups.
        accuracies: one per trained classifier.
        verdicts: what may be concluded of each cell: rows of the verdicts artefact by dataset,
            model, method, metric and the two groups, and then by quantity.
        random_verdicts: those rows that are of random explanations themselves.
        random_rows: tests of the scores of random explanations, flagged as tests are.
        dependence: how far label and group go together, by dataset and split.
        unmarked: test examples without a rationale, by dataset, where others have one.
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
    excess: Sequence[Mapping[str, Any]] = ()
    verdicts: Verdicts = field(default_factory=dict)
    random_verdicts: Sequence[Mapping[str, Any]] = ()
    random_rows: Sequence[Mapping[str, Any]] = ()
    dependence: Mapping[str, Mapping[str, Dependence]] = field(default_factory=dict)
    unmarked: Mapping[str, int] = field(default_factory=dict)

    @property
    def run(self) -> str:
        """What each seed of a cell is: a training or a prompt; a run where both are."""
        return run_of(row for cell in self.verdicts.values() for row in cell.values())

    def metric_facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric's instance."""
        return METRICS.get(self.metrics[metric]).facts

    def arrow(self, metric: str) -> str:
        """Return ↑ where higher values of a metric are better, else ↓."""
        return ARROWS[self.metric_facts(metric).direction]

    def declared(self, dataset: str) -> Declared:
        """Return the attribute, groups and classes of a dataset's instance."""
        return self.bias.declared[dataset]

    def applying(self, kind: str, dataset: str) -> list[str]:
        """Return the ``methods`` or ``metrics`` that apply to a dataset."""
        return layout.applying(self.options, kind, dataset)

    @property
    def compares(self) -> bool:
        """Whether some dataset has groups to compare."""
        return any(self.declared(dataset).groups for dataset, _ in self.pairs)

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
    """Read the artefacts of a grid."""
    pairs = [(str(d), str(m)) for d, m in options["pairs"]]
    bias = read_bias(results, options)
    accuracies = _accuracies(bias, pairs, options["seeds"])
    metrics = dict(options["metrics"])
    paths = layout.paths_of(results, options, "tests")
    if options["methods"] and not layout.paths_of(results, options, "scores"):
        raise InputError("the report needs at least one test where something is explained")
    tests = read_tables(paths, "tests").to_pylist()
    _complete(tests, results, metrics, accuracies)
    statistics = options["statistics"]
    # Those that say nothing are flagged, as tests are.
    random_rows = flagged(read_analysis(results, options, "random_tests"), collapsed_cells(bias))
    _complete_from_random(tests, random_rows, statistics["alpha"])
    _complete_adjusted(tests, read_analysis(results, options, "adjusted_gaps"))
    judged = read_analysis(results, options, "judge")
    of_data = {dataset: known_of_data(results, dataset) for dataset, _ in pairs}
    tests = adjust(tests, statistics["family"], alpha=statistics["alpha"])
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
        rows=of_quantity(tests, "score"),
        excess=of_quantity(tests, "excess"),
        bias=bias,
        accuracies=accuracies,
        verdicts=by_cell_and_quantity(row for row in judged if not is_random(row)),
        random_verdicts=[row for row in judged if is_random(row)],
        random_rows=random_rows,
        dependence={
            dataset: dependence
            for dataset, (dependence, _) in of_data.items()
            if bias.declared[dataset].groups
        },
        unmarked={dataset: unmarked for dataset, (_, unmarked) in of_data.items()},
    )


def by_cell_and_quantity(rows: Iterable[Mapping[str, Any]]) -> Verdicts:
    """Return rows of the verdicts artefact by cell and quantity; see :attr:`Study.verdicts`."""
    verdicts: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = defaultdict(dict)
    for row in rows:
        verdicts[tuple(row[id] for id in CELL_IDS)][row["quantity"]] = row
    return dict(verdicts)


def _complete_from_random(
    tests: Sequence[dict[str, Any]],
    random_rows: Iterable[Mapping[str, Any]],
    alpha: float,
) -> None:
    """Add to each test how often random explanations of its training differ."""
    draws: dict[tuple[Any, ...], list[bool]] = defaultdict(list)
    for row in random_rows:
        p = row["wilcoxon_p"] if row["wilcoxon_p"] == row["wilcoxon_p"] else row["p"]
        draws[tuple(row[id] for id in _DRAWN)].append(p <= alpha)
    for row in tests:
        hits = draws[tuple(row[id] for id in _DRAWN)]
        row["random_significant"] = sum(hits) / len(hits) if hits else float("nan")


def _complete_adjusted(tests: Iterable[dict[str, Any]], gaps: Iterable[Mapping[str, Any]]) -> None:
    """Add to each test the gap at equal class, length and confidence."""
    known = {(*(row[id] for id in (*CELL_IDS, "seed")), row["adjustment"]): row for row in gaps}
    for row in tests:
        for adjustment in ("class", "length", "confidence"):
            key = (*(row[id] for id in (*CELL_IDS, "seed")), adjustment)
            gap = known.get(key, {}) if row["quantity"] == "score" else {}
            row[f"{adjustment}_adjusted_difference"] = gap.get("estimate", float("nan"))
            row[f"{adjustment}_adjusted_p"] = gap.get("p", float("nan"))


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
        use = metrics[row["metric"]]
        # Another run may have metrics of plug-ins that are not loaded here.
        direction = METRICS.get(use).facts.direction if use in METRICS.ids() else None
        better = row["direction"] * {"higher": 1, "lower": -1, None: 0}[direction]
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
