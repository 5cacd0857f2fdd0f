"""Texts and targets as columns, arrays and generators; names of outputs."""

import numpy as np
import pandas as pd
import pytest
import torch

import exparity
from exparity import InputError

TEXTS = ["the girl sings", "the waiter was late", "her mother"]


@pytest.fixture
def classifier(classifiers):
    return classifiers["bert"]


NAMES = ["male", "female", "female"]
TARGETS = {
    "list": NAMES,
    "column": pd.Series(NAMES, index=[7, 8, 9]),
    "category": pd.Series(NAMES).astype("category"),
    "array": np.array(NAMES),
    "objects": np.array(NAMES, dtype=object),
    "numbers": pd.Series([1, 0, 0]),
    "tensor": torch.tensor([1, 0, 0]),
}


@pytest.mark.parametrize("form", TARGETS)
def test_targets_of_every_form(classifier, form):
    found = exparity.explain(classifier, TEXTS, TARGETS[form], "uniform_random")
    assert [e.target for e in found] == [1, 0, 0]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_text_is_named(classifier, missing):
    with pytest.raises(InputError, match="missing text in row 1; leave it out"):
        exparity.explain(classifier, ["a film", missing], 0, "uniform_random")
