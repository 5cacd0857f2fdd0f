"""What commands set for a process of their own is put back."""

import pytest

from exparity import cli


@pytest.fixture(autouse=True)
def _own_process(logging_as_before):
    """Everything here is run as a command."""


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command without its log: (exit code, stdout, stderr)."""
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    monkeypatch.setattr("logging.captureWarnings", lambda _: None)

    def call(*arguments):
        code = cli.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call
