"""A module's start is called before that of the main file, wherever that stands."""

from functools import partial
from types import SimpleNamespace

import pytest

from exparity.core.errors import ExparityError
from exparity.jobs.at_start import at_start, before_plan


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


@pytest.fixture
def planned():
    """Of Snakemake's workflow what plans and runs; it returns what it is told to."""
    made = SimpleNamespace(calls=[], answer=None)

    def execute(*, executor_plugin, updated_files):
        made.calls.append(("execute", updated_files))
        return made.answer

    made.execute = execute
    return made


def execute(workflow) -> None:
    executor_plugin = SimpleNamespace(common_settings="settings")
    workflow.execute(executor_plugin=executor_plugin, updated_files=None)


def test_a_study_begins_once_before_the_plan(planned):
    for study in ("a", "b", "a"):
        before_plan(planned, study, lambda settings, study=study: planned.calls.append(study))
    execute(planned)
    assert planned.calls == ["a", "b", ("execute", None)]


def test_a_run_whose_input_does_not_appear_ends_with_an_error(planned):
    before_plan(planned, "a", lambda settings: None)
    execute(planned)
    planned.answer = False
    with pytest.raises(SystemExit) as ended:
        execute(planned)
    assert ended.value.code == 1
