"""Shortcuts leave work out, and change nothing but rounding."""

import numpy as np
import pytest

from exparity import InputError, load_classifier
from exparity.engine.shortcuts import check_family


@pytest.fixture
def quick(request, checkpoints, classifier):
    return load_classifier(checkpoints[classifier.model.config.model_type], "cpu", shortcuts=True)


@pytest.mark.parametrize("exact", [True, False], ids=["equal lengths", "padded"])
def test_probabilities_are_those_without(classifier, quick, sentences, exact, monkeypatch):
    monkeypatch.setattr(quick, "exact", exact)
    ids = [e.token_ids for e in classifier.encode(sentences)]
    np.testing.assert_allclose(quick.probabilities(ids), classifier.probabilities(ids), atol=1e-6)


def test_an_unknown_family_is_refused(classifier, monkeypatch):
    monkeypatch.setattr(classifier.model.config, "model_type", "deberta", raising=False)
    with pytest.raises(InputError, match=r"shortcuts: not available for models of type 'deberta'"):
        check_family(classifier.model)
