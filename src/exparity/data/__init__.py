"""Datasets: the registry, and the checks of every dataset.

A dataset is a function from a :class:`~exparity.data.files.DataSource` and its options to a list of
:class:`~exparity.types.Example`, registered with :func:`dataset` in a module of its own. Where
options decide on attribute, groups or labels, it returns a :class:`~exparity.data.facts.Loaded`.
Files and options that do not fit it are refused with an :class:`~exparity.core.errors.InputError`.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from exparity.core.errors import InputError, name_list
from exparity.core.registry import Registry
from exparity.core.validation import complete
from exparity.data.facts import DatasetFacts, Loaded
from exparity.data.files import DataSource
from exparity.types import Example

DATASETS: Registry[DatasetFacts] = Registry("dataset", "exparity.data", DatasetFacts)

MAX_CLASSES = 1_000
"""The bias of a classifier has rates of every class, and more are rather a number to predict."""

MAX_GROUPS = 50
"""Every two groups are compared on every score, which takes 3 ms or more: here 4 s a test."""


def dataset(dataset_id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a dataset under an id with its :class:`~exparity.data.facts.DatasetFacts`."""
    return DATASETS.register(dataset_id, **facts)


def load_dataset(
    dataset_id: str, source: DataSource, options: Mapping[str, object] | None = None
) -> list[Example]:
    """Load a dataset, check it, and return its examples, sorted by split and example id."""
    return load_with_facts(dataset_id, source, options)[0]


def load_with_facts(
    dataset_id: str,
    source: DataSource,
    options: Mapping[str, object] | None = None,
    *,
    name: str | None = None,
) -> tuple[list[Example], DatasetFacts]:
    """Load a dataset like :func:`load_dataset`; also return its facts under these options.

    Errors call the dataset by its ``name``, or by its id if None.
    """
    entry = DATASETS.get(dataset_id)
    name = name or dataset_id
    loaded = entry.function(source, **complete(entry.options, options or {}, f"dataset {name}"))
    facts = entry.facts
    examples = loaded
    if isinstance(loaded, Loaded):
        changes = {key: value for key, value in vars(loaded).items() if key != "examples"}
        facts = replace(facts, **changes)
        examples = loaded.examples
        if loaded.groups and not entry.facts.has_groups(options or {}):
            raise InputError(
                f"dataset {name}: it has the groups {', '.join(loaded.groups)}, and its facts say "
                "that it has none; name the option that they come from, group_option"
            )
    check_examples(name, examples, facts)
    return sorted(examples, key=lambda e: (e.split, e.example_id)), facts


def dropped_rows(dropped: Mapping[str, int]) -> str:
    """Return how many rows of a table are left out, and why."""
    n = sum(dropped.values())
    counts = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items())
    return f"{n:,} row{'s are' if n != 1 else ' is'} left out: {counts}"


def check_examples(dataset_name: str, examples: Sequence[Example], facts: DatasetFacts) -> None:
    """Check examples against the facts of their dataset."""
    _check_facts(dataset_name, facts)
    twice = [key for key, n in Counter(e.example_id for e in examples).items() if n > 1]
    if twice:
        raise InputError(f"dataset {dataset_name}: example id '{twice[0]}' occurs more than once")
    split_of: dict[str, str] = {}
    for example in examples:
        where = f"dataset {dataset_name}, example '{example.example_id}'"
        for name, words in (("text", example.words), ("second text", example.words_b)):
            if words is not None and not any(map(str.strip, words)):
                raise InputError(f"{where}: the {name} is empty; remove the row")
        if example.group not in (facts.groups or [""]):
            group_list = name_list(facts.groups) or "none"
            raise InputError(f"{where}: group '{example.group}' is not one of {group_list}")
        if not 0 <= example.label < len(facts.labels):
            raise InputError(f"{where}: label {example.label} is not in 0..{len(facts.labels) - 1}")
        marks = example.rationale
        n_words = len(example.all_words)
        if marks is not None and len(marks) != n_words:
            raise InputError(f"{where}: {len(marks)} rationale marks for {n_words} words")
        set_id = example.match_id
        if set_id is not None and split_of.setdefault(set_id, example.split) != example.split:
            raise InputError(
                f"{where}: its matched set '{set_id}' is in both splits; keep it in one"
            )
    counts = Counter((e.split, e.group) for e in examples)
    for group in facts.groups:
        if not counts["test", group]:
            raise InputError(
                f"dataset {dataset_name}: group '{group}' has no test example, so "
                "groups cannot be compared"
            )


def _check_facts(dataset_name: str, facts: DatasetFacts) -> None:
    for kind, values in (("group", facts.groups), ("class", facts.labels)):
        if len(set(values)) < len(values):
            raise InputError(
                f"dataset {dataset_name}: a {kind} is named twice in {', '.join(values)}"
            )
        if len(values) == 1:
            raise InputError(
                f"dataset {dataset_name}: the only {kind} is '{values[0]}'; it takes two"
            )
        first_of: dict[str, str] = {}
        for name in values:
            shown = "".join(sign for sign in name if unicodedata.category(sign) != "Cf")
            first = first_of.setdefault(unicodedata.normalize("NFKC", shown), name)
            if first != name:
                raise InputError(
                    f"dataset {dataset_name}: '{first}' and '{name}' look the same, and are not: "
                    f"{first!a} and {name!a}; write them alike if they are one {kind}, or "
                    "rename one"
                )
    n = len(facts.groups)
    if n > MAX_GROUPS:
        pairs = n * (n - 1) // 2
        raise InputError(
            f"dataset {dataset_name}: {n} groups, of at most {MAX_GROUPS}: {pairs:,} comparisons "
            f"of every score, {pairs * 3 // 1000:,} s or more for each test; merge groups, or "
            "leave rows out"
        )
    if len(facts.labels) > MAX_CLASSES:
        raise InputError(
            f"dataset {dataset_name}: {len(facts.labels):,} classes, of at most {MAX_CLASSES:,}; "
            "is the label a number to predict?"
        )
