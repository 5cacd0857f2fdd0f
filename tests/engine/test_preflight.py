"""The preflight stops jobs that would explain another function."""

from dataclasses import replace

import numpy as np
import pytest
from support import CPU

import exparity
from exparity import ExparityError
from exparity.core import trials
from exparity.engine import preflight
from exparity.engine.classifier import Classifier
from exparity.engine.preflight import check_attributions, check_function
from exparity.jobs.loop import load


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


def test_jobs_of_a_run_compare_a_classifier_once(checkpoints, sentences, monkeypatch, caplog):
    compared = []
    monkeypatch.setattr(trials, "_known", {})
    monkeypatch.setattr(preflight, "_keeps_bits", lambda engine: bool(compared.append(engine)))

    def compare_in_a_job(family, machine=CPU):
        compare(load(checkpoints[family], machine), sentences[:3])
        return len(compared)

    assert [compare_in_a_job("bert") for _ in range(2)] == [1, 1]
    # What may not keep bits says so in every job.
    assert sum("may depend on what shares a batch" in line for line in caplog.messages) == 2
    assert compare_in_a_job("roberta") == 2
    assert compare_in_a_job("bert", replace(CPU, token_budget=64)) == 3
    assert compare_in_a_job("bert", replace(CPU, threads=2)) == 4
    assert compare_in_a_job("bert") == 4
    for _ in range(2):  # of what no job has loaded nothing is remembered
        compare(exparity.load_classifier(checkpoints["bert"], "cpu"), sentences[:3])
    assert len(compared) == 6


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
