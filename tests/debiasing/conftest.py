"""Plug-ins of these tests, which no other test shall see."""

import sys
from pathlib import Path

import pytest

from exparity.core.registry import load_plugin
from exparity.counterfactuals import GENERATORS
from exparity.debiasing import INTERVENTIONS

PLUGINS = [str(Path(__file__).parent / f"{name}_plugin.py") for name in ("pronouns", "mending")]


@pytest.fixture(scope="module", autouse=True)
def plugins():
    """Load a generator and two interventions, and forget them after; returns their files."""
    before = set(sys.modules)
    known = {registry: set(registry.ids()) for registry in (GENERATORS, INTERVENTIONS)}
    for plugin in PLUGINS:
        load_plugin(plugin)
    yield PLUGINS
    for name in set(sys.modules) - before:
        if name.startswith("exparity_plugin_"):
            del sys.modules[name]
    for registry, ids in known.items():
        for id in set(registry.ids()) - ids:
            del registry._entries[id]
