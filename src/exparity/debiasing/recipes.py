"""Named recipes of debiasing, each a list of interventions in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exparity.core.errors import require_known
from exparity.debiasing import INTERVENTIONS

InterventionCall = dict[str, Any]
"""An entry of ``debias``: ``use`` and options."""

_UNDER = {"use": "resampling", "mode": "under"}
_OVER = {"use": "resampling", "mode": "over"}
_WEIGHTS = {"use": "group_class_weights"}
_COPIES = {"use": "counterfactual_data", "mode": "add", "weights": "same"}
_COPIES_OF_WEIGHT_1 = {**_COPIES, "weights": "one"}
_COPIES_OF_OWN_WEIGHT = {**_COPIES, "weights": "own"}
RECIPES: Mapping[str, Sequence[InterventionCall]] = {
    "os": [_OVER],
    "us": [_UNDER],
    "rw": [_WEIGHTS],
    "cda": [_COPIES],
    "os_cda": [_OVER, _COPIES],
    "us_cda": [_UNDER, _COPIES],
    "rw_cda": [_WEIGHTS, _COPIES],
    "rw_cda_own": [_WEIGHTS, _COPIES_OF_OWN_WEIGHT],
    "os_jigsaw": [_OVER],
    "us_jigsaw": [_UNDER],
    "rw_jigsaw": [_WEIGHTS],
    "cda_jigsaw": [_COPIES_OF_WEIGHT_1],
    "os_cda_jigsaw": [_COPIES_OF_WEIGHT_1, _OVER],
    "us_cda_jigsaw": [_COPIES_OF_WEIGHT_1, _UNDER],
    "rw_cda_jigsaw": [_WEIGHTS, _COPIES_OF_WEIGHT_1],
}
"""Interventions by the names that Chen et al. (2024) give them, in the forms in which they train on
BiasBios and on Jigsaw, and with the weights of their Table 7."""


def calls_of(
    written: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]], where: str
) -> list[InterventionCall]:
    """Return the interventions that a model's ``debias`` names, in order."""
    if isinstance(written, Mapping):
        return [dict(written)]
    if not isinstance(written, str):
        return [call for entry in written for call in calls_of(entry, where)]
    registered = INTERVENTIONS.ids()
    if written in registered:  # also where it is the name of a recipe: a user's own wins
        return [{"use": written}]
    all_names = [*registered, *RECIPES]
    require_known(written, all_names, f"{where}: unknown intervention '{written}'")
    return [dict(call) for call in RECIPES[written]]
