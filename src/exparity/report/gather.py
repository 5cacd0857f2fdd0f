"""The study behind a report: tests and verdicts of a grid, and the facts needed to read them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow.compute import is_in

from exparity.artefacts import layout
from exparity.artefacts.columns import Record, records
from exparity.artefacts.files import read_artefact, read_tables
from exparity.artefacts.grid import Grid
from exparity.artefacts.schemas import check_schema
from exparity.artefacts.seal import open_sealed
from exparity.core.escaping import visible
from exparity.core.formats import in_sentence
from exparity.core.grouping import grouped
from exparity.core.settings import StudyStatistics
from exparity.metrics import METRICS
from exparity.metrics.facts import ARROWS, MetricFacts
from exparity.report.names import display_name
from exparity.report.reading import read_analysis, read_columns
from exparity.report.rows import (
    ClassifierBias,
    LevelRow,
    VerdictRow,
    Verdicts,
    cells_of,
)
from exparity.report.verdicts import run_of
from exparity.stats.dependence import cramers_v_by_split
from exparity.stats.seeds import SeedTest, of_quantity
from exparity.stats.verdicts import HEADLINE

Ids = tuple[str | int, ...]
"""Ids of a file, in the order of its path: dataset, model, seed, method, metric."""
# Rows of a file that are read at once, where few of them are kept.
_ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Declared:
    """Facts of a dataset, in its order: protected attribute, groups and classes."""

    attribute: str
    groups: tuple[str, ...]
    classes: tuple[str, ...]

    @property
    def parts(self) -> tuple[str, ...]:
        """Groups as examples name them; a single one without a name if there are none."""
        return self.groups or ("",)


class Accuracy(NamedTuple):
    """The accuracy of one classifier."""

    overall: ClassifierBias  # of all test examples
    by_group: Mapping[str, ClassifierBias]

    @property
    def collapsed(self) -> bool:
        """Whether one class is predicted for every example."""
        return "collapsed" in self.overall.flags


@dataclass(frozen=True)
class Study:
    """Everything the report shows."""

    results: Path
    grid: Grid
    bias: Sequence[ClassifierBias]
    facts: Mapping[str, Declared]  # by dataset
    tests: Sequence[SeedTest] = ()  # rows of the disparity artefact
    judged: Sequence[VerdictRow] = ()

    @property
    def title(self) -> str:
        """Title of the report."""
        return self.grid.title

    @property
    def pairs(self) -> Sequence[tuple[str, str]]:
        """Each (dataset, model) that is trained."""
        return self.grid.pairs

    @property
    def seeds(self) -> Sequence[int]:
        """Seeds of the trainings."""
        return self.grid.seeds

    @property
    def methods(self) -> Mapping[str, str]:
        """Registered id of each method by the config's id."""
        return self.grid.methods

    @property
    def metrics(self) -> Mapping[str, str]:
        """Registered id of each metric by the config's id."""
        return self.grid.metrics

    @property
    def datasets(self) -> Mapping[str, str]:
        """Registered id of each dataset by the config's id."""
        return self.grid.datasets

    @property
    def statistics(self) -> StudyStatistics:
        """Settings of the comparison of groups."""
        return self.grid.statistics

    @cached_property
    def models(self) -> Mapping[str, Sequence[str]]:
        """Models by dataset."""
        by_dataset = grouped(self.pairs, itemgetter(0))
        return {dataset: [model for _, model in pairs] for dataset, pairs in by_dataset.items()}

    @cached_property
    def accuracies(self) -> Sequence[Accuracy]:
        """Accuracy of every classifier."""
        rows = [row for row in self.bias if row.quantity == "accuracy"]
        measured = grouped(rows, attrgetter("dataset", "model", "seed"))
        accuracies = []
        for dataset, model in self.pairs:
            for seed in self.seeds:
                by_name = {row.group: row for row in measured[dataset, model, seed]}
                by_group = {group: by_name[group] for group in self.declared(dataset).groups}
                accuracies.append(Accuracy(by_name[""], by_group))
        return accuracies

    @cached_property
    def dependence(self) -> Mapping[str, Mapping[str, float]]:
        """Cramér's V of label and group by dataset and split; of datasets with groups and data."""
        by_dataset = {}
        for dataset in self.models:
            path = self.path("data", dataset=dataset)
            if self.declared(dataset).groups and path.is_file():
                table = read_artefact(path, "data")[0]
                by_dataset[dataset] = cramers_v_by_split(
                    table.column("label").to_pylist(),
                    table.column("group").to_pylist(),
                    table.column("split").to_pylist(),
                )
        return by_dataset

    @cached_property
    def rows(self) -> Sequence[SeedTest]:
        """Tests of scores."""
        return of_quantity(self.tests, "score")

    @cached_property
    def verdicts(self) -> Verdicts:
        """Verdicts of cells."""
        return cells_of(self.judged)

    @cached_property
    def standing(self) -> Sequence[VerdictRow]:
        """The rows of methods that stand, one for each comparison."""
        return [row for row in self.judged if row.stands and not row.is_random]

    @cached_property
    def levels(self) -> Sequence[LevelRow]:
        """Rows of the levels artefacts of its models that there are, of its metrics."""
        rows: list[LevelRow] = []
        for dataset, model in self.pairs:
            path = self.path("levels", dataset=dataset, model=model)
            if path.is_file():
                rows += records(LevelRow, read_artefact(path, "levels")[0])
        return [row for row in rows if row.metric in self.metrics]

    @property
    def has_several_models(self) -> bool:
        """Whether a dataset alone does not say which model is meant."""
        return len({model for _, model in self.pairs}) > 1

    def place(self, dataset: str, model: str) -> str:
        """Return the name of a dataset, and the model where there are several."""
        name = self.display("dataset", dataset)
        return f"{name}, {model}" if self.has_several_models else name

    @property
    def run(self) -> str:
        """Name of a seed of a cell: training or prompt, or run if there are both."""
        return run_of(self.judged)

    @property
    def one_training(self) -> bool:
        """Whether something is compared, and no cell over several trainings."""
        return bool(self.rows) and all(row.n_seeds < 2 for row in self.judged)

    def metric_facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric's instance."""
        return METRICS.get(self.metrics[metric]).facts

    def metric_names(self, rows: Iterable[VerdictRow]) -> list[str]:
        """Return the names of the metrics of some rows, in order."""
        return [self.display("metric", metric) for metric in {row.metric: None for row in rows}]

    def measure(self, metric: str) -> str:
        """Return what a metric measures, in words that need no others."""
        entry = METRICS.get(self.metrics[metric])
        if entry.facts.kind == HEADLINE:
            return "how well explanations foresee the classifier"
        lower = "; lower is better" if entry.facts.direction == "lower" else ""
        name = in_sentence(self.display("metric", metric))
        return f"{name} ({in_sentence(entry.summary)}{lower})"

    def arrow(self, metric: str) -> str:
        """Return ↑ where higher values of a metric are better, else ↓."""
        return ARROWS[self.metric_facts(metric).direction]

    def declared(self, dataset: str) -> Declared:
        """Return the attribute, groups and classes of a dataset's instance."""
        return self.facts[dataset]

    def applying(self, kind: str, dataset: str) -> list[str]:
        """Return the ``methods`` or ``metrics`` that apply to a dataset."""
        return self.grid.applying(kind, dataset)

    @property
    def compares(self) -> bool:
        """Whether some dataset has groups to compare."""
        return any(self.declared(dataset).groups for dataset in self.models)

    def files(self, artefact: str) -> Iterator[tuple[Ids, Path]]:
        """Yield ids and path of every file of an artefact in the grid, existing or not."""
        for ids in layout.cells(self.grid, artefact):
            yield tuple(ids.values()), self.path(artefact, **ids)

    def path(self, artefact: str, **ids: str | int) -> Path:
        """Return the path of a cell's file."""
        return self.results / layout.path_of(artefact, ids)

    def read_records(self, kind: type[Record], artefact: str, **ids: str | int) -> list[Record]:
        """Return the rows of a cell's file as records; none if there is no file."""
        path = self.path(artefact, **ids)
        return records(kind, read_artefact(path, artefact)[0]) if path.is_file() else []

    def columns(self, artefact: str, *names: str, **ids: str | int) -> pa.Table | None:
        """Return columns of a cell's file; None if there is no file."""
        path = self.path(artefact, **ids)
        return read_columns(path, artefact, names) if path.is_file() else None

    def records_of(
        self, kind: type[Record], artefact: str, examples: Collection[str], **ids: str | int
    ) -> list[Record]:
        """Return the rows of some examples of a cell's file as records; none without a file."""
        path = self.path(artefact, **ids)
        if not path.is_file():
            return []
        example_ids = pa.array(sorted(examples), pa.string())
        rows: list[Record] = []
        with open_sealed(path) as file:
            check_schema(path, artefact, file.schema_arrow)
            for batch in file.iter_batches(_ROWS_AT_ONCE, use_threads=False):
                chosen = batch.filter(is_in(batch.column("example_id"), example_ids))
                rows += records(kind, pa.Table.from_batches([chosen]))
        return rows

    def display(self, kind: str, instance: str) -> str:
        """Return the name of an instance in tables: its implementation's, or its own id."""
        uses: Mapping[str, str] = getattr(self, f"{kind}s")
        names = {other: display_name(kind, use, other) for other, use in uses.items()}
        # Instances of one implementation would look the same, as would two plug-ins of one name.
        other_names = [name for other, name in names.items() if other != instance]
        other_names += names.keys() - {instance}
        return instance if names[instance] in other_names else names[instance]

    def name(self, kind: str, instance: str) -> str:
        """Return the name of an instance in figures, with an arrow towards better values."""
        if kind == "model":
            return visible(instance)
        name = visible(self.display(kind, instance))
        return f"{name} {self.arrow(instance)}" if kind == "metric" else name


