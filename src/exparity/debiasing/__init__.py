"""Training-time interventions: the registry, and :func:`apply`, which runs them in order.

An intervention is a function from a :class:`~exparity.data.training_set.TrainingSet` and its
options to another one, registered with :func:`intervention` in a module of its own. It is applied
after the held-out share is split off and before a tokenizer is trained.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from exparity.core.errors import ExparityError, InputError
from exparity.core.registry import Registered, Registry
from exparity.core.validation import complete
from exparity.data.training_set import MADE_BY, TrainingSet
from exparity.types import Example, Facts


@dataclass(frozen=True, kw_only=True)
class InterventionFacts(Facts):
    """Facts of a training-time intervention, whatever its inputs.

    Attributes:
        needs_counterfactuals: True if it asks for counterfactuals of examples.
    """

    needs_counterfactuals: bool


INTERVENTIONS: Registry[InterventionFacts] = Registry(
    "intervention", "exparity.debiasing", InterventionFacts
)


def intervention(intervention_id: str, **facts: object) -> Callable[[Registered], Registered]:
    """Register an intervention under ``intervention_id`` with its facts.

    See :class:`InterventionFacts`.
    """
    return INTERVENTIONS.register(intervention_id, **facts)


def sources_of(calls: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Return the files that implement interventions, for the digest of a training."""
    return [Path(__file__), *(INTERVENTIONS.get(call["use"]).source for call in calls)]


def apply(training_set: TrainingSet, calls: Sequence[Mapping[str, Any]]) -> TrainingSet:
    """Run interventions one after the other and return what to train on.

    Examples that are not of the data name the intervention that made them.
    """
    by_identity = {_identity(example): example for example in training_set.examples}
    runs: Counter[str] = Counter()
    for call in calls:
        entry = INTERVENTIONS.get(call["use"])
        options = complete(entry.options, call.get("params", {}), f"debias {entry.id}")
        if entry.facts.needs_counterfactuals and training_set.counterfactuals is None:
            raise InputError(
                f"debias {entry.id}: needs counterfactuals; name a generator, "
                f"counterfactuals.{training_set.dataset}"
            )
        with entry.running():
            # Not by position: an intervention draws alike whatever runs before it.
            draws = (runs[entry.id], entry.id)
            changed = entry.function(replace(training_set, draws=draws), **options)
        runs[entry.id] += 1
        _check(entry.id, training_set, changed)
        for example in changed.examples:
            marked = replace(example, attributes={**example.attributes, MADE_BY: entry.id})
            by_identity.setdefault(_identity(example), marked)
        examples = [by_identity[_identity(example)] for example in changed.examples]
        training_set = replace(changed, examples=examples)
    return training_set


def _identity(example: Example) -> tuple[str, str, int, tuple[str, ...]]:
    return example.example_id, example.group, example.label, example.words


def _check(intervention_id: str, before: TrainingSet, after: object) -> None:
    """Check that an intervention changed only what it may change."""
    where = f"intervention {intervention_id}"
    if not isinstance(after, TrainingSet) or not after.examples:
        raise ExparityError(f"{where}: must return a TrainingSet that holds examples")
    for name in ("dataset", "groups", "labels", "held_out", "seed", "counterfactuals"):
        if getattr(after, name) is not getattr(before, name):
            raise ExparityError(f"{where}: may not change {name} of the training set")
