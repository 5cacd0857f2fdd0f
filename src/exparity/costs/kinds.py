"""Kinds of jobs: what the cost of a job depends on, beside the number of its examples.

One function names the kind of a planned job, from the options that the workflow hands it, and of
a finished one, from the parameters in its artefact's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.schemas import IDS
from exparity.core.errors import InputError
from exparity.core.strict import canonical
from exparity.metrics import METRICS

Ids = tuple[str, ...]
# What of a training decides on the time that it takes for one example.
_TRAINING = ("batch_size", "max_length", "precision", "processes", "validation_share")


class Kind(NamedTuple):
    """What the cost of a job depends on.

    Attributes:
        work: the stage, the registered id of its method or metric, and that of the method that a
            metric runs again.
        made_of: options, model and dataset, as text.
        runs_model: whether the job runs a model, and so is one for a GPU.
    """

    work: tuple[str, ...]
    made_of: str = ""
    runs_model: bool = False

    @property
    def stage(self) -> str:
        """The stage."""
        return self.work[0]


def ids_of(stage: str) -> Ids:
    """Return the names of the ids that jobs of a stage may have, in the order of paths."""
    return ANALYSES.get(stage).facts.levels if stage in ANALYSES.ids() else IDS


def kind_of(
    stage: str, ids: Ids, parameters: Any, before: Callable[[str, Ids], Any | None]
) -> Kind:
    """Return the kind of a job of an experiment; ``before`` has the parameters of other jobs."""
    told = [parameters]
    for made_by, count in (("explain", 4), ("finetune", 3), ("prepare", 1)):
        found = before(made_by, ids[:count])
        told.append("/".join(ids[:count]) if found is None else found)
    return _kind(stage, json.dumps(told))


@cache
def _kind(stage: str, told: str) -> Kind:
    own, explained, trained, data = json.loads(told)
    work: tuple[str, ...] = (stage,)
    options, runs_model = "", stage in ("finetune", "explain")
    if stage == "finetune":
        options = _training(own)
    elif stage == "explain":
        work, options = (stage, own.get("use", "")), _options(own)
    elif stage == "evaluate":
        work, options, runs_model = _scored(own, explained if isinstance(explained, dict) else {})
    elif stage == "bias":  # which resamples
        options = canonical(own)
    elif stage in ANALYSES.ids():
        facts = ANALYSES.get(stage).facts
        runs_model = facts.runs_model
        if facts.level == "metric":
            work, options = (stage, own.get("use", "")), _options(own)
    model = trained  # its ids, where nothing is known of it
    if isinstance(trained, dict):
        model = canonical(trained.get("model", {}))
    made_of = {"options": options, "model": model if runs_model else "", "dataset": data}
    return Kind(work, canonical(made_of), runs_model)


def _scored(
    own: Mapping[str, Any], explained: Mapping[str, Any]
) -> tuple[tuple[str, ...], str, bool]:
    """Return work and options of a job that scores; of an unknown metric, those of the dearest."""
    work, options = ("evaluate", own.get("use", "")), _options(own)
    needs, runs_model = "explainer", True
    with suppress(InputError):
        facts = METRICS.get(work[1]).facts
        needs, runs_model = facts.needs, facts.runs_model
    if needs == "explainer" and runs_model:
        # The method is run in the metric's precision, whatever its own was.
        again = _options({**explained, "precision": own.get("precision")})
        return (*work, explained.get("use", "")), f"{options}, {again}", True
    return (
        work,
        options if runs_model else _options({**own, "precision": None}),
        runs_model,
    )


def _options(own: Mapping[str, Any]) -> str:
    return canonical({"options": own.get("params", {}), "precision": own.get("precision")})


def _training(own: Mapping[str, Any]) -> str:
    training = own.get("training", {})
    deciding = {key: training.get(key) for key in _TRAINING}
    if debias := [[call["use"], call.get("params", {})] for call in own.get("debias", ())]:
        deciding["debias"] = debias  # an epoch may take several times what the data hold
    return canonical(deciding)
