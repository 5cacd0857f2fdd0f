"""What commands set for a process of their own is put back."""

import pytest


@pytest.fixture(autouse=True)
def _own_process(logging_as_before):
    """Everything here is run as a command."""
