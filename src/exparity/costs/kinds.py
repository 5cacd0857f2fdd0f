"""Kinds of jobs: what the cost of a job depends on, beside the number of its examples.

Planned and finished jobs are told apart by the same function: those from the options that the
workflow hands them, these from the parameters in their artefacts' metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import cache
from typing import Any, NamedTuple

from exparity.artefacts.analyses import ANALYSES
from exparity.artefacts.schemas import IDS
from exparity.config.instances import canonical
from exparity.core.errors import InputError
from exparity.core.options import complete
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.models.spec import ModelSpec, TrainingSpec, build

Ids = tuple[str, ...]
GATHER = "gather"
"""Stage of the jobs that put shards together; a shard counts to the stage of its cell."""
# What of a training decides on the time that it takes for one example.
_TRAINING = ("batch_size", "max_length", "precision", "processes", "validation_share")
# Stages whose options decide on their time.
_STATISTICS = ("test", "bias", "control")


class Kind(NamedTuple):
    """What the cost of a job depends on; empty where it does not depend on such a thing.

    The fields stand in the order in which estimates hold on to them: a job of another dataset says
    more of a job than one of another model, and one of other work says nothing.

    Attributes:
        work: the stage, the registered id of its method or metric, and that of the method that a
            metric runs again.
        options: their options, those of the statistics or those of the training, as text.
        model: what the model is made from; empty for jobs that run none.
        dataset: what the dataset is made from.
    """

    work: tuple[str, ...]
    options: str = ""
    model: str = ""
    dataset: str = ""

    @property
    def stage(self) -> str:
        """The stage."""
        return self.work[0]

    @property
    def runs_model(self) -> bool:
        """Whether the job runs a model, and so is one for a GPU."""
        return bool(self.model)


def ids_of(stage: str) -> Ids:
    """Return the names of the ids that jobs of a stage may have, in the order of paths."""
    return ANALYSES.get(stage).facts.levels if stage in ANALYSES.ids() else IDS


def kind_of(
    stage: str, ids: Ids, parameters: Any, before: Callable[[str, Ids], Any | None]
) -> Kind:
    """Return the kind of a job of an experiment."""

    def known(stage: str, count: int, otherwise: Any) -> str:
        made = before(stage, ids[:count])
        return json.dumps(otherwise if made is None else made)

    explained, model = known("explain", 4, {}), known("finetune", 3, "/".join(ids[:3]))
    data = known("prepare", 1, "/".join(ids[:1]))
    return _kind(stage, json.dumps(parameters), explained, model, data)


@cache
def _kind(stage: str, parameters: str, explained: str, model: str, dataset: str) -> Kind:
    own, made_of, data = json.loads(parameters), _model(model), canonical(json.loads(dataset))
    if stage == "prepare":
        return Kind((stage,), dataset=data)
    if stage == "finetune":
        return Kind((stage,), _training(own), made_of, data)
    if stage == "explain":
        gradient = _known(METHODS, own, "needs_gradient", False)
        return Kind((stage, own.get("use", "")), _options(METHODS, own, gradient), made_of, data)
    if stage == "evaluate":
        return _scored(own, json.loads(explained), made_of, data)
    if stage in _STATISTICS:
        return Kind((stage,), canonical(own), dataset=data)
    if stage not in ANALYSES.ids():
        return Kind((stage,), dataset=data)
    facts = ANALYSES.get(stage).facts
    model = made_of if facts.runs_model else ""
    if facts.level == "metric":
        gradient = _known(METRICS, own, "needs_gradient", False)
        return Kind((stage, own.get("use", "")), _options(METRICS, own, gradient), model, data)
    return Kind((stage,), model=model, dataset=data)


def _scored(own: Mapping[str, Any], explained: Mapping[str, Any], model: str, data: str) -> Kind:
    """Return the kind of a job that scores; of a metric that nobody knows, that of the dearest."""
    use = own.get("use", "")
    gradient = _known(METRICS, own, "needs_gradient", False)
    if not _known(METRICS, own, "runs_model", True):
        return Kind(("evaluate", use), _options(METRICS, own, exact=True), dataset=data)
    if _known(METRICS, own, "needs", "explainer") != "explainer":
        return Kind(("evaluate", use), _options(METRICS, own, gradient), model, data)
    exact = gradient or _known(METHODS, explained, "needs_gradient", False)
    # The method is run in the metric's precision, whatever its own was.
    both = f"{_options(METRICS, own, exact)}, {_options(METHODS, explained, exact=True)}"
    return Kind(("evaluate", use, explained.get("use", "")), both, model, data)


def _known(registry: Any, own: Mapping[str, Any], fact: str, otherwise: Any) -> Any:
    """Return a fact of what is used; ``otherwise`` if it is not here, such as that of a plug-in."""
    try:
        return getattr(registry.get(own.get("use", "")).facts, fact)
    except InputError:
        return otherwise


def _options(registry: Any, own: Mapping[str, Any], exact: bool) -> str:
    """Return the options and the arithmetic, which is fp32 wherever gradients are taken."""
    options = own.get("params", {})
    with suppress(InputError):  # of another version, or not here
        entry = registry.get(own.get("use", ""))
        options = complete(registry.options(entry), options, "")
    return f"{canonical(options)} in {'fp32' if exact else own.get('precision', 'fp32')}"


def _training(own: Mapping[str, Any]) -> str:
    training = own.get("training", {})
    with suppress(InputError):  # of another version
        training = asdict(build(TrainingSpec, training, "training"))
    deciding = {key: training.get(key) for key in _TRAINING}
    if debias := [[call["use"], call.get("params", {})] for call in own.get("debias", ())]:
        deciding["debias"] = debias  # an epoch may take several times what the data hold
    return canonical(deciding)


@cache
def _model(parameters: str) -> str:
    trained = json.loads(parameters)
    if not isinstance(trained, dict):
        return canonical(trained)
    try:
        return canonical(asdict(build(ModelSpec, trained.get("model", {}), "model")))
    except InputError:
        return canonical(trained.get("model", {}))  # of another version
