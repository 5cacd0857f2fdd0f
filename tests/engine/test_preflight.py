"""The preflight stops jobs that would explain another function."""

import numpy as np
import pytest

from exparity import ExparityError, InputError
from exparity.engine.preflight import check_attributions, check_targets, check_wrapper


def test_sound_wrapper_passes(classifier, sentences):
    check_wrapper(classifier, [e.token_ids for e in classifier.encode(sentences[:4])])


def test_wrapper_of_another_function_is_refused(classifier, sentences, monkeypatch):
    ids = [e.token_ids for e in classifier.encode(sentences[:4])]
    monkeypatch.setattr(classifier, "probabilities", lambda s: np.full((len(s), 2), 0.5))
    with pytest.raises(ExparityError, match="other probabilities on embeddings"):
        check_wrapper(classifier, ids)


def test_target_out_of_range_is_named():
    with pytest.raises(InputError, match="target 2 of example 1: the model has classes 0 to 1"):
        check_targets(np.array([0, 2]), 2)
    with pytest.raises(InputError, match="target -1 of example 0"):
        check_targets(np.array([-1]), 2)


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


def test_sound_attributions_pass():
    check_attributions("gradient", [np.array([0.3]), np.array([0.1, 0.2])])
