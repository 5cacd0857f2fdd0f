"""Explanations of shap keep line ends and blanks of every kind."""

from types import SimpleNamespace

import numpy as np
import pytest
from tiny_models import make, roberta_bpe

import exparity
from exparity import Explanation


@pytest.mark.parametrize(
    "pieces", [["great ", "service", "\n\n", "but ", "bad"], [" leading", " blank "]]
)
def test_pieces_of_blanks_have_tokens_of_their_own(pieces):
    tokenizer = roberta_bpe()
    classifier = exparity.load_classifier((make("roberta", tokenizer), tokenizer), "cpu")
    values = np.arange(1.0, len(pieces) + 1)
    found = Explanation.from_shap(classifier, SimpleNamespace(data=pieces, values=values), 0)
    assert found.text == "".join(pieces)
    assert found.token_ids.tolist() == tokenizer(found.text)["input_ids"]
    assert found.scores.sum() == pytest.approx(values.sum())
