"""Counterfactual generators: the registry, and the checks of every counterfactual.

A generator is a function from an :class:`~exparity.types.Example`, the group to turn it into,
the dataset and its options to the example as it would be with that group, or to None where there is
no such example. It is registered with :func:`counterfactual` in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations

import numpy as np

from exparity.core.errors import ExparityError, InputError
from exparity.core.registry import Registered, Registry
from exparity.core.validation import complete
from exparity.data.table import PreparedData, refuse_pairs
from exparity.types import BoolArray, Example, Facts


@dataclass(frozen=True, kw_only=True)
class CounterfactualFacts(Facts):
    """Facts of a counterfactual generator, whatever its inputs.

    Attributes:
        groups: those that it can turn examples into; any if empty.
        path_options: its options that name files of the user's own.
        check: receives the options that are set and a dataset's groups; returns why these options
            do not fit them, or None.
    """

    groups: tuple[str, ...] = ()
    path_options: tuple[str, ...] = ()
    check: Callable[[Mapping[str, object], tuple[str, ...]], str | None] | None = None


GENERATORS: Registry[CounterfactualFacts] = Registry(
    "counterfactual generator", "exparity.counterfactuals", CounterfactualFacts
)


def counterfactual(generator_id: str, **facts: object) -> Callable[[Registered], Registered]:
    """Register a generator under ``generator_id`` with its :class:`CounterfactualFacts`.

    It returns an example with the requested group, and with the id and label of the original:
    ``dataclasses.replace(example, words=..., group=group)``. If nothing changes in a text, it
    returns the same words; if there is no counterfactual, it returns None.
    """
    return GENERATORS.register(generator_id, **facts)


def counterfactuals_of(
    data: PreparedData, use: str, params: Mapping[str, object], where: str = ""
) -> Callable[[Example], tuple[Example, ...]]:
    """Return a function that makes an example's counterfactuals, at most one per other group.

    Args:
        data: the dataset.
        use: id of the generator.
        params: its options.
        where: what errors begin with; the dataset's key in the config if empty.
    """
    entry = GENERATORS.get(use)
    where = where or f"counterfactuals.{data.dataset}"
    refuse_pairs(data.examples, where)
    options = complete(entry.options, params, where)
    check_groups(use, options, data.groups, where)
    _check_labels(data)

    def make(example: Example) -> tuple[Example, ...]:
        others = []
        for group in data.groups:
            if group == example.group:
                continue
            with entry.running():
                other = entry.function(example, group, data, **options)
            if other is None:
                continue
            expected = (example.example_id, example.label, group)
            returned = isinstance(other, Example) and (other.example_id, other.label, other.group)
            if returned != expected:
                raise ExparityError(
                    f"counterfactual generator {use}: must return the example with its id and "
                    "label, other words and the group that was asked for, or None"
                )
            others.append(other)
        return tuple(others)

    return make


def changed_words(words: Sequence[str], counterfactual_words: Sequence[str]) -> BoolArray:
    """Mark the words that a counterfactual changes.

    Args:
        words: (w,) the original.
        counterfactual_words: the counterfactual, which may have another number of words.

    Returns:
        (w,) True where the word is replaced or left out. Where words are added alone, nothing of
        the original is marked.
    """
    if len(words) == len(counterfactual_words):
        pairs = zip(words, counterfactual_words, strict=True)
        return np.array([word != other for word, other in pairs], dtype=np.bool_)
    changed = np.ones(len(words), dtype=np.bool_)
    matcher = SequenceMatcher(None, words, counterfactual_words, autojunk=False)
    for block in matcher.get_matching_blocks():
        changed[block.a : block.a + block.size] = False
    return changed


def check_groups(
    use: str, params: Mapping[str, object], groups: tuple[str, ...], where: str
) -> None:
    """Check that a generator can make every group of a dataset."""
    facts = GENERATORS.get(use).facts
    for group in groups if facts.groups else ():
        if group not in facts.groups:
            raise InputError(
                f"{where}: '{use}' makes the groups {', '.join(facts.groups)}, and not '{group}'; "
                "choose another generator"
            )
    if facts.check and (problem := facts.check(params, groups)):
        raise InputError(f"{where}: {problem}")


def label_refusal(dataset: str, evidence: str) -> str:
    """Return the refusal of a dataset whose counterfactuals would not keep their label."""
    return (
        f"counterfactuals.{dataset}: another group is another label in '{dataset}' ({evidence}), "
        "and a counterfactual keeps its label; leave the dataset out of counterfactuals"
    )


def _check_labels(data: PreparedData) -> None:
    """Refuse data whose label changes with the group, in matched sets or in all examples."""
    for match_id, members in data.sets.items():
        for first, second in combinations(members, 2):
            if first.group != second.group and first.label != second.label:
                evidence = f"so the members of set '{match_id}' say"
                raise InputError(label_refusal(data.dataset, evidence))
    labels = {group: {e.label for e in data.examples if e.group == group} for group in data.groups}
    present = [group_labels for group_labels in labels.values() if group_labels]
    have_single_labels = all(len(group_labels) == 1 for group_labels in present)
    if len(present) > 1 and have_single_labels and len(set.union(*present)) > 1:
        raise InputError(label_refusal(data.dataset, "every group has a label of its own"))
