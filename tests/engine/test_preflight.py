"""The preflight stops jobs that would explain another function."""

import numpy as np
import pytest

import exparity
from exparity import ExparityError
from exparity.engine.classifier import Classifier
from exparity.engine.preflight import check_attributions, check_function


def compare(classifier, texts):
    ids = [encoding.token_ids for encoding in classifier.encode(texts)]
    classifier.is_compared = False
    check_function(classifier, ids, texts)


@pytest.mark.parametrize("alone", [True, False])
def test_an_engine_of_another_function_is_refused(classifier, sentences, monkeypatch, alone):
    """Where texts are run alone, or in a batch, only."""
    plain = classifier.probabilities

    def wrong(ids):
        return plain(ids) if (len(ids) == 1) != alone else np.full((len(ids), 2), 0.5)

    monkeypatch.setattr(classifier, "probabilities", wrong)
    with pytest.raises(ExparityError, match="other probabilities on embeddings"):
        compare(classifier, sentences[:9])
    assert not classifier.is_compared


def test_the_longest_text_is_among_those_compared(classifier, sentences, monkeypatch):
    plain, longest = classifier.probabilities, max(sentences[:40], key=len)
    (encoding,) = classifier.encode([longest])

    def wrong(sequences):
        odd = [len(ids) >= len(encoding.token_ids) for ids in sequences]
        return np.where(np.array(odd)[:, None], 0.5, plain(sequences))

    monkeypatch.setattr(classifier, "probabilities", wrong)
    with pytest.raises(ExparityError, match="other probabilities"):
        compare(classifier, sentences[:40])


def test_a_model_that_cannot_run_is_one_line(classifier, sentences, monkeypatch):
    def fail(*_, **__):
        raise AttributeError("'NoneType' object has no attribute 'shape'\nmore")

    monkeypatch.setattr(classifier.model, "forward", fail)
    with pytest.raises(ExparityError, match=r"does not run on embeddings .*'shape'") as error:
        compare(classifier, sentences[:4])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("door", ["explain", "evaluate", "benchmark"])
def test_every_door_compares_first(checkpoints, sentences, monkeypatch, door):
    classifier = exparity.load_classifier(checkpoints["bert"], "cpu")
    found = exparity.explain(classifier, sentences[:3], method="uniform_random")
    classifier = exparity.load_classifier(checkpoints["bert"], "cpu")
    monkeypatch.setattr(Classifier, "probabilities", lambda self, ids: np.full((len(ids), 2), 0.5))
    doors = {
        "explain": lambda: exparity.explain(classifier, sentences[:3], method="uniform_random"),
        "evaluate": lambda: exparity.evaluate(classifier, found, "comprehensiveness"),
        "benchmark": lambda: exparity.benchmark(classifier, sentences[:3], methods=["lime"]),
    }
    with pytest.raises(ExparityError, match="preflight: run in a batch"):
        doors[door]()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.0, 0.0], [0.0, 0.0]], "zero attributions"),
        ([[0.3, 0.3], [0.3, 0.3]], "constant attributions"),
    ],
)
def test_meaningless_attributions_are_refused(scores, message):
    with pytest.raises(ExparityError, match=message):
        check_attributions("gradient", [np.array(s) for s in scores])
