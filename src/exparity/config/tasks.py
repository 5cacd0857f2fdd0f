"""The jobs of an experiment, as Snakemake plans them: what each reads and makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

from exparity.artefacts import layout
from exparity.config.experiment import Experiment
from exparity.config.resolved import Options

_LAST = ("cost", "report")


class Task(NamedTuple):
    """A job, told apart by what it reads: the results that it ``makes`` carry a key of that."""

    rule: str
    ids: Mapping[str, Any]  # its wildcards
    options: Callable[[], Options]
    reads: Sequence[str]
    makes: Sequence[str]
    beside: Sequence[str]  # what it makes without a key
    results: str  # the folder of all results

    @property
    def benchmark(self) -> str:
        """File in which Snakemake keeps what it measures of the job."""
        return f"{self.results}/{layout.benchmark_of(self.rule, map(str, self.ids.values()))}"


@lru_cache(maxsize=1)
def tasks(experiment: Experiment) -> list[Task]:
    """Return all jobs, each after those that it needs."""
    return [*_tasks(experiment)]


def last_results(experiment: Experiment) -> list[str]:
    """Return what the report is made from and no other job reads."""
    read = {path for task in tasks(experiment) if task.rule not in _LAST for path in task.reads}
    return [path for path in experiment.report_inputs() if path not in read]


def _tasks(experiment: Experiment) -> Iterator[Task]:
    results = experiment.results

    def place(artefacts: Iterable[str], ids: Mapping[str, Any]) -> list[str]:
        return [f"{results}/{layout.path_of(artefact, ids)}" for artefact in artefacts]

    for name, (_, writes) in _makers(experiment):
        for ids in layout.cells(experiment.grid, writes[0]):
            options = partial(experiment.options, name, ids)
            reads = experiment.reads(name, ids)
            yield Task(name, ids, options, reads, place(writes, ids), [], results)
    inputs, costs = experiment.report_inputs(), place(["cost"], {})
    yield Task("cost", {}, experiment.cost_options, inputs, costs, [], results)
    page, *beside = [f"{results}/{path}" for path in layout.REPORT.values()]
    yield Task("report", {}, experiment.report_options, inputs, [page], beside, results)


def _makers(experiment: Experiment) -> list[tuple[str, tuple[Sequence[str], Sequence[str]]]]:
    """Return stages and analyses, each after those it needs, with what they read and make."""
    makers = {**layout.STAGES}
    for entry in experiment.analyses.used:
        makers[entry.id] = entry.facts.reads, entry.facts.artefacts
    made_by = {artefact: name for name, (_, writes) in makers.items() for artefact in writes}
    order = TopologicalSorter(
        {name: [made_by[r] for r in reads if r in made_by] for name, (reads, _) in makers.items()}
    )
    return [(name, makers[name]) for name in order.static_order()]


def runs_model(experiment: Experiment, rule: str, ids: Mapping[str, Any]) -> bool:
    """Return whether a job runs a model."""
    if rule == "evaluate":
        return experiment.runs_model(ids["metric"])
    analyses = [one.id for one in experiment.analyses.used if one.facts.runs_model]
    return rule in ("finetune", "explain", *analyses)
