"""A method is held to what it declares, and cannot change what it is given."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import exparity
from exparity import ExparityError
from exparity.methods import METHODS

TEXT = "She sings ."


@pytest.fixture
def explained(monkeypatch, classifiers):
    """Return a function that explains a text with a function in a method's place."""

    def explain(function, **facts):
        entry = METHODS.get("lime")
        facts = dataclasses.replace(entry.facts, **facts)
        broken = dataclasses.replace(entry, function=lambda batch, **_: function(batch))
        monkeypatch.setitem(METHODS._entries, "lime", dataclasses.replace(broken, facts=facts))
        return exparity.explain(classifiers["bert"], [TEXT], [0], method="lime")

    return explain


def filled(value):
    return lambda batch: [np.full(length, value) for length in batch.lengths]


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: [], "one score per token of every text"),
        (lambda batch: [np.zeros((length, 1)) for length in batch.lengths], "one score per token"),
        (filled(np.nan), "method lime: gives scores that are not finite real numbers"),
        (filled(np.inf), "not finite real numbers"),
        (filled(1j), "not finite real numbers"),
        (filled("1"), "not finite real numbers"),
        (lambda batch: None, "^'lime' in .*: TypeError: 'NoneType' object is not iterable"),
        (lambda batch: 1 / 0, "^'lime' in .*: ZeroDivisionError: division by zero"),
    ],
)
def test_what_is_not_declared_is_refused(explained, function, message):
    with pytest.raises(ExparityError, match=message):
        explained(function)


def test_scores_of_an_unsigned_method_are_not_negative(explained):
    assert (explained(filled(-1.0), signed=True)[0].scores == -1).all()
    with pytest.raises(ExparityError, match="gives negative scores, and says signed=False"):
        explained(filled(-1.0), signed=False)


def reach(read):
    def write(batch):
        read(batch)[...] = 0
        return filled(1.0)(batch)

    return write


@pytest.mark.parametrize(
    "read",
    [
        lambda batch: batch.targets,
        lambda batch: batch.leaders,
        lambda batch: batch.token_ids[0],
        lambda batch: batch.special_masks[0],
        lambda batch: batch.encodings[0].word_ids,
        lambda batch: batch.encodings[0].offsets,
    ],
)
def test_arrays_cannot_be_written_to(explained, read):
    with pytest.raises(ExparityError, match=r"^'lime' in .*: writes to a read-only array"):
        explained(reach(read))


def test_embeddings_must_not_be_written_to(explained):
    with pytest.raises(ExparityError, match="method lime: writes to its inputs; copy them first"):
        explained(reach(lambda batch: batch.rows[0]))


def test_targets_of_the_caller_stay_as_they_are(classifiers):
    targets = np.array([0])
    exparity.explain(classifiers["bert"], [TEXT], targets, method="gradient")
    targets[0] = 1
