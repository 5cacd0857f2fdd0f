"""What commands set for a process of their own is put back."""

import logging

import pytest


@pytest.fixture(autouse=True)
def _data_log_as_before():
    """``plan`` leaves what is odd in data to the job that prepares them."""
    logger = logging.getLogger("exparity.data")
    level = logger.level
    yield
    logger.setLevel(level)
