"""A made-up results folder and small experiments."""

from functools import partial

import pytest
from made_up import MadeUp
from support import tiny


@pytest.fixture
def made(tmp_path) -> MadeUp:
    return MadeUp(tmp_path / "results")


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Return a function that makes an experiment in a folder of its own, with default controls."""
    monkeypatch.chdir(tmp_path)
    return partial(tiny, controls={})
