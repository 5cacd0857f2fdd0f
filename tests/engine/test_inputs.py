"""Texts and targets as columns, arrays and generators; names of outputs."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from methods.training import scores_of

import exparity
from exparity import InputError

TEXTS = ["the girl sings", "the waiter was late", "her mother"]


@pytest.fixture
def classifier(classifiers):
    return classifiers["bert"]


NAMES = ["male", "female", "female"]
FORMS = {
    "list": (TEXTS, NAMES),
    "arrow": (pa.array(TEXTS), pa.array(NAMES)),
    "chunked arrow": (pa.chunked_array([TEXTS]), pa.chunked_array([[1, 0, 0]])),
    "column": (pd.Series(TEXTS), pd.Series(NAMES, index=[7, 8, 9])),
    "category": (TEXTS, pd.Series(NAMES).astype("category")),
    "array": (np.array(TEXTS), np.array(NAMES)),
    "objects": (TEXTS, np.array(NAMES, dtype=object)),
    "numbers": (TEXTS, pd.Series([1.0, 0.0, 0.0])),
    "tensor": (TEXTS, torch.tensor([1, 0, 0])),
    "small integers": (TEXTS, np.array([1, 0, 0], dtype=np.int8)),
    "generators": (TEXTS, [True, False, False]),
}


@pytest.mark.parametrize("form", FORMS)
def test_texts_and_targets_of_every_form(classifier, form):
    texts, targets = map(iter, FORMS[form]) if form == "generators" else FORMS[form]
    found = exparity.explain(classifier, texts, targets, "uniform_random", np.int64(3))
    plain = exparity.explain(classifier, TEXTS, [1, 0, 0], "uniform_random", 3)
    assert [e.target for e in found] == [1, 0, 0]
    np.testing.assert_array_equal(scores_of(found), scores_of(plain))


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_text_is_named(classifier, missing):
    with pytest.raises(InputError, match="missing text in row 1; leave it out"):
        exparity.explain(classifier, ["a film", missing], 0, "uniform_random")
