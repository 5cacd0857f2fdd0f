"""The jobs of an experiment, counted from its grid, and how many examples each works on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

from exparity.artefacts import layout
from exparity.artefacts.ids import Ids
from exparity.artefacts.seal import open_sealed
from exparity.config.experiment import Experiment
from exparity.config.instances import Instance
from exparity.core.errors import InputError
from exparity.core.validation import defaults_of
from exparity.costs.finished import JobCost, artefact_of_stage, read_footer, runs_model
from exparity.data import load_dataset
from exparity.data.facts import DatasetFacts
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.types import Example

N_OTHER_JOBS = 3
"""Jobs that Snakemake counts beside those of the stages: its rules cost, report and all."""
_COLUMNS = ("example_id", "match_id", "group", "split")


def n_jobs(experiment: Experiment) -> int:
    """Count the jobs of an experiment as a dry run of Snakemake does, when nothing is finished."""
    artefacts = artefact_of_stage().values()
    n_cells = sum(len(list(layout.cells(experiment.grid, artefact))) for artefact in artefacts)
    return n_cells + N_OTHER_JOBS


def planned_jobs(experiment: Experiment, examples: PlannedExamples) -> Iterator[JobCost]:
    """Yield the jobs of an experiment, finished or not, each with the number of its examples."""
    results = Path(experiment.results)
    grid = experiment.grid
    for stage, artefact in artefact_of_stage().items():
        for ids in layout.cells(grid, artefact):
            output = layout.path_of(artefact, ids)
            use = experiment.metrics[ids.metric].entry.id if "metric" in ids else ""
            n_examples = _n_examples(experiment, stage, ids, examples)
            is_finished = (results / output).is_file()
            yield JobCost(stage, ids, n_examples, is_finished, output, runs_model(stage, use))


def _n_examples(
    experiment: Experiment, stage: str, ids: Ids, examples: PlannedExamples
) -> int | None:
    """Return what a job works on: the examples of its cell, as far as they are not sampled."""
    if not ids:
        return None
    dataset = ids.dataset
    if len(ids) == 1:
        return len(examples.all(dataset))
    if stage == "finetune":
        n_train = len(examples.all(dataset)) - len(examples.test(dataset))  # validation included
        return experiment.training_of(ids).epochs * n_train
    options = experiment.options(stage, ids)
    sizes = [options.get("max_examples")]
    if "method" in ids and "metric" in ids:
        explained = ids.without("metric")
        sizes.insert(0, experiment.explain_options(**explained).get("max_examples"))
    return len(examples.test(dataset, *sizes)) * int(options.get("draws") or 1)


class PlannedExamples:
    """Examples of an experiment's datasets, from artefacts or raw files at hand."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._source = DataSource(Path(experiment.config.data_dir), download=False)
        self.all = cache(self._load)
        self.test = cache(self._draw)

    def _draw(self, dataset: str, *sizes: int | None) -> list[Example]:
        """Return the test examples, or a sample of them, or a sample of that."""
        if sizes:
            return sample(self.test(dataset, *sizes[:-1]), sizes[-1])
        return [e for e in self.all(dataset) if e.split == "test"]

    def with_texts(self, dataset: str) -> list[Example]:
        """Return the examples of a dataset as its raw files have them."""
        settings = self._experiment.prepare_options(dataset)
        return load_dataset(settings["use"], self._source, settings["params"])

    def _load(self, dataset: str) -> list[Example]:
        """Return all examples of a dataset; the texts may be missing."""
        path = Path(self._experiment.results, layout.path_of("data", {"dataset": dataset}))
        settings = self._experiment.prepare_options(dataset)
        try:
            prepared = read_footer(path).parameters
        except InputError:
            prepared = {}
        if prepared == {"use": settings["use"], **settings["params"]}:
            with open_sealed(path) as file:
                rows = file.read(columns=list(_COLUMNS)).to_pylist()
            return [Example(words=("",), label=0, **row) for row in rows]
        if made_up := list(_made_up(self._experiment.datasets[dataset], self._source.folder)):
            return made_up
        return self.with_texts(dataset)


def _made_up(instance: Instance[DatasetFacts], folder: Path) -> Iterator[Example]:
    """Yield as many examples as a dataset has whose files are not here, if that is known."""
    facts: DatasetFacts = instance.entry.facts
    here = all((folder / file.path).is_file() for file in facts.files)
    defaults = defaults_of(instance.options)
    if here or not facts.sizes or not instance.params.items() <= defaults.items():
        return
    groups = facts.groups or ("",)
    splits: tuple[Literal["train", "test"], ...] = ("train", "test")
    for split, size in zip(splits, facts.sizes, strict=True):
        for i in range(size):
            name, which = divmod(i, len(groups))
            match_id = f"{split}-{name}" if facts.matched else None
            yield Example(f"{split}-{i}", ("",), 0, groups[which], split, match_id)
