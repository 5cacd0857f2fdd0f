"""The study behind a report: tests and verdicts of a grid, and the facts needed to read them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow.compute import is_in

from exparity.artefacts import layout
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
from exparity.report.reading import read_analysis
from exparity.report.verdicts import is_random, run_of
from exparity.stats.dependence import cramers_v_by_split
from exparity.stats.informative import of_quantity
from exparity.stats.multiplicity import CELL_IDS
from exparity.stats.verdicts import HEADLINE

Ids = tuple[str | int, ...]
"""Ids of a file, in the order of its path: dataset, model, seed, method, metric."""
Row = Mapping[str, Any]
# Rows of a file that are read at once, where few of them are kept.
_ROWS_AT_ONCE = 4096
Verdicts = Mapping[tuple[str, ...], Mapping[str, Row]]


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
    """Rows of the bias artefact on the accuracy of one classifier."""

    whole: Row  # of all test examples
    by_group: Mapping[str, Row]

    @property
    def collapsed(self) -> bool:
        """Whether one class is predicted for every example."""
        return "collapsed" in self.whole["flags"]


@dataclass(frozen=True)
class Study:
    """Everything the report shows."""

    results: Path
    grid: Grid
    bias: Sequence[Row]  # rows of the bias artefacts, with the ids of their cells
    facts: Mapping[str, Declared]  # by dataset
    tests: Sequence[Row] = ()  # rows of the disparity artefact
    judged: Sequence[Row] = ()  # rows of the verdicts artefact

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
        return {d: [m for _, m in of] for d, of in grouped(self.pairs, itemgetter(0)).items()}

    @cached_property
    def accuracies(self) -> Sequence[Accuracy]:
        """Accuracy of every classifier."""
        rows = [row for row in self.bias if row["quantity"] == "accuracy"]
        measured = grouped(rows, itemgetter("dataset", "model", "seed"))
        accuracies = []
        for dataset, model in self.pairs:
            for seed in self.seeds:
                by_name = {row["group"]: row for row in measured[dataset, model, seed]}
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
                columns = (table.column(name).to_pylist() for name in ("label", "group", "split"))
                by_dataset[dataset] = cramers_v_by_split(*columns)
        return by_dataset

    @cached_property
    def rows(self) -> Sequence[Row]:
        """Tests of scores."""
        return of_quantity(self.tests, "score")

    @cached_property
    def verdicts(self) -> Verdicts:
        """Verdicts of cells by dataset, model, method, metric and groups, and then by quantity."""
        return by_cell_and_quantity(row for row in self.judged if not is_random(row))

    @cached_property
    def standing(self) -> Sequence[Row]:
        """The rows of methods that stand, one for each comparison."""
        return [row for row in self.judged if row["stands"] and not is_random(row)]

    @cached_property
    def levels(self) -> Sequence[Row]:
        """Rows of the levels artefacts of its models that there are, of its metrics."""
        rows: list[Row] = []
        for dataset, model in self.pairs:
            path = self.path("levels", dataset=dataset, model=model)
            if path.is_file():
                rows += read_artefact(path, "levels")[0].to_pylist()
        return [row for row in rows if row["metric"] in self.metrics]

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
        return bool(self.rows) and all(row["n_seeds"] < 2 for row in self.judged)

    def metric_facts(self, metric: str) -> MetricFacts:
        """Return the facts of a metric's instance."""
        return METRICS.get(self.metrics[metric]).facts

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

    def by_example(self, artefact: str, **ids: str | int) -> dict[str, Row]:
        """Return the rows of a cell's file by example; none if there is no file."""
        path = self.path(artefact, **ids)
        rows = read_artefact(path, artefact)[0].to_pylist() if path.is_file() else ()
        return {row["example_id"]: row for row in rows}

    def columns(self, artefact: str, *names: str, **ids: str | int) -> pa.Table | None:
        """Return columns of a cell's file; None if there is no file."""
        path = self.path(artefact, **ids)
        if not path.is_file():
            return None
        with open_sealed(path) as file:
            check_schema(path, artefact, file.schema_arrow)
            return file.read(columns=list(names), use_threads=False)

    def rows_of(self, artefact: str, examples: Collection[str], **ids: str | int) -> dict[str, Row]:
        """Return the rows of some examples of a cell's file; none if there is no file."""
        path = self.path(artefact, **ids)
        if not path.is_file():
            return {}
        wanted = pa.array(sorted(examples), pa.string())
        rows: list[Row] = []
        with open_sealed(path) as file:
            check_schema(path, artefact, file.schema_arrow)
            for batch in file.iter_batches(_ROWS_AT_ONCE, use_threads=False):
                rows += batch.filter(is_in(batch["example_id"], wanted)).to_pylist()
        return {row["example_id"]: row for row in rows}

    def display(self, kind: str, id: str) -> str:
        """Return the name of an instance in tables: its implementation's, or its own id."""
        uses: Mapping[str, str] = getattr(self, f"{kind}s")
        names = {instance: display_name(kind, use, instance) for instance, use in uses.items()}
        # Instances of one implementation would look the same, as would two plug-ins of one name.
        others = [*(name for i, name in names.items() if i != id), *(names.keys() - {id})]
        return id if names[id] in others else names[id]

    def name(self, kind: str, id: str) -> str:
        """Return the name of an instance in figures, with an arrow towards better values."""
        if kind == "model":
            return visible(id)
        own = visible(self.display(kind, id))
        return f"{own} {self.arrow(id)}" if kind == "metric" else own


def gather(results: Path, grid: Grid) -> Study:
    """Read the artefacts of a grid."""
    bias = [row for row in read_analysis(results, grid, "bias") if row["seed"] in grid.seeds]
    tests = read_tables(layout.paths_of(results, grid, "disparity"), "disparity").to_pylist()
    return Study(
        results=results,
        grid=grid,
        bias=bias,
        facts={
            row["dataset"]: Declared(row["attribute"], row["groups"], row["labels"]) for row in bias
        },
        tests=_in_order(tests, grid),
        judged=_in_order(read_analysis(results, grid, "judge"), grid),
    )


def _in_order(rows: Sequence[Row], grid: Grid) -> list[Row]:
    """Return the rows of a grid in the order of the config."""
    in_grid = []
    methods = ["", *grid.methods]
    metrics = ["", *grid.metrics]
    for row in rows:
        place: Sequence[tuple[Any, Sequence[Any]]] = (
            ((row["dataset"], row["model"]), grid.pairs),
            (row.get("seed", grid.seeds[0]), grid.seeds),
            ("" if is_random(row) else row["method"], methods),
            (row["metric"], metrics),
        )
        if all(id in ids for id, ids in place):
            in_grid.append(([ids.index(id) for id, ids in place], row))
    return [row for _, row in sorted(in_grid, key=itemgetter(0))]


def by_cell_and_quantity(rows: Iterable[Row]) -> Verdicts:
    """Return rows of the verdicts artefact by cell and quantity; see :attr:`Study.verdicts`."""
    cells = grouped(rows, itemgetter(*CELL_IDS))
    return {ids: {row["quantity"]: row for row in of_cell} for ids, of_cell in cells.items()}
