"""The published study, and results that equal it."""

import pytest
from published.made_up import OPTIONS, rows_like

from exparity.published.cells import compare_results
from exparity.published.study import load_study


@pytest.fixture(scope="session")
def study():
    return load_study("dhaini2025")


@pytest.fixture(scope="session")
def equal_rows(study):
    """All 5,040 rows, equal to what is published."""
    return [r for cell in study.cells.values() for r in rows_like(cell)]


@pytest.fixture(scope="session")
def equal(equal_rows, tmp_path_factory):
    """The comparison of these rows."""
    return compare_results(equal_rows, OPTIONS)
