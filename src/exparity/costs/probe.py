"""The probe: a config of the same experiment, as small as its costs can be measured on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from exparity.artefacts.analyses import ANALYSES, config_options
from exparity.costs.planned import ExampleCounts

if TYPE_CHECKING:
    from exparity.config.experiment import Experiment

FOLDER = "plan"
"""Where a probe's results go, below those of the experiment."""

# A method or metric of fewer model passes per example is measured on so many more of them: it
# takes no longer then than one of these, and a few examples would tell more of its start.
_PASSES = 200
_ANALYSIS_PASSES = 30  # one a word


def probe_config(experiment: Experiment, counts: ExampleCounts, examples: int) -> dict[str, Any]:
    """Return the config of a probe.

    It has one seed, one epoch of training, no shards, and small samples.
    """
    config = experiment.resolved()
    first = experiment.seeds[0]
    least = max(examples, counts.largest_set())
    overrides = [_for_seed(o, first) for o in config["overrides"] if _matches_seed(o, first)]
    overrides += _short_trainings(experiment)
    overrides += _small_samples(experiment, least)
    return {
        **config,
        "title": f"Probe of: {config['title']}",
        "results": f"{config['results']}/{FOLDER}",
        "seeds": [first],
        "examples": "all",  # after so little training, none may be classified correctly
        "overrides": overrides,
        "analyses": _small_analyses(config["analyses"], least),
    }


def _matches_seed(override: Mapping[str, Any], seed: int) -> bool:
    wanted = override["match"].get("seed", seed)
    return seed in (wanted if isinstance(wanted, list) else [wanted])


def _for_seed(override: Mapping[str, Any], seed: int) -> dict[str, Any]:
    match = override["match"]
    return {**override, "match": {**match, "seed": seed} if "seed" in match else match}


def _short_trainings(experiment: Experiment) -> Iterator[dict[str, Any]]:
    seed = experiment.seeds[0]
    for dataset, model in experiment.pairs:
        options = json.loads(experiment.finetune_options(dataset, model, seed))
        if int(options["training"]["epochs"]) > 1:
            yield {"match": {"dataset": dataset, "model": model}, "training": {"epochs": 1}}


def _small_samples(experiment: Experiment, examples: int) -> Iterator[dict[str, Any]]:
    seed, pairs = experiment.seeds[0], experiment.pairs
    for metric, instance in experiment.metrics.items():  # of random explanations
        configured = {
            json.dumps(
                experiment.scoring({"dataset": d, "model": m, "seed": seed, "metric": metric})
            )
            for d, m in pairs
        }
        size = _size(examples, instance.entry.facts.passes, configured)
        yield {"match": {"metric": metric}, "metric": {"max_examples": size, "shards": 1}}
    for method, instance in experiment.methods.items():
        configured = {experiment.explain_options(*pair, seed, method) for pair in pairs}
        size = _size(examples, instance.entry.facts.passes, configured)
        yield {"match": {"method": method}, "method": {"max_examples": size, "shards": 1}}
        for metric in experiment.metrics:
            configured = {experiment.evaluate_options(*p, seed, method, metric) for p in pairs}
            size = _size(examples, passes_of(experiment, method, metric), configured)
            match = {"method": method, "metric": metric}
            yield {"match": match, "metric": {"max_examples": size, "shards": 1}}


def _small_analyses(analyses: Mapping[str, Any], examples: int) -> dict[str, Any]:
    small = dict(analyses)
    for name, settings in analyses.items():
        asked = settings or {}
        if "max_examples" in config_options(ANALYSES.get(name)):
            configured = json.dumps({"max_examples": asked.get("max_examples")})
            small[name] = {**asked, "max_examples": _size(examples, _ANALYSIS_PASSES, [configured])}
    return small


def _size(examples: int, passes: int, configured: Iterable[str]) -> int:
    """Return the size of a sample; that of the cell with the smallest one where that is less."""
    sizes: list[int | None] = [json.loads(options)["max_examples"] for options in configured]
    wanted = max(examples, examples * _PASSES // passes)
    return min([wanted, *(size for size in sizes if size is not None)])


def passes_of(experiment: Experiment, method: str, metric: str) -> int:
    """Return how many model passes a metric of a method's explanations takes, roughly."""
    facts = experiment.metrics[metric].entry.facts
    again = experiment.methods[method].entry.facts.passes if facts.needs == "explainer" else 1
    return int(facts.passes * again)
