"""Presets: partial configs that fill in what a config does not set itself.

``study: text`` follows the text of the published study and ``study: code`` its public code, where
the two differ; ``study: gecobench`` asks the model as often as that benchmark does, and ``study:
ferret`` has the options of that library. A preset names registered ids, so that it reaches an
instance whatever its own name. What comes out is an ordinary config.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from exparity.core.strict import read_yaml
from exparity.models.catalogue import known_id
from exparity.models.spec import merge_training
from exparity.resources import resource

DEFAULT = "default"
_INSTANCES = ("datasets", "methods", "metrics")


@cache
def preset(name: str) -> Mapping[str, Any]:
    """Return a preset: blocks of a config, in which ids are registered ones."""
    if name == DEFAULT:
        return {}
    blocks: dict[str, Any] = read_yaml(resource("presets") / f"{name}.yaml")
    return blocks


def with_preset(config: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what the preset of a config's ``study`` sets and the config does not.

    Training settings that the preset has for some datasets or models come as overrides before the
    config's own.
    """
    chosen = preset(config.get("study", DEFAULT))
    filled = dict(config)
    if not chosen:
        return filled
    for block in _INSTANCES:
        filled[block] = {
            id: _instance(id, settings or {}, chosen.get(block, {}))
            for id, settings in config[block].items()
        }
    if "explains" in chosen:
        filled.setdefault("explains", chosen["explains"])
    filled["training"] = merge_training(chosen.get("training", {}), config.get("training", {}))
    filled["statistics"] = {**chosen.get("statistics", {}), **config.get("statistics", {})}
    filled["overrides"] = [
        *(e for override in chosen.get("overrides", ()) for e in _own_ids(override, config)),
        *config.get("overrides", []),
    ]
    return filled


def _instance(id: str, own: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    replaced = {key: value for key, value in known.get(id, {}).items() if key == "use"}
    use = own.get("use", replaced.get("use", id))
    options = {key: value for key, value in known.get(use, {}).items() if key != "use"}
    return {**replaced, **options, **own}


def _own_ids(override: Mapping[str, Any], config: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Turn a preset's override into some of the config's ids, without what the config sets.

    Models that set different keys themselves get entries of their own.
    """
    match = override["match"]
    datasets = [
        id
        for id, settings in config["datasets"].items()
        if (settings or {}).get("use", id) in match["dataset"]
    ]
    models: dict[str, list[str]] = defaultdict(list)
    for id, settings in config["models"].items():
        if "model" in match and known_id(id, (settings or {}).get("use")) not in match["model"]:
            continue
        own = merge_training(config.get("training", {}), (settings or {}).get("training", {}))
        left = {key: value for key, value in override["training"].items() if key not in own}
        models[json.dumps(left, sort_keys=True)].append(id)
    return [
        {"match": {"dataset": datasets, "model": ids}, "training": json.loads(left)}
        for left, ids in models.items()
        if datasets and left != "{}"
    ]
