"""Every public name, and every public method of a public class, has an example that runs."""

import doctest
import inspect
import operator
import re
import shutil

import made_up
import pytest

import exparity
from exparity.artefacts.grid import grid_text

pytestmark = pytest.mark.contract


def documented():
    """Yield the name and the docstring of all that a user may call, inherited methods included."""
    for name in exparity.__all__:
        item = getattr(exparity, name)
        yield name, item.__doc__
        for member, value in inspect.getmembers(item) if inspect.isclass(item) else ():
            home = next((parent for parent in item.__mro__ if member in vars(parent)), item)
            is_ours = home.__module__.startswith("exparity.")
            if is_ours and callable(value) and not member.startswith("_"):
                yield f"{name}.{member}", value.__doc__


DOCSTRINGS = dict(documented())


@pytest.fixture(scope="module")
def folder(tmp_path_factory, checkpoints):
    """The folder that the examples run in, with a classifier in ``model`` and a finished run."""
    place = tmp_path_factory.mktemp("examples")
    shutil.copytree(checkpoints["bert"], place / "model")
    study = made_up.config(datasets=1, models=1, seeds=1, methods=2, metrics=2)
    made_up.make_study(place / "results", study, pairs=12)
    grid = grid_text(made_up.grid_of(study))
    (place / "results" / "grid.json").write_text(grid, encoding="utf-8")
    return place


def examples_of(name: str) -> doctest.DocTest:
    return doctest.DocTestParser().get_doctest(DOCSTRINGS[name] or "", {}, name, name, 0)


@pytest.mark.parametrize("name", DOCSTRINGS)
def test_a_public_name_has_an_example_that_runs(name, folder, monkeypatch, one_thread):
    monkeypatch.chdir(folder)
    examples = examples_of(name)
    assert examples.examples, f"{name}: add an `Examples:` block to its docstring"
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    failed, _ = runner.run(examples, out=output.append)
    assert not failed, "".join(output)


def arguments_of(name: str) -> list[str]:
    """The arguments of a public function or method, without those of the class itself."""
    item = operator.attrgetter(name)(exparity)
    return [name for name in inspect.signature(item).parameters if name not in ("self", "cls")]


MADE_ELSEWHERE = {"Classifier"}  # by load_classifier, which describes the arguments
CALLED = [name for name in DOCSTRINGS if arguments_of(name) and name not in MADE_ELSEWHERE]


@pytest.mark.parametrize("name", CALLED)
def test_a_public_name_describes_its_arguments(name):
    lines = inspect.cleandoc(DOCSTRINGS[name] or "")
    missing = [
        argument
        for argument in arguments_of(name)
        if not re.search(rf"^    (.*, )?\**{argument}[:,]", lines, re.MULTILINE)
    ]
    assert not missing, f"{name}: describe {missing} in its docstring"
