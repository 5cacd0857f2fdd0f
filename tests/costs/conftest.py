"""A made-up results folder and small experiments."""

import pytest
from made_up import MadeUp
from support import tiny


@pytest.fixture
def made(tmp_path) -> MadeUp:
    return MadeUp(tmp_path / "results")


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """Return a function that makes an experiment in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tiny
