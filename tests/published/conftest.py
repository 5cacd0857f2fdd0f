"""The published study, and results that equal it."""

import pytest
from published.made_up import compare, rows_like

from exparity.published.study import load_study


@pytest.fixture(scope="session")
def study():
    return load_study("dhaini2025")


@pytest.fixture(scope="session")
def equal(study):
    """The comparison of 5,040 rows that are equal to what is published."""
    rows = [r for cell in study.cells.values() for r in rows_like(cell)]
    return compare(rows)
