"""Presets: partial configs that fill in what a config does not set itself.

``study: text`` follows the text of the published study and ``study: code`` its public code, where
the two differ; ``study: gecobench`` asks the model as often as that benchmark does, and ``study:
ferret`` has the options of that library. A preset names registered ids, so that it reaches an
instance whatever its own name.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from exparity.core.plain import as_list, as_mapping
from exparity.core.strict import read_yaml
from exparity.resources import resource


@cache
def preset(name: str) -> Mapping[str, object]:
    """Return a preset: blocks of a config, in which ids are registered ones."""
    path = resource("presets") / f"{name}.yaml"
    return read_yaml(path) if path.is_file() else {}


def preset_options(study: str, block: str, name: str) -> Mapping[str, object]:
    """Return the options of a method or metric in a preset; none where it sets none."""
    return as_mapping(as_mapping(preset(study).get(block, {})).get(name, {}))


def with_preset(config: Mapping[str, object]) -> dict[str, object]:
    """Return an unchecked config with the settings of its preset, but those of training."""
    chosen = preset(str(config.get("study")))
    if not chosen:
        return dict(config)
    filled = {"explains": chosen["explains"], **config}
    for block in ("methods", "metrics"):
        if isinstance(entries := config.get(block), Mapping):
            preset_entries = as_mapping(chosen.get(block, {}))
            filled[block] = {
                name: _entry(name, settings, preset_entries) for name, settings in entries.items()
            }
    statistics = config.get("statistics", {})
    if isinstance(statistics, Mapping):
        filled["statistics"] = {**as_mapping(chosen.get("statistics", {})), **statistics}
    return filled


def _entry(name: str, settings: object, preset_entries: Mapping[str, object]) -> object:
    if not isinstance(settings, Mapping | None):
        return settings
    settings = settings or {}
    use = settings.get("use", as_mapping(preset_entries.get(name, {})).get("use", name))
    return {**as_mapping(preset_entries.get(str(use), {})), **settings, "use": use}


def matches(match: Mapping[str, object], cell: Mapping[str, object]) -> bool:
    """Return whether a cell has the ids that an override names; a list names several."""
    return all(
        key in cell and cell[key] in (ids if isinstance(ids, list) else [ids])
        for key, ids in match.items()
    )


def training_of_preset(study: str, dataset: str, model: str | None) -> list[Mapping[str, object]]:
    """Return the training settings of a preset, from general to special, by registered ids."""
    chosen = preset(study)
    ids = {"dataset": dataset, "model": model}
    overrides = [as_mapping(override) for override in as_list(chosen.get("overrides", ()))]
    matching = [o["training"] for o in overrides if matches(as_mapping(o["match"]), ids)]
    return [as_mapping(settings) for settings in (chosen.get("training", {}), *matching)]
