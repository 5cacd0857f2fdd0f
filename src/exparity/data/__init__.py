"""Datasets: the registry, and what every dataset must fulfil.

A dataset is a function from a :class:`~exparity.data.files.DataSource` and its options to a list of
:class:`~exparity.interface.Example`, registered with :func:`dataset` in a module of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from exparity.data.files import DataSource
from exparity.errors import InputError
from exparity.interface import DatasetFacts, Example
from exparity.parameters import complete
from exparity.registry import Registry

DATASETS: Registry[DatasetFacts] = Registry("dataset", "exparity.data", DatasetFacts)


def dataset(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a dataset under ``id`` with its :class:`~exparity.interface.DatasetFacts`."""
    return DATASETS.register(id, **facts)


def load_dataset(
    id: str, source: DataSource, options: Mapping[str, Any] | None = None
) -> list[Example]:
    """Load a dataset and check it.

    Args:
        id: registered id.
        source: where raw files lie or go.
        options: the dataset's options.

    Returns:
        Its examples, sorted by split and example id.

    Raises:
        InputError: unknown id or option, a missing, altered or malformed file, or an example that
            breaks the dataset's own facts.
    """
    entry = DATASETS.get(id)
    examples = entry.function(source, **complete(entry.options, options or {}, f"dataset {id}"))
    check_examples(id, examples, entry.facts)
    return sorted(examples, key=lambda e: (e.split, e.example_id))


def check_examples(id: str, examples: list[Example], facts: DatasetFacts) -> None:
    """Check examples against the facts of their dataset.

    Raises:
        InputError: names the dataset, the example and what is wrong with it.
    """
    twice = [key for key, n in Counter(e.example_id for e in examples).items() if n > 1]
    if twice:
        raise InputError(f"dataset {id}: example id '{twice[0]}' occurs more than once")
    for example in examples:
        where = f"dataset {id}, example '{example.example_id}'"
        if not any(word.strip() for word in example.words):
            raise InputError(f"{where}: the text is empty; remove the row")
        if example.group not in facts.groups:
            raise InputError(
                f"{where}: group '{example.group}' is not one of {', '.join(facts.groups)}"
            )
        if not 0 <= example.label < len(facts.labels):
            raise InputError(f"{where}: label {example.label} is not in 0..{len(facts.labels) - 1}")
        if example.rationale is not None and len(example.rationale) != len(example.words):
            raise InputError(
                f"{where}: {len(example.rationale)} rationale marks for {len(example.words)} words"
            )
    counts = Counter((e.split, e.group) for e in examples)
    for group in facts.groups:
        if not counts["test", group]:
            raise InputError(
                f"dataset {id}: group '{group}' has no test example, so groups cannot be compared"
            )
    if not any(split == "train" for split, _ in counts):
        raise InputError(f"dataset {id}: there is no training example")
