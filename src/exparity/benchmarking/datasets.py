"""Texts of a registered dataset, named with ``use`` and options as in a config."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from exparity.core.errors import InputError, shown
from exparity.data import load_with_facts
from exparity.data.files import DataSource
from exparity.data.table import sample
from exparity.types import Example, Parts


@dataclass(frozen=True)
class DatasetTexts:
    """The texts of a dataset.

    Attributes:
        test: the test texts that are explained.
        training: those that a classifier is trained on.
        classes: names of the classes, by label.
    """

    test: Sequence[Example]
    training: Sequence[Example]
    classes: Sequence[str]

    @property
    def parts(self) -> list[Parts]:
        """The test texts."""
        return [example.parts for example in self.test]

    @property
    def rationales(self) -> list[Sequence[int] | None] | None:
        """Marks of the words of each test text; None where no text has any."""
        marks = [example.rationale for example in self.test]
        return [*marks] if any(mark is not None for mark in marks) else None

    def training_for(self, classes: Sequence[str]) -> tuple[list[Parts], list[int]] | None:
        """Return training texts and class indices; None for a classifier of other classes."""
        if not self.training or sorted(classes) != sorted(self.classes):
            return None
        labels = [classes.index(self.classes[example.label]) for example in self.training]
        return [example.parts for example in self.training], labels


def load_texts(
    written: Mapping[str, object], max_examples: int | None, data_dir: str | Path
) -> DatasetTexts:
    """Load a dataset that is written as in a config.

    Args:
        written: ``use``, the registered id, and options of the dataset.
        max_examples: largest number of test texts; a run takes the same sample.
        data_dir: folder of raw files; what is missing is downloaded to it.

    Raises:
        InputError: no dataset is named, an option is unknown, or there are no test texts.
    """
    registered = written.get("use")
    if not isinstance(registered, str):
        raise InputError(
            f"texts: {shown(written)} names no dataset; add its id, such as 'use': 'pairs_all'"
        )
    options = {name: value for name, value in written.items() if name != "use"}
    examples, facts = load_with_facts(registered, DataSource(data_dir), options)
    test = [example for example in examples if example.split == "test"]
    if not test:
        raise InputError(f"texts: dataset {registered} has no test texts with these options")
    training = [example for example in examples if example.split == "train"]
    return DatasetTexts(sample(test, max_examples), training, facts.labels)
