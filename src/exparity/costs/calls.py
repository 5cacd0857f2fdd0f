"""Texts that an experiment sends to functions, estimated from its grid before any is sent."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping

from exparity.artefacts.ids import Ids
from exparity.config.experiment import Experiment
from exparity.core.errors import InputError
from exparity.core.formats import duration
from exparity.costs.finished import JobCost
from exparity.costs.planned import PlannedExamples, planned_jobs
from exparity.jobs.parts import USUAL_UNITS
from exparity.metrics import limits
from exparity.metrics.foresight import Design
from exparity.models.functions import load_function

_SAMPLES = ("num_samples", "n_samples", "max_evals", "n_steps")
"""Options of methods and metrics that say how many passes they make."""


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
        settings = experiment.models.get(model)
        if settings is not None and settings.spec.predict and job.runs_model and not job.finished:
            calls[model] += calls_of(experiment, job, examples)
    return calls


def price_of(texts: int, price: float | None, seconds: float | None) -> str:
    """Return what texts cost and how long they take, as the end of a sentence; empty if unknown.

    Args:
        texts: that a function is asked about.
        price: of a text, in any currency; None if unknown.
        seconds: that a text takes; None if unknown.
    """
    parts = [] if price is None else [f"cost about {texts * price:,.2f}, at {price:g} a text"]
    if seconds is not None:
        parts.append(f"take about {duration(texts * seconds)}, at {seconds:.2g} s a text")
    return f"; they {' and '.join(parts)}" if parts else ""


def seconds_a_text(experiment: Experiment, model: str, n_texts: int) -> float:
    """Ask a function about the first texts of its data, and return the seconds that one took.

    Raises:
        InputError: there is no such function, or what it returns are no probabilities.
    """
    from exparity.engine.loading import load_classifier  # torch is needed for nothing else

    spec = experiment.models[model].spec
    assert spec.predict is not None
    dataset = next(dataset for dataset, name in experiment.grid.pairs if name == model)
    classifier = load_classifier(
        load_function(spec.predict), classes=[*spec.classes], max_calls=n_texts
    )
    examples = PlannedExamples(experiment).with_texts(dataset)[:n_texts]
    start = time.perf_counter()
    classifier.predict_proba([example.text for example in examples])
    return (time.perf_counter() - start) / len(examples)


def check_calls(experiment: Experiment, price: float | None = None) -> list[str]:
    """Return a line for each function that a run asks, before it does, with what its texts cost.

    Raises:
        InputError: a function would be asked more often than ``engine.max_calls``.
    """
    if not any(settings.spec.predict for settings in experiment.models.values()):
        return []
    examples = PlannedExamples(experiment)
    budget = experiment.config.engine.max_calls
    calls = planned_calls(experiment, planned_jobs(experiment, examples), examples)
    lines = []
    for model, texts in calls.items():
        predict = experiment.models[model].spec.predict
        need = f"models.{model}: about {texts:,} texts will be sent to {predict}"
        if budget is not None and texts > budget:
            raise InputError(
                f"{need}, more than engine.max_calls {budget:,}; raise it, or lower max_examples "
                "or num_samples of methods and metrics"
            )
        lines.append(f"{need}{price_of(texts, price, None)}")
    return lines


def calls_of(experiment: Experiment, job: JobCost, examples: PlannedExamples) -> int:
    """Return the texts that a job sends to its function, roughly."""
    if job.stage == "finetune":  # which predicts the test split
        return len(examples.test(job.ids.dataset))
    texts = job.examples or 0
    if job.stage in ("removal_limits", "negative_control"):  # whose examples count for each draw
        texts //= int(experiment.options(job.stage, job.ids)["draws"])
    return texts * passes_of(experiment, job.stage, job.ids)


def passes_of(experiment: Experiment, stage: str, ids: Ids, tokens: int = USUAL_UNITS) -> int:
    """Return the passes that a job makes for each of its texts, roughly.

    A method or metric counts as its option for samples says, or else by its declared passes.

    Args:
        experiment: the config.
        stage: a stage or an analysis that runs a model.
        ids: of the job's cell.
        tokens: units of a text, at least 1.
    """
    if stage == "removal_limits":
        options = experiment.options(stage, ids)
        turns = sum(map(len, options["takes"].values()))
        return limits.passes_of(turns, tokens, int(options["draws"]), int(options["stages"]))
    if stage == "foresee":
        options = experiment.options(stage, ids)
        return Design(*map(options.__getitem__, Design._fields)).passes_of(tokens)
    passes = 1
    if "metric" in ids:
        metric = experiment.metrics[ids.metric]
        if not metric.entry.facts.runs_model:
            return 0
        passes = _declared(metric.entry.facts.passes, metric.params)
        if stage == "negative_control":
            return passes * experiment.config.controls.random.draws
        if metric.entry.facts.needs != "explainer":
            return passes
    if "method" in ids:
        method = experiment.methods[ids.method]
        passes *= _declared(method.entry.facts.passes, method.params)
    return passes


def _declared(passes: int, params: Mapping[str, object]) -> int:
    """Return the passes that options say, or else those that are declared."""
    samples = [value for name in _SAMPLES if isinstance(value := params.get(name), int)]
    return samples[0] if samples else passes
