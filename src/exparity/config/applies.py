"""What applies to which dataset: what methods, metrics and analyses need, and what data lack.

What does not apply to a dataset leaves it out, and the plan and the workflow say so. What applies
to no dataset at all is an error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from exparity.core.errors import InputError

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

_OTHER = {"methods": "metric", "metrics": "method"}


class Lack(NamedTuple):
    """What a dataset does not have.

    Attributes:
        reason: why something leaves the dataset out.
        purpose: what a metric does with it, and that it is not there; empty if no metric needs it.
        remedy: how to bring it; empty if the data cannot.
    """

    reason: str
    purpose: str = ""
    remedy: str = ""


def lacks_of(experiment: Experiment, dataset: str) -> dict[str, Lack]:
    """Return what a dataset lacks, by what methods, metrics and analyses may need.

    Args:
        experiment: the experiment.
        dataset: the dataset.

    Returns:
        Some of ``groups``, ``rationale`` (words that carry the label are marked) and
        ``counterfactual``.
    """
    instance = experiment.datasets[dataset]
    facts, lacks = instance.entry.facts, {}
    if not facts.has_groups(instance.params):
        lacks["groups"] = Lack("it has no groups")
    if not facts.marks_words(instance.params):
        option = facts.rationale_option
        lacks["rationale"] = Lack(
            "it marks no words that carry the label",
            f"compares explanations with rationales, and dataset '{dataset}' has none",
            f"name their column with datasets.{dataset}.{option}" if option else "",
        )
    if dataset not in experiment.generators:
        lacks["counterfactual"] = Lack(
            "it has no generator of counterfactuals",
            f"measures attribution on words that counterfactuals change, and dataset '{dataset}' "
            "has no generator",
            f"name one, counterfactuals.{dataset}",
        )
    return lacks


def left_out(experiment: Experiment) -> dict[str, dict[str, list[str]]]:
    """Return the datasets that each method, metric and artefact leaves out.

    A dataset that all metrics leave out is not explained, and one that all methods leave out is not
    scored.

    Returns:
        Datasets by kind (``methods``, ``metrics`` or ``artefacts``) and id; what leaves out nothing
        is not there.
    """
    excluded: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for dataset in experiment.datasets:
        applying = {kind: _applying(experiment, kind, dataset) for kind in _OTHER}
        for kind in _OTHER:
            for id in getattr(experiment, kind):
                if not all(applying.values()) or id not in applying[kind]:
                    excluded[kind][id].append(dataset)
        if "groups" in experiment.lacks[dataset]:
            excluded["artefacts"]["tests"].append(dataset)
    return {kind: dict(datasets) for kind, datasets in excluded.items()}


def _applying(experiment: Experiment, kind: str, dataset: str) -> list[str]:
    """Return the methods or metrics that may be used on a dataset, and have what they need."""
    return [
        instance.id
        for instance in getattr(experiment, kind).values()
        if (instance.datasets is None or dataset in instance.datasets)
        and (kind == "methods" or instance.entry.facts.needs not in experiment.lacks[dataset])
    ]


def check_applies(experiment: Experiment) -> None:
    """Check that each method and metric applies to some dataset.

    Raises:
        InputError: names the method or metric, a dataset, what that lacks and the remedy.
    """
    trained = dict.fromkeys(dataset for dataset, _ in experiment.pairs)
    for id, metric in experiment.metrics.items():
        needs = metric.entry.facts.needs
        wanted = [d for d in trained if metric.datasets is None or d in metric.datasets]
        lacking = [d for d in wanted if needs in experiment.lacks[d]]
        if lacking and len(lacking) == len(wanted):
            lack = experiment.lacks[lacking[0]][needs]
            remedy = f"{lack.remedy}, or run" if lack.remedy else "run"
            metrics = ", ".join(experiment.metrics_that_need(needs))
            raise InputError(
                f"metrics.{id}: {lack.purpose}; {remedy} it in a config without {metrics}"
            )
    for kind, other in _OTHER.items():
        for id, instance in getattr(experiment, kind).items():
            if not any(id in experiment.applying(kind, dataset) for dataset in trained):
                datasets = ", ".join(instance.datasets or trained)
                raise InputError(
                    f"{kind}.{id}: on its datasets ({datasets}) no {other} is used and no model "
                    f"trained; name others in {kind}.{id}.datasets, or leave it out"
                )


def omissions(experiment: Experiment) -> Iterator[str]:
    """Yield a line for what a dataset lacks, or a method, and which metrics leave it out for that.

    What a config itself restricts to some datasets is no news to its author.
    """
    for dataset in dict.fromkeys(dataset for dataset, _ in experiment.pairs):
        for needs, lack in experiment.lacks[dataset].items():
            metrics = [
                id
                for id in experiment.metrics_that_need(needs)
                if (datasets := experiment.metrics[id].datasets) is None or dataset in datasets
            ]
            if needs == "groups":
                yield f"datasets.{dataset}: {lack.reason}, so that nothing of it is compared"
            elif metrics:
                yield f"{_named(metrics)}: not used on dataset '{dataset}': {lack.reason}"
        if experiment.metrics and not experiment.applying("metrics", dataset):
            yield f"datasets.{dataset}: no metric applies to it, so that it is not explained"
    for method, metrics in experiment.unmeasured.items():
        yield f"{_named(metrics)}: not used on methods.{method}: it cannot explain again"


def _named(metrics: Sequence[str]) -> str:
    return ", ".join(f"metrics.{id}" for id in metrics)
