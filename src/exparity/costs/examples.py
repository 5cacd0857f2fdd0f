"""How many examples the jobs of an experiment work on."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from exparity.artefacts.seal import open_sealed
from exparity.core.errors import InputError
from exparity.costs.footers import read_footer
from exparity.costs.kinds import dataset_text
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.interface import Example

if TYPE_CHECKING:
    from exparity.config import Experiment

_COLUMNS = ("example_id", "match_id", "group", "split")


class ExampleCounts:
    """Sizes of the datasets of an experiment, and of the samples of their test splits.

    They are read from the data artefacts where those are up to date, and else from the datasets
    themselves; nothing is downloaded.

    Args:
        experiment: the experiment.
        data_dir: folder of raw files; that of the config if None.
    """

    def __init__(self, experiment: Experiment, data_dir: Path | None = None) -> None:
        self._experiment = experiment
        self._source = DataSource(Path(data_dir or experiment.config["data_dir"]), download=False)
        self._examples = cache(self._load)
        self.explained = cache(self._explained)
        self.scored = cache(self._scored)

    def total(self, dataset: str) -> int:
        """Return the number of examples of a dataset."""
        return len(self._examples(dataset))

    def train(self, dataset: str) -> int:
        """Return the number of training examples, with those held out for validation."""
        return sum(example.split == "train" for example in self._examples(dataset))

    def test(self, dataset: str) -> int:
        """Return the number of test examples."""
        return self.explained(dataset, None)

    def largest_set(self) -> int:
        """Return the size of the largest matched set of all test splits; 1 if there are none."""
        sizes = [1]
        for dataset in self._experiment.datasets:
            test = (e for e in self._examples(dataset) if e.split == "test")
            sizes += Counter((dataset, e.match_id) for e in test if e.match_id).values()
        return max(sizes)

    def _explained(self, dataset: str, size: int | None) -> int:
        """Return how many test examples a sample of a size has."""
        return len(self._sample(dataset, size))

    def _scored(self, dataset: str, explained: int | None, size: int | None) -> int:
        """Return how many a metric's sample of a method's sample has."""
        return len(sample(self._sample(dataset, explained), size))

    def _sample(self, dataset: str, size: int | None) -> list[Example]:
        return sample([e for e in self._examples(dataset) if e.split == "test"], size)

    def _load(self, dataset: str) -> list[Example]:
        path = Path(self._experiment.results, "data", f"{dataset}.parquet")
        wanted = json.loads(self._experiment.prepare_options(dataset))
        try:
            found = dataset_text(read_footer(path).parameters)
        except InputError:
            found = ""
        if found == prepared_from(self._experiment, dataset):
            with open_sealed(path) as file:
                rows = file.read(columns=list(_COLUMNS)).to_pylist()
            return [Example(words=("",), label=0, **row) for row in rows]
        return load_dataset(wanted["use"], self._source, wanted["params"])


def prepared_from(experiment: Experiment, dataset: str) -> str:
    """Return what a dataset is made from, as :func:`~exparity.costs.kinds.dataset_text` has it."""
    options = json.loads(experiment.prepare_options(dataset))
    return dataset_text(json.dumps({"use": options["use"], **options["params"]}))
