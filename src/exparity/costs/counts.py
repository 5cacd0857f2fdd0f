"""How many examples the jobs of an experiment work on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from exparity.artefacts.layout import path_of
from exparity.artefacts.seal import open_sealed
from exparity.core.errors import InputError
from exparity.costs.finished import read_footer
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.interface import DatasetFacts, Example

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment
    from exparity.config.instances import Instance

_COLUMNS = ("example_id", "match_id", "group", "split")


class ExampleCounts:
    """Sizes of the datasets of an experiment, and of the samples of their test splits.

    They are read from the data artefacts where those are up to date, and else from the datasets
    themselves. Nothing is downloaded.

    Args:
        experiment: the experiment.
        data_dir: folder of raw files; that of the config if None.
        published_sizes: whether a dataset whose raw files are not here has the sizes that its facts
            say; it is an error else.
    """

    def __init__(
        self,
        experiment: Experiment,
        data_dir: Path | None = None,
        *,
        published_sizes: bool = True,
    ) -> None:
        self._experiment = experiment
        self._published_sizes = published_sizes
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

    def largest_set(self) -> int:
        """Return the size of the largest matched set of all test splits; 1 if there are none."""
        sizes = [1]
        for dataset in self._experiment.datasets:
            sizes += Counter(e.match_id or e.example_id for e in self._sample(dataset)).values()
        return max(sizes)

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
        if self._published_sizes:
            made_up = list(_made_up(self._experiment.datasets[dataset], self._source.folder))
            if made_up:
                return made_up
        return load_dataset(settings["use"], self._source, settings["params"])


def _made_up(instance: Instance, folder: Path) -> Iterator[Example]:
    """Yield as many examples as a dataset has whose files are not here, if that is known."""
    facts: DatasetFacts = instance.entry.facts
    here = all((folder / file.path).is_file() for file in facts.files)
    defaults = {name: option.default for name, option in instance.options.items()}
    if here or not facts.sizes or not instance.params.items() <= defaults.items():
        return
    number = len(facts.groups)
    splits: tuple[Literal["train", "test"], ...] = ("train", "test")
    for split, size in zip(splits, facts.sizes, strict=True):
        for i in range(size):
            group, name = facts.groups[i % number], f"{split}-{i // number}"
            yield Example(f"{split}-{i}", ("",), 0, group, split, name if facts.matched else None)
