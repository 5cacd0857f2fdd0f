"""What the tests of stages share: a trained cell, and a slow method and metric."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import CPU

from exparity.core.registry import load_plugin
from exparity.methods import METHODS
from exparity.metrics import METRICS
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare


@pytest.fixture(scope="session")
def cell(tmp_path_factory) -> Path:
    """Data, checkpoint and predictions of a classifier that is right for some examples only."""
    folder = tmp_path_factory.mktemp("cell")
    prepare(
        folder / "data.parquet",
        use="pairs_all",
        params={"n_pairs": 60},
        data_dir=folder,
        dataset_id="pairs",
    )
    finetune_cell(
        folder / "data.parquet",
        folder / "mine" / "3",
        folder / "predictions.parquet",
        model={
            "init": "scratch",
            "architecture": "bert",
            "size": {
                "hidden_size": 16,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "intermediate_size": 32,
            },
        },
        training={"epochs": 3, "learning_rate": 0.003},
        model_id="mine",
        seed=3,
        machine=CPU,
    )
    return folder


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
