"""Functions that classify: found by name, kept by reference, held to their file."""

import sys

import pytest

from exparity import InputError
from exparity.engine.loading import load_classifier
from exparity.models.functions import load_function, read_function, source_of, write_function
from exparity.models.spec import ModelSpec, TrainingSpec, recorded

SOURCE = """
import numpy as np

class Own:
    @staticmethod
    def predict(texts):
        return np.full((len(texts), 2), 0.5)

predict = Own.predict
number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, with a module of the user's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_black_box.py").write_text(SOURCE)
    yield tmp_path
    sys.modules.pop("own_black_box", None)


def spec(predict="own_black_box:predict", **changes):
    return ModelSpec(predict=predict, classes=("a", "b"), **changes)


@pytest.mark.parametrize("name", ["own_black_box:predict", "own_black_box.py:Own.predict"])
def test_a_function_is_found_from_the_working_folder(here, name):
    assert load_function(name)(["x"]).tolist() == [[0.5, 0.5]]
    assert source_of(name).resolve() == here / "own_black_box.py"


def test_where_a_function_is_needs_no_import(here):
    (here / "own_black_box.py").write_text("raise OSError('broken')")
    assert source_of("own_black_box:predict").is_file()
    with pytest.raises(InputError, match=r"^predict: cannot import module .*: broken"):
        load_function("own_black_box:predict")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_black_box", "names no function; write module:function"),
        ("gone.py:predict", "no file .*gone.py"),
        ("own_black_box:predicts", "no function 'predicts' in own_black_box"),
    ],
)
def test_what_is_no_function_is_one_line(here, name, message):
    with pytest.raises(InputError, match=f"^predict: .*{message}"):
        load_function(name)


def test_a_folder_refers_to_its_function_and_to_its_file_as_it_was(here):
    write_function(here / "model", spec(mask="..."))
    found = read_function(here / "model")
    assert found[:3] == ("own_black_box:predict", ["a", "b"], "...")
    classifier = load_classifier(str(here / "model"), "cpu", token_budget=9, max_calls=1)
    assert classifier.class_names == ("a", "b")
    assert classifier.probabilities([[]]).tolist() == [[0.5, 0.5]]
    (here / "own_black_box.py").write_text(SOURCE + "\n")
    with pytest.raises(InputError, match="to own_black_box:predict, whose file has changed since"):
        read_function(here / "model")
    (here / "model" / "function.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged; run again"):
        read_function(here / "model")


def test_classes_are_of_functions_and_two_or_more():
    for wrong in ({"predict": "m:f", "classes": ("a", "a")}, {"checkpoint": "x", "classes": "ab"}):
        with pytest.raises(InputError, match="classes: "):
            ModelSpec(**wrong)


def test_artefacts_say_of_a_function_what_is_its_own():
    assert recorded(spec(), TrainingSpec(epochs=0)) == {
        "model": {
            "predict": "own_black_box:predict", "classes": ["a", "b"], "mask": None,
        },
        "training": {"epochs": 0},
    }  # fmt: skip
