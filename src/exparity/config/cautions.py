"""Warnings about a valid config: parts that are left out, and scores without meaning."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from exparity.artefacts.analyses import ANALYSES
from exparity.config.experiment import Experiment
from exparity.models.catalogue import known_type


def cautions(experiment: Experiment) -> list[str]:
    """Return the warnings of a plan: what is left out, and scores without meaning for a model."""
    messages: dict[str, None] = dict.fromkeys(omissions(experiment))
    for method_id, method in experiment.methods.items():
        if terms := method.entry.facts.terms:
            messages[f"methods.{method_id}: {terms}"] = None
    models: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for dataset, model in experiment.pairs:
        model_type = known_type(experiment.models[model].spec)
        for method_id, method in experiment.methods.items():
            caution = method.entry.facts.caution
            if caution is None or not model_type:
                continue
            for seed in experiment.seeds:
                options = experiment.explain_options(
                    dataset=dataset, model=model, seed=seed, method=method_id
                )
                if message := caution(options["params"], model_type):
                    models[method_id, message][f"models.{model}"] = None
    for (method_id, message), places in models.items():
        messages[f"methods.{method_id}, {', '.join(places)}: {message}"] = None
    for name, settings in experiment.settings.items():
        caution_of_analysis = ANALYSES.get(name).facts.caution
        if caution_of_analysis and (message := caution_of_analysis(experiment, **settings)):
            messages[f"analyses.{name}: {message}"] = None
    return list(messages)


def omissions(experiment: Experiment) -> Iterator[str]:
    """Yield a line for each part that is skipped, with the reason."""
    # What a config itself restricts to some datasets is no news to its author.
    for dataset in dict.fromkeys(dataset for dataset, _ in experiment.pairs):
        for needs, lack in experiment.lacks[dataset].items():
            needing = experiment.metrics_that_need(needs)
            metrics = [
                metric for metric in needing if experiment.metrics[metric].is_used_on(dataset)
            ]
            if needs == "groups":
                if not _compares_raters(experiment, dataset):
                    yield f"datasets.{dataset}: {lack}, so it is not compared"
            elif metrics:
                yield f"{_named(metrics)}: not used on dataset '{dataset}': {lack}"
        if experiment.metrics and not experiment.applying("metrics", dataset):
            yield f"datasets.{dataset}: no metric applies to it, so that it is not explained"
    for method, metrics in experiment.unmeasured.items():
        yield f"{_named(metrics)}: not used on methods.{method}: it cannot explain again"


def _compares_raters(experiment: Experiment, dataset: str) -> bool:
    """Return whether an analysis of the config compares groups of a dataset's raters."""
    needs = [ANALYSES.get(name).facts.needs for name in experiment.settings]
    return any("raters" in parts for parts in needs) and "raters" not in experiment.lacks[dataset]


def _named(metrics: Sequence[str]) -> str:
    return ", ".join(f"metrics.{metric}" for metric in metrics)
