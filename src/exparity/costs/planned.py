"""The jobs of an experiment, those of Snakemake's DAG, and how many examples each works on."""

from __future__ import annotations

import gc
import json
import logging
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from exparity.artefacts.layout import path_of
from exparity.artefacts.schemas import IDS
from exparity.artefacts.seal import open_sealed
from exparity.core.errors import InputError
from exparity.costs.finished import JobCost, read_footer
from exparity.costs.kinds import Ids, ids_of, kind_of
from exparity.data import load_dataset, load_with_facts
from exparity.data.facts import DatasetFacts
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.types import Example

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment
    from exparity.config.instances import Instance

# What gathers what the others took is no part of what an experiment takes.
_ACCOUNTS = "cost"
_COLUMNS = ("example_id", "match_id", "group", "split")
_READ_AT_START = 1 << 25
"""Bytes of the files of a dataset that is read whenever a run begins; larger ones take seconds."""


@dataclass(frozen=True)
class DagJob:
    """A job of Snakemake's DAG.

    Attributes:
        stage: its rule.
        ids: its wildcards, of those that name a cell.
        options: what the workflow hands it, as JSON.
        finished: whether Snakemake would leave it out.
    """

    stage: str
    ids: Ids = ()
    options: str = "{}"
    finished: bool = False

    @cached_property
    def parameters(self) -> Any:
        """Its options as the metadata of its artefact will have them."""
        own = json.loads(self.options)
        own.pop("digest", None)
        if self.stage == "prepare":
            return {**own.pop("params"), "use": own["use"]}
        return own


def dag_jobs(
    snakefile: Path, *configfiles: Path, config: Mapping[str, Any] | None = None
) -> list[DagJob]:
    """Return the jobs that Snakemake has for a config, finished or not, rule by rule."""
    from snakemake.api import SnakemakeApi
    from snakemake.exceptions import RuleException, WorkflowError
    from snakemake.settings.enums import Quietness
    from snakemake.settings.types import (
        ConfigSettings,
        ExecutionSettings,
        OutputSettings,
        ResourceSettings,
    )

    # So quiet, a dry run ends with its DAG, before it goes through all jobs.
    quiet = OutputSettings(quiet={Quietness.RULES, Quietness.PROGRESS})
    try:
        with _as_it_was(), SnakemakeApi(quiet) as api:
            workflow = api.workflow(
                resource_settings=ResourceSettings(cores=1),
                config_settings=ConfigSettings(
                    config=dict(config or {}), configfiles=[path.absolute() for path in configfiles]
                ),
                snakefile=snakefile,
            )
            workflow.dag().execute_workflow(
                "dryrun", execution_settings=ExecutionSettings(lock=False, ignore_incomplete=True)
            )
            made = workflow._workflow  # the API names no other way to it
            order = {rule.name: place for place, rule in enumerate(made.rules)}
            jobs = [job for job in made.dag.jobs if job.output and job.rule.name != _ACCOUNTS]
            read = [_read(job, made.dag.needrun(job)) for job in jobs]
            return sorted(read, key=lambda job: order[job.stage])
    except (RuleException, WorkflowError) as error:
        raise InputError(f"{configfiles[-1]}: {' '.join(str(error).split())}") from None


def _read(job: Any, needed: bool) -> DagJob:
    wildcards = job.wildcards_dict
    return DagJob(
        stage=job.rule.name,
        ids=tuple(wildcards[name] for name in IDS if name in wildcards),
        options=job.params.get("options", "{}"),
        finished=not needed,
    )


@contextmanager
def _as_it_was() -> Iterator[None]:
    """Undo what the workflow sets for a process that is to run it, and keep its news to itself."""
    environment, thresholds = dict(os.environ), gc.get_threshold()
    disabled = logging.root.manager.disable
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        gc.set_threshold(*thresholds)
        logging.disable(disabled)


def planned_jobs(jobs: list[DagJob], counts: ExampleCounts) -> Iterator[JobCost]:
    """Yield the jobs of a DAG with the kind of each and the number of its examples."""
    cells = {(job.stage, job.ids): job.parameters for job in jobs}
    scored = sum(job.stage == "evaluate" for job in jobs)
    for job in jobs:
        examples = _examples(job, cells, counts) if job.ids else scored
        kind = kind_of(job.stage, job.ids, job.parameters, lambda *cell: cells.get(cell))
        yield JobCost(kind, examples, job.finished)


def _examples(job: DagJob, cells: Mapping[tuple[str, Ids], Any], counts: ExampleCounts) -> int:
    """Return what a job works on: the examples of its cell, as far as they are not sampled."""
    dataset = job.ids[0]
    if len(job.ids) == 1:
        return counts.total(dataset)
    if job.stage == "finetune":
        return int(job.parameters["training"]["epochs"]) * counts.train(dataset)
    before = [("explain", job.ids[:4]), ("evaluate", job.ids[:5])][: max(0, len(job.ids) - 3)]
    sampled = [cells[key] for key in before if "method" in ids_of(job.stage)] or [job.parameters]
    examples = counts.test(dataset, *(parameters.get("max_examples") for parameters in sampled))
    return examples * int(job.parameters.get("draws", 1))


