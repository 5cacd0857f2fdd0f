"""Texts that an experiment sends to functions, estimated from its grid before any is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.costs.finished import JobCost
from exparity.costs.planned import PlannedExamples, planned_jobs
from exparity.metrics import limits
from exparity.metrics.foresight import Design

_TOKENS = 20
"""Units of a text, roughly."""
_SAMPLES = ("num_samples", "n_samples", "max_evals")
"""Options of methods and metrics that say how many texts they ask about."""


def planned_calls(
    experiment: Experiment, jobs: Iterable[JobCost], examples: PlannedExamples
) -> Counter[str]:
    """Return the texts that unfinished jobs send to each function, roughly; by the model's id.

    A method or metric counts as its option for samples says, or else by the passes that it
    declares; texts that are asked about once for several purposes count for each.
    """
    calls: Counter[str] = Counter()
    for job in jobs:
        model = str(job.ids.get("model", ""))
        spec = experiment.specs.get(model)
        if spec is not None and spec.predict and job.runs_model and not job.finished:
            calls[model] += calls_of(experiment, job, examples)
    return calls


def check_calls(experiment: Experiment) -> list[str]:
    """Return a line for each function that a run asks, before it does.

    Raises:
        InputError: a function would be asked more often than ``engine.max_calls``.
    """
    if not any(spec.predict for spec in experiment.specs.values()):
        return []
    examples = PlannedExamples(experiment)
    budget = experiment.config.engine.max_calls
    calls = planned_calls(experiment, planned_jobs(experiment, examples), examples)
    lines = []
    for model, texts in calls.items():
        predict = experiment.specs[model].predict
        asked = f"models.{model}: about {texts:,} texts will be sent to {predict}"
        if budget is not None and texts > budget:
            raise InputError(
                f"{asked}, more than engine.max_calls {budget:,}; raise it, or lower max_examples "
                "or num_samples of methods and metrics"
            )
        lines.append(asked)
    return lines


def calls_of(experiment: Experiment, job: JobCost, examples: PlannedExamples) -> int:
    """Return the texts that a job sends to its function, roughly."""
    if job.stage == "finetune":  # which predicts the test split
        return len(examples.test(str(job.ids["dataset"])))
    texts, options = job.examples or 0, experiment.options(job.stage, job.ids)
    if job.stage == "removal_limits":
        draws = int(options["draws"])
        stages = int(options["stages"])
        turns = sum(map(len, options["takes"].values()))
        return texts // draws * limits.passes_of(turns, _TOKENS, draws, stages)
    if job.stage == "foresee":
        masks = [Design(**design).draws_of(_TOKENS) for design in options["designs"]]
        return texts * (sum(masks) + len(masks))
    passes = 1
    if "metric" in job.ids:
        metric = experiment.metrics[str(job.ids["metric"])]
        if not metric.entry.facts.runs_model:
            return 0
        passes = _passes(metric.entry.facts.passes, metric.params)
        if metric.entry.facts.needs != "explainer" or "method" not in job.ids:
            return texts * passes
    if "method" in job.ids:
        method = experiment.methods[str(job.ids["method"])]
        passes *= _passes(method.entry.facts.passes, method.params)
    return texts * passes


def _passes(declared: int, params: Mapping[str, object]) -> int:
    asked = [value for name in _SAMPLES if isinstance(value := params.get(name), int)]
    return asked[0] if asked else declared
