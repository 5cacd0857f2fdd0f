"""Texts and targets as columns, arrays and generators; names of outputs."""

import numpy as np
import pandas as pd
import pytest
import torch
from tiny_models import make, wordpiece

import exparity
from exparity import InputError

TEXTS = ["I loved this film", "the nurse was late", "bad film"]


@pytest.fixture(scope="module")
def parts():
    tokenizer = wordpiece()
    names = {"id2label": {0: "neg", 1: "pos"}, "label2id": {"neg": 0, "pos": 1}}
    return make("bert", tokenizer, **names), tokenizer


@pytest.fixture(scope="module")
def classifier(parts):
    return exparity.load_classifier(parts, "cpu")


NAMES = ["pos", "neg", "neg"]
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


@pytest.mark.parametrize(
    "texts", [pd.Series(TEXTS), np.array(TEXTS), tuple(TEXTS), (text for text in TEXTS)]
)
def test_texts_of_every_form(classifier, texts):
    found = exparity.explain(classifier, texts, 0, "uniform_random")
    assert [e.text for e in found] == TEXTS


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_text_is_named(classifier, missing):
    with pytest.raises(InputError, match="missing text in row 1; leave it out"):
        exparity.explain(classifier, ["a film", missing], 0, "uniform_random")
