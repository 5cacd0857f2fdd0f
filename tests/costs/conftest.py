"""A made-up results folder and small experiments."""

from __future__ import annotations

import pytest
from made_up import MadeUp
from support import TINY

from exparity.config import Experiment
from exparity.config.schema import read_schema


@pytest.fixture
def made(tmp_path) -> MadeUp:
    return MadeUp(tmp_path / "results")


@pytest.fixture
def experiment(repository, tmp_path, monkeypatch):
    """Return a function that makes an experiment in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    schema = read_schema(repository / "workflow" / "schemas" / "config.schema.yaml")

    def make(**changes) -> Experiment:
        return Experiment.from_config({**TINY, **changes}, schema)

    return make
