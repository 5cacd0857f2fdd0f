"""Facts that a method declares on registering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from exparity.explanations.units import Unit
from exparity.types import Facts

RANDOM = "uniform_random"
"""The method of random explanations: its scores are what those of others are compared with."""


@dataclass(frozen=True, kw_only=True)
class MethodFacts(Facts):
    """Facts of an explanation method, whatever its inputs.

    Attributes:
        signed: True if negative scores mean evidence against the target.
        needs_gradient: True if it differentiates the model.
        target: output that it explains, ``logit`` or ``probability``; ``none`` if it never runs the
            model.
        baseline: replacement of an absent token, or None without one.
        stochastic: True if it draws random numbers.
        adaptive: True if the masks that it runs depend on earlier outputs of the model.
        passes: model passes per text, roughly; the fewer, and the smaller the model, the more texts
            are in a part that a job saves.
        per: default of the option ``unit`` of methods that explain units of the text, see
            :mod:`exparity.explanations.units`; None of others, which have no such option.
        needs_training: True if it works with the training split.
        path_options: its options that name files of the user's own; in a config ``{dataset}``,
            ``{model}`` and ``{seed}`` in such a name stand for the ids of a cell.
        repeatable: False if it cannot explain moved copies of its texts, so that metrics that run
            the method again do not apply.
        check_options: checks all options at the start of a run; raises :class:`InputError`. It may
            import libraries.
        caution: receives all options and a transformers model type; returns a warning for the plan,
            or None.
        writes: True if the model writes the explanation, which only prompted language models do; it
            may then be empty.
        terms: terms of use beside exparity's licence, such as a patent, or None. A method with
            terms runs only where a config or call names it.
    """

    signed: bool
    needs_gradient: bool
    target: Literal["logit", "probability", "none"]
    baseline: str | None
    stochastic: bool
    adaptive: bool = False
    passes: int = 1
    per: Unit | None = None
    needs_training: bool = False
    path_options: tuple[str, ...] = ()
    repeatable: bool = True
    check_options: Callable[[Mapping[str, object]], None] | None = None
    caution: Callable[[Mapping[str, object], str], str | None] | None = None
    writes: bool = False
    terms: str | None = None

    @property
    def model_free(self) -> bool:
        """Whether scores depend on neither the model nor the embeddings."""
        return self.target == "none"

    @property
    def asks_only(self) -> bool:
        """Whether answers about texts are all that it needs of a classifier."""
        return not (self.needs_gradient or self.writes)
