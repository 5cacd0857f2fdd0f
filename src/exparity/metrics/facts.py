"""Facts that a metric declares on registering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from exparity.core.errors import InputError
from exparity.explanations.units import Unit
from exparity.types import Facts

Direction = Literal["higher", "lower"]
ARROWS: Mapping[Direction, str] = {"higher": "↑", "lower": "↓"}
"""Marks of a metric's direction."""
Skill = Literal["removal", "draws", "ratio", "ratios", "none", "zero"]
Needs = Literal[
    "attributions",
    "rationale",
    "counterfactual",
    "foresight",
    "messages",
    "probabilities",
    "explainer",
]


@dataclass(frozen=True, kw_only=True)
class MetricFacts(Facts):
    """Facts of a metric, whatever its inputs.

    Attributes:
        direction: which values are better, ``higher`` or ``lower``.
        bounds: smallest and largest possible value.
        unit: what the value counts (probability, share, ...).
        kind: property of explanations it measures (faithfulness, complexity, robustness, ...).
        needs: ``attributions`` (scores alone), ``rationale`` (scores of words, and which words
            carry the label), ``counterfactual`` (scores of words, and which words change with the
            group), ``foresight`` (scores, and what the model does when parts of the text are left
            out: draws of them if the metric has the option ``left_out``, else one unit at a time;
            see :mod:`exparity.metrics.foresight`), ``messages`` (the words that explanations
            name, of all texts together), ``probabilities`` (it runs the model) or ``explainer`` (it
            runs the explanation method again).
        stochastic: True if it draws random numbers.
        passes: model passes per text, roughly; the fewer, and the smaller the model, the more texts
            are in a part that a job saves.
        needs_gradient: True if it differentiates the model itself, which is done in float32.
        needs_weights: True if it moves embeddings along gradients, or draws weights anew.
        models: models of the classifier's size that it holds at once; sizes the memory of jobs.
        bounds_where: bounds under an option, by the name of one that is true or false.
        skill: what is compared with chance and a reference explanation, so that groups can be
            compared by :mod:`exparity.stats.skill`: falls as tokens are taken (``removal``), those
            of random changes (``draws``), or the score itself (``ratio``), up to that of the
            reference and, apart from it, up to the best possible one (``ratios``); ``none``, where
            no control fits; ``zero``, where explanations at random have 0 by construction, so that
            scores are compared as they are. ``removal`` is of tokens that go where higher scores
            are better, and else of those that stay. Metrics with falls keep them; see
            :class:`~exparity.metrics.MetricBatch`.
        better_falls: which falls are better, where that is not the score's direction.
        normalise_over: default of the option of that name, which metrics of normalised attributions
            have.
        at_random: of metrics with ``needs="rationale"``: called as ``at_random(words, marked,
            **options)`` with (n,) numbers of words and of marked words, it returns the (n,) values
            expected where all words have different scores in random order, NaN where no formula is
            known. Those are drawn, as all are if this is None.
        per: default of the option ``unit`` of metrics that score units of the text, see
            :mod:`exparity.explanations.units`; None of others, which have no such option.
    """

    direction: Direction
    bounds: tuple[float, float]
    unit: str
    kind: str
    needs: Needs
    stochastic: bool
    passes: int = 1
    needs_gradient: bool = False
    needs_weights: bool = False
    models: int = 1
    bounds_where: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    skill: Skill = "none"
    better_falls: Direction | None = None
    normalise_over: Literal["sequence", "content"] = "sequence"
    per: Unit | None = None
    at_random: Callable[..., NDArray[np.float64]] | None = None

    def __post_init__(self) -> None:
        for low, high in (self.bounds, *self.bounds_where.values()):
            if not low < high:
                raise InputError(f"bounds must rise, found ({low:g}, {high:g})")

    def bounds_with(self, options: Mapping[str, object]) -> tuple[float, float]:
        """Return the smallest and largest possible value under some options."""
        named = (bounds for option, bounds in self.bounds_where.items() if options.get(option))
        return next(named, self.bounds)

    @property
    def preference(self) -> Direction | None:
        """Which values are better; None where a metric only describes explanations."""
        return None if self.kind == "complexity" else self.direction

    @property
    def keeps_falls(self) -> bool:
        """Whether it keeps falls beside its scores."""
        return self.skill in ("removal", "draws")

    @property
    def compared_by(self) -> dict[str, str | bool]:
        """Form of its skill, and the direction in which falls, or scores without, are better."""
        form: dict[str, str | bool] = {"by": self.skill}
        form["better"] = self.better_falls or self.direction
        return {**form, "together": True} if self.scores_together else form

    @property
    def scores_together(self) -> bool:
        """Whether the score of a text depends on the other texts that are scored with it."""
        return self.needs == "messages"

    @property
    def runs_model(self) -> bool:
        """Whether a job of it runs the classifier."""
        return self.needs in ("probabilities", "explainer")

    @property
    def needs_classifier(self) -> bool:
        """Whether it needs the classifier where no earlier job has asked it: in Python."""
        return self.runs_model or self.needs == "foresight"

    @property
    def asks_only(self) -> bool:
        """Whether answers about texts are all that it needs of a classifier."""
        return not (self.needs_gradient or self.needs_weights)
