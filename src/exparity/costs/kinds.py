"""Kinds of jobs: what the cost of a job depends on, beside the number of its examples.

Planned and finished jobs are told apart by the same functions: those from the options that the
workflow would pass, these from the parameters in their artefacts' metadata, which have the same
form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from exparity.artefacts.layout import ANALYSES
from exparity.config.instances import canonical
from exparity.core.errors import InputError
from exparity.core.options import Option, complete
from exparity.core.registry import Entry
from exparity.interface import MethodFacts, MetricFacts
from exparity.methods import METHODS
from exparity.metrics import METRICS, metric_options
from exparity.models.spec import ModelSpec, TrainingSpec, build

STAGES = (
    "prepare", "finetune", "bias", "explain", "evaluate", "gather", "test", "control", *ANALYSES,
    "report",
)  # fmt: skip
"""Every kind of job in the order in which a run comes to them.

A shard counts as a job of ``explain`` or ``evaluate``; ``gather`` puts shards together.
"""

# What of a training decides on the time that it takes for one example.
_TRAINING = ("batch_size", "max_length", "precision", "processes", "validation_share")


@dataclass(frozen=True)
class Kind:
    """What the cost of a job depends on; empty where it does not depend on such a thing.

    Attributes:
        stage: one of :data:`STAGES`.
        use: registered id of the method or metric.
        options: its options, those of the statistics or those of the training, as canonical text.
        method: registered id of the method that a metric runs again.
        method_options: the options of that method.
        model: what the model is made from.
        dataset: what the dataset is made from.
        runs_model: whether the job runs a model, and so is one for a GPU.
    """

    stage: str
    use: str = ""
    options: str = ""
    method: str = ""
    method_options: str = ""
    model: str = ""
    dataset: str = ""
    runs_model: bool = False

    def without(self, *fields: str) -> Kind:
        """Return the kind with some fields left open."""
        left_open: dict[str, Any] = dict.fromkeys(fields, "")
        return replace(self, **left_open)


def prepare_kind(dataset: str) -> Kind:
    """Return the kind of a job that prepares a dataset."""
    return Kind("prepare", dataset=dataset)


@cache
def finetune_kind(parameters: str, dataset: str) -> Kind:
    """Return the kind of a training."""
    given = json.loads(parameters).get("training", {})
    try:
        training = asdict(build(TrainingSpec, given, "training"))
    except InputError:
        training = given  # of another version
    options = canonical({key: training.get(key) for key in _TRAINING})
    return Kind(
        "finetune", options=options, model=model_text(parameters), dataset=dataset, runs_model=True
    )


def explain_kind(parameters: str, model: str, dataset: str) -> Kind:
    """Return the kind of a job that explains."""
    method = _method(parameters)
    options = method.with_precision(method.gradient)
    return Kind("explain", method.use, options, model=model, dataset=dataset, runs_model=True)


def evaluate_kind(parameters: str, explained: str, model: str, dataset: str) -> Kind:
    """Return the kind of a job that scores explanations.

    Args:
        parameters: those of the scores.
        explained: those of the explanations.
        model: from :func:`model_text`.
        dataset: from :func:`dataset_text`.
    """
    metric = _metric(parameters)
    if not metric.runs_model:
        options = metric.with_precision(True)  # nothing to round
        return Kind("evaluate", metric.use, options, dataset=dataset)
    if not metric.explains:
        options = metric.with_precision(metric.gradient)
        return Kind("evaluate", metric.use, options, model=model, dataset=dataset, runs_model=True)
    method = _method(explained)
    return Kind(
        "evaluate",
        metric.use,
        metric.with_precision(metric.gradient or method.gradient),
        method.use,
        method.with_precision(True),  # it is run in the metric's
        model,
        dataset,
        runs_model=True,
    )


@cache
def statistics_kind(stage: str, parameters: str, dataset: str) -> Kind:
    """Return the kind of a job that tests, permutes or measures bias."""
    return Kind(stage, options=canonical(json.loads(parameters)), dataset=dataset)


def analysis_kind(name: str, model: str, dataset: str) -> Kind:
    """Return the kind of a job of an analysis; what it takes hardly depends on its options."""
    if name != "mlm_score":
        return Kind(name, dataset=dataset)
    return Kind(name, model=model, dataset=dataset, runs_model=True)


@cache
def model_text(parameters: str) -> str:
    """Return what a model is made from, given the parameters of its training."""
    given = json.loads(parameters).get("model", {})
    try:
        return canonical(asdict(build(ModelSpec, given, "model")))
    except InputError:
        return canonical(given)  # of another version


@cache
def dataset_text(parameters: str) -> str:
    """Return what a dataset is made from, given the parameters of its data artefact."""
    return canonical(json.loads(parameters))


@dataclass(frozen=True)
class _Use:
    """A use of a registered method or metric, with the facts that its cost depends on."""

    use: str
    options: str
    precision: str
    gradient: bool
    runs_model: bool = True
    explains: bool = False

    def with_precision(self, exact: bool) -> str:
        """Return the options and the arithmetic, which is fp32 wherever gradients are taken."""
        return f"{self.options} in {'fp32' if exact else self.precision}"


@cache
def _method(parameters: str) -> _Use:
    use, precision, given = _read(parameters)
    entry: Entry[MethodFacts] | None = _known(METHODS, use)
    if entry is None:
        return _Use(use, canonical(given), precision, gradient=False)
    options = _completed(entry.options, given)
    return _Use(use, options, precision, entry.facts.needs_gradient)


@cache
def _metric(parameters: str) -> _Use:
    use, precision, given = _read(parameters)
    entry: Entry[MetricFacts] | None = _known(METRICS, use)
    if entry is None:
        return _Use(use, canonical(given), precision, gradient=False, explains=True)
    facts = entry.facts
    options = _completed(metric_options(entry), given)
    explains = facts.needs == "explainer"
    return _Use(use, options, precision, facts.needs_gradient, facts.runs_model, explains)


def _read(parameters: str) -> tuple[str, str, dict[str, Any]]:
    """Return the registered id, the precision and the options."""
    given = json.loads(parameters)
    precision = str(given.get("precision", "fp32"))
    return str(given.get("use", "")), precision, dict(given.get("params", {}))


def _known(registry: Any, use: str) -> Any:
    """Return a registered entry; None if it is not here, such as that of a plug-in."""
    try:
        return registry.get(use)
    except InputError:
        return None


def _completed(options: Mapping[str, Option], given: Mapping[str, Any]) -> str:
    """Fill in options that came up since an artefact was made."""
    try:
        return canonical(complete(options, given, ""))
    except InputError:
        return canonical(given)