class ExampleCounts:
    """Sizes of the datasets of an experiment, and of the samples of their test splits.

    They are read from the data artefacts where those are up to date, and else from the datasets
    themselves, or from what is published of them. Nothing is downloaded.
    """

    def __init__(self, experiment: Experiment, data_dir: Path | None = None) -> None:
        self._experiment = experiment
        self._source = DataSource(Path(data_dir or experiment.config["data_dir"]), download=False)
        self._examples = cache(self._load)
        self._sample = cache(self._draw)

    def total(self, dataset: str) -> int:
        """Return the number of examples of a dataset."""
        return len(self._examples(dataset))

    def train(self, dataset: str) -> int:
        """Return the number of training examples, with those held out for validation."""
        return self.total(dataset) - self.test(dataset)

    def test(self, dataset: str, *sizes: int | None) -> int:
        """Return the number of test examples, or of a sample of them, or of a sample of that."""
        return len(self._sample(dataset, *sizes))

    def examples(self, dataset: str, *sizes: int | None) -> list[Example]:
        """Return the test examples that :meth:`test` counts, without their texts."""
        return list(self._sample(dataset, *sizes))

    def _draw(self, dataset: str, *sizes: int | None) -> list[Example]:
        if sizes:
            return sample(self._sample(dataset, *sizes[:-1]), sizes[-1])
        return [e for e in self._examples(dataset) if e.split == "test"]

    def _load(self, dataset: str) -> list[Example]:
        path = Path(self._experiment.results, path_of("data", {"dataset": dataset}))
        settings = json.loads(self._experiment.prepare_options(dataset))
        try:
            prepared = read_footer(path)["parameters"]
        except InputError:
            prepared = None
        if prepared == {"use": settings["use"], **settings["params"]}:
            with open_sealed(path) as file:
                rows = file.read(columns=list(_COLUMNS)).to_pylist()
            return [Example(words=("",), label=0, **row) for row in rows]
        if made_up := list(_made_up(self._experiment.datasets[dataset], self._source.folder)):
            return made_up
        return load_dataset(settings["use"], self._source, settings["params"])


def check_data(experiment: Experiment) -> None:
    """Load small datasets that are at hand and not prepared, so that no job fails of their data.

    Raises:
        InputError: names the dataset, and the file, row or option that is wrong.
    """
    source = DataSource(Path(experiment.config["data_dir"]), download=False)
    for dataset, instance in experiment.datasets.items():
        own = map(Path, experiment.own_inputs("prepare", {"dataset": dataset}))
        files = [*own, *(source.folder / file.path for file in instance.entry.facts.files)]
        prepared = Path(experiment.results, path_of("data", {"dataset": dataset}))
        if prepared.is_file() or not all(file.is_file() for file in files):
            continue
        if instance.entry.facts.from_hub and not files:
            continue
        if sum(file.stat().st_size for file in files) <= _READ_AT_START:
            examples, _ = load_with_facts(instance.entry.id, source, instance.params, name=dataset)
            if not any(example.split == "train" for example in examples):
                _require_untrained(experiment, dataset)


def _require_untrained(experiment: Experiment, dataset: str) -> None:
    """Check that no model is trained on a dataset without training examples."""
    for of, model in experiment.pairs:
        options = json.loads(experiment.finetune_options(of, model, experiment.seeds[0]))
        if of == dataset and options["training"]["epochs"]:
            raise InputError(
                f"dataset {dataset}: has no training example, and models.{model} is trained on it; "
                "leave some in the training split (of a table: `test_share`), or set `epochs: 0`"
            )


def check_data_or_exit(experiment: Experiment) -> None:
    """Check the data of a run that begins; on an error, say so and exit with 2."""
    try:
        with without_news_of_data():
            check_data(experiment)
    except InputError as error:
        print(f"exparity: {error}", file=sys.stderr)
        raise SystemExit(error.exit_code) from None


@contextmanager
def without_news_of_data() -> Iterator[None]:
    """Leave it to the job that prepares data to say what is odd in them."""
    logger = logging.getLogger("exparity.data")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def _made_up(instance: Instance, folder: Path) -> Iterator[Example]:
    """Yield as many examples as a dataset has whose files are not here, if that is known."""
    facts: DatasetFacts = instance.entry.facts
    here = all((folder / file.path).is_file() for file in facts.files)
    defaults = {name: option.default for name, option in instance.options.items()}
    if here or not facts.sizes or not instance.params.items() <= defaults.items():
        return
    groups = facts.groups or ("",)
    number = len(groups)
    splits: tuple[Literal["train", "test"], ...] = ("train", "test")
    for split, size in zip(splits, facts.sizes, strict=True):
        for i in range(size):
            group, name = groups[i % number], f"{split}-{i // number}"
            yield Example(f"{split}-{i}", ("",), 0, group, split, name if facts.matched else None)
