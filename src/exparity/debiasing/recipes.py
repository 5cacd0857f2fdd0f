"""Recipes of debiasing, which a config names in a few words, as interventions in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from exparity.core.errors import InputError, did_you_mean
from exparity.core.validation import complete, options_of
from exparity.debiasing import INTERVENTIONS

InterventionCall = dict[str, Any]
"""An entry of ``debias``: ``use`` and options."""

_JIGSAW = {"order": "counterfactuals_first", "counterfactual_weights": "one"}
_BIASBIOS: Mapping[str, Mapping[str, Any]] = {
    "os": {"resample": "over"},
    "us": {"resample": "under"},
    "rw": {"weights": "group_class"},
    "cda": {"counterfactuals": "add"},
    "os_cda": {"resample": "over", "counterfactuals": "add"},
    "us_cda": {"resample": "under", "counterfactuals": "add"},
    "rw_cda": {"weights": "group_class", "counterfactuals": "add"},
}
RECIPES: Mapping[str, Mapping[str, Any]] = {
    **_BIASBIOS,
    **{f"{name}_jigsaw": {**keys, **_JIGSAW} for name, keys in _BIASBIOS.items()},
}
"""Keys of ``debias`` by the names that Chen et al. (2024) give them, in the forms in which they
train on BiasBios and on Jigsaw."""


def interventions_of(
    *,
    resample: Literal["under", "over"] | None = None,
    weights: Literal["group_class"] | None = None,
    counterfactuals: Literal["add", "substitute"] | None = None,
    order: Literal["resample_first", "counterfactuals_first"] = "resample_first",
    counterfactual_weights: Literal["same", "one"] = "same",
    equal_steps: bool = False,
) -> list[InterventionCall]:
    """Return the interventions that the keys of ``debias`` stand for, in their order."""
    copying = {"mode": counterfactuals, "weights": counterfactual_weights}
    samples = [{"use": "resampling", "mode": resample}] if resample else []
    weighing = [{"use": "group_class_weights"}] if weights == "group_class" else []
    copies = [{"use": "counterfactual_data", **copying}] if counterfactuals else []
    steps = [{"use": "equal_steps"}] if equal_steps else []
    if order == "resample_first":
        return [*steps, *samples, *weighing, *copies]
    return [*steps, *weighing, *copies, *samples]


def calls_of(written: Any, where: str) -> list[InterventionCall]:
    """Return the interventions that a model's ``debias`` names, in order."""
    if isinstance(written, list):
        return [call for one in written for call in calls_of(one, where)]
    if isinstance(written, str):
        return _named(written, where)
    if "use" in written:
        return [dict(written)]
    return interventions_of(**complete(options_of(interventions_of), written, where))


def _named(name: str, where: str) -> list[InterventionCall]:
    registered = INTERVENTIONS.ids()
    if name in registered:  # also where it is the name of a recipe: a user's own wins
        return [{"use": name}]
    if name in RECIPES:
        return interventions_of(**RECIPES[name])
    hint = did_you_mean(name, [*registered, *RECIPES])
    raise InputError(f"{where}: unknown intervention '{name}'; {hint}")