def gather(results: Path, grid: Grid) -> Study:
    """Read the artefacts of a grid."""
    bias = [row for row in read_analysis(results, grid, "bias") if row["seed"] in grid.seeds]
    tests = read_tables(layout.paths_of(results, grid, "disparity"), "disparity")
    judged = records(VerdictRow, read_analysis(results, grid, "judge"))
    facts = {
        row["dataset"]: Declared(row["attribute"], row["groups"], row["labels"]) for row in bias
    }
    return Study(
        results=results,
        grid=grid,
        bias=records(ClassifierBias, bias),
        facts=facts,
        tests=_in_order(records(SeedTest, tests), grid, _ids_of_test),
        judged=_in_order(judged, grid, lambda row: _ids_of_verdict(row, grid)),
    )


class _GridIds(NamedTuple):
    """Ids by which rows are ordered; random explanations have an empty method."""

    dataset: str
    model: str
    seed: int
    method: str
    metric: str


def _ids_of_test(test: SeedTest) -> _GridIds:
    method = "" if test.quantity.startswith("random_") else test.method
    return _GridIds(test.dataset, test.model, test.seed, method, test.metric)


def _ids_of_verdict(row: VerdictRow, grid: Grid) -> _GridIds:
    method = "" if row.is_random else row.method
    return _GridIds(row.dataset, row.model, grid.seeds[0], method, row.metric)


def _in_order(
    rows: Iterable[Record], grid: Grid, ids_of: Callable[[Record], _GridIds]
) -> list[Record]:
    """Return the rows of a grid in the order of the config."""
    methods = ["", *grid.methods]
    metrics = ["", *grid.metrics]
    in_grid: list[tuple[tuple[int, ...], Record]] = []
    for row in rows:
        ids = ids_of(row)
        pair = (ids.dataset, ids.model)
        if (
            pair in grid.pairs
            and ids.seed in grid.seeds
            and ids.method in methods
            and ids.metric in metrics
        ):
            place = (
                grid.pairs.index(pair),
                grid.seeds.index(ids.seed),
                methods.index(ids.method),
                metrics.index(ids.metric),
            )
            in_grid.append((place, row))
    return [row for _, row in sorted(in_grid, key=itemgetter(0))]
