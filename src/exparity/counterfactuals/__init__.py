"""Counterfactual generators: the registry, and what every counterfactual must fulfil.

A generator is a function from an :class:`~exparity.interface.Example`, the group to turn it into,
the dataset and its options to the example as it would be with that group, or to None where there is
no such example. It is registered with :func:`counterfactual` in a module of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exparity.core.errors import ExparityError, InputError
from exparity.core.options import complete
from exparity.core.registry import Registry
from exparity.data.table import PreparedData
from exparity.interface import CounterfactualFacts, Example

GENERATORS: Registry[CounterfactualFacts] = Registry(
    "counterfactual generator", "exparity.counterfactuals", CounterfactualFacts
)


def counterfactual(id: str, **facts: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a generator under ``id`` with its :class:`~exparity.interface.CounterfactualFacts`.

    What it returns has the group that was asked for, and the example's id and label:
    ``dataclasses.replace(example, words=..., group=group)``.
    """
    return GENERATORS.register(id, **facts)


def counterfactuals_of(
    data: PreparedData, use: str, params: Mapping[str, Any]
) -> Callable[[Example], tuple[Example, ...]]:
    """Return what makes an example's counterfactuals, one for each other group that has one.

    Args:
        data: the dataset.
        use: registered id.
        params: the generator's options.

    Raises:
        InputError: an unknown generator or option, or the generator does not know a group.
    """
    entry = GENERATORS.get(use)
    where = f"counterfactuals.{data.dataset}"
    options = complete(entry.options, params, where)
    check_groups(use, data.groups, where)

    def make(example: Example) -> tuple[Example, ...]:
        made = []
        for group in data.groups:
            if group == example.group:
                continue
            with entry.running():
                other = entry.function(example, group, data, **options)
            if other is not None:
                _check(use, example, group, other)
                made.append(other)
        return tuple(made)

    return make


def check_groups(use: str, groups: tuple[str, ...], where: str) -> None:
    """Check that a generator can make every group of a dataset.

    Raises:
        InputError: names ``where`` the generator is asked for, and the group.
    """
    known = GENERATORS.get(use).facts.groups
    for group in groups if known else ():
        if group not in known:
            raise InputError(
                f"{where}: '{use}' makes the groups {', '.join(known)}, and not '{group}'; choose "
                "another generator"
            )


def _check(use: str, example: Example, group: str, made: Any) -> None:
    wanted = (example.example_id, example.label, group)
    if not isinstance(made, Example) or (made.example_id, made.label, made.group) != wanted:
        raise ExparityError(
            f"counterfactual generator {use}: must return the example with its id and label, other "
            "words and the group that was asked for, or None"
        )
    if not any(word.strip() for word in made.words):
        raise ExparityError(
            f"counterfactual generator {use}: leaves no word of '{example.example_id}'"
        )
