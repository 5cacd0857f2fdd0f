"""Occlusion: a naive loop over texts, ids and embeddings in float64."""

import numpy as np
import pytest
from engine.exact import ExactModel

import exparity

pytestmark = pytest.mark.reference
TEXTS = ["the girl sings near the harbour .", "His mother thanked the waiter ."]


def naive(classifier, encoding, target, per):
    """Leave out one unit after the other, by token ids and without a batch."""
    exact = ExactModel(classifier)
    ids, scores = encoding.token_ids.tolist(), np.zeros(len(encoding))
    whole = exact.probability_of(ids, target)
    unit_of = range(len(ids)) if per == "token" else encoding.word_ids
    for unit in {
        u for u, special in zip(unit_of, encoding.special_mask, strict=True) if not special
    }:
        out = [u == unit and not s for u, s in zip(unit_of, encoding.special_mask, strict=True)]
        left = [i for i, gone in zip(ids, out, strict=True) if not gone]
        fall = whole - exact.probability_of(left or classifier.empty_ids, target)
        scores[out] = fall / sum(out)
    return scores


@pytest.mark.parametrize("per", ["token", "word"])
@pytest.mark.parametrize("target", [0, 1])
def test_occlusion_equals_a_naive_loop(classifiers, per, target):
    classifier = classifiers["bert"]
    found = exparity.explain(classifier, TEXTS, [target] * 2, "occlusion", unit=per)
    for one, encoding in zip(found, classifier.encode(TEXTS), strict=True):
        expected = naive(classifier, encoding, target, per)
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(one.scores, expected, rtol=0, atol=2e-6)
