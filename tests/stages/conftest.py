"""What the tests of stages share: a trained cell, and a slow method and metric."""

import sys
from pathlib import Path

import pytest
from stages.cells import prepare_pairs, train
from support import made_once

from exparity.core.registry import load_plugin
from exparity.methods import METHODS
from exparity.metrics import METRICS


@pytest.fixture(scope="session")
def cell(tmp_path_factory) -> Path:
    """Data, checkpoint and predictions of a classifier that is right for some examples only."""
    return made_once("cell", tmp_path_factory, _train)


def _train(folder: Path) -> None:
    prepare_pairs(folder, 60)
    train(folder, epochs=3, learning_rate=0.003)


@pytest.fixture
def slow(monkeypatch, tmp_path):
    """The plug-in, loaded for one test; returns the file that lists its calls."""
    calls = tmp_path / "calls.txt"
    calls.touch()
    monkeypatch.setenv("SLOW_CALLS", str(calls))
    before = set(sys.modules)
    load_plugin(str(Path(__file__).with_name("slow_plugin.py")))
    yield calls
    for name in set(sys.modules) - before:
        if name.startswith("exparity_plugin_slow_plugin"):
            del sys.modules[name]
    METHODS._entries.pop("slow", None)
    METRICS._entries.pop("slow_drop", None)
