"""Matches of datasets with methods, metrics and analyses: needs of these, and lacks of data.

What does not apply to a dataset leaves it out, and the plan and the workflow say so. What applies
to no dataset at all is an error.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from exparity.config.instances import Instance


class MissingFeature(NamedTuple):
    """Part that a dataset does not have.

    Attributes:
        reason: why something leaves the dataset out.
        purpose: what a metric does with it, and that it is not there; empty if no metric needs it.
        remedy: how to bring it; empty if the data cannot.
    """

    reason: str
    purpose: str = ""
    remedy: str = ""


def lacks_of(instance: Instance, *, has_generator: bool) -> dict[str, MissingFeature]:
    """Return which of ``groups``, ``rationale`` and ``counterfactual`` a dataset lacks."""
    dataset, facts, lacks = instance.id, instance.entry.facts, {}
    if not facts.has_groups(instance.params):
        lacks["groups"] = MissingFeature("it has no groups")
    if not facts.marks_words(instance.params):
        option = facts.rationale_option
        lacks["rationale"] = MissingFeature(
            "it marks no words that carry the label",
            f"compares explanations with rationales, and dataset '{dataset}' has none",
            f"name their column with datasets.{dataset}.{option}" if option else "",
        )
    if not has_generator:
        lacks["counterfactual"] = MissingFeature(
            "it has no generator of counterfactuals",
            f"measures attribution on words that counterfactuals change, and dataset '{dataset}' "
            "has no generator",
            f"name one, counterfactuals.{dataset}",
        )
    return lacks


def left_out(
    datasets: Iterable[str],
    methods: Mapping[str, Instance],
    metrics: Mapping[str, Instance],
    lacks: Mapping[str, Mapping[str, MissingFeature]],
) -> dict[str, dict[str, list[str]]]:
    """Return the datasets that each method, metric and artefact leaves out, by kind and id.

    A dataset that all metrics leave out is not explained, and one that all methods leave out is not
    scored.
    """
    excluded: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for dataset in datasets:
        fits = {
            "methods": {id for id, one in methods.items() if _is_used_on(dataset, one)},
            "metrics": {
                id
                for id, one in metrics.items()
                if _is_used_on(dataset, one) and one.entry.facts.needs not in lacks[dataset]
            },
        }
        for kind, ids in (("methods", methods), ("metrics", metrics)):
            for id in ids:
                if not all(fits.values()) or id not in fits[kind]:
                    excluded[kind][id].append(dataset)
    return {kind: dict(omitted) for kind, omitted in excluded.items()}


def _is_used_on(dataset: str, instance: Instance) -> bool:
    return instance.datasets is None or dataset in instance.datasets
