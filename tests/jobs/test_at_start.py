"""A module's start is called before that of the main file, wherever that stands."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from exparity.core.errors import ExparityError
from exparity.jobs.at_start import at_start


@pytest.fixture
def workflow():
    """Of Snakemake's workflow what keeps the function of the main file."""
    from snakemake.api import Workflow  # its own module cannot be imported first

    made = SimpleNamespace(
        _onstart=lambda log: None,
        globals={},
        logger_manager=SimpleNamespace(get_logfile=lambda: "the log"),
        modifier=SimpleNamespace(is_main_snakefile=lambda: True),
    )
    made.onstart = partial(Workflow.onstart, made)
    return made


@pytest.mark.parametrize("main_first", [True, False])
def test_modules_come_before_the_main_file_and_each_study_once(workflow, main_first):
    calls = []
    if main_first:
        workflow.onstart(calls.append)
    for study in ("a", "b", "a"):
        at_start(workflow, study, partial(calls.append, study))
    if not main_first:
        workflow.onstart(calls.append)
    workflow._onstart("the log")
    assert calls == ["a", "b", "the log"]


def test_a_main_file_without_a_start_needs_none(workflow):
    calls = []
    at_start(workflow, "a", partial(calls.append, "a"))
    workflow.modifier.is_main_snakefile = lambda: False
    workflow.onstart(calls.append)  # another module's own
    workflow._onstart("the log")
    assert calls == ["a"]


def test_a_snakemake_that_does_not_let_it_is_refused():
    with pytest.raises(ExparityError, match="run exparity from its own folder"):
        at_start(SimpleNamespace(onstart=print), "a", print)
