"""Occlusion: a naive loop over texts, ids and embeddings in float64, and captum."""

import copy

import numpy as np
import pytest
import torch
from captum.attr import FeatureAblation

import exparity

pytestmark = pytest.mark.reference
TEXTS = ["the girl sings near the harbour .", "His mother thanked the waiter ."]


def probability(model, classifier, ids, target):
    """The target's probability in float64, of a text of its own."""
    ids = list(ids) or list(classifier.empty_ids)
    with torch.no_grad():
        return float(model(torch.as_tensor([ids])).logits.softmax(-1)[0, target])


def naive(classifier, encoding, target, per, absent):
    """Leave out one unit after the other, by token ids and without a batch."""
    model = copy.deepcopy(classifier.model).double()
    ids, scores = encoding.token_ids.tolist(), np.zeros(len(encoding))
    whole = probability(model, classifier, ids, target)
    unit_of = range(len(ids)) if per == "token" else encoding.word_ids
    for unit in {
        u for u, special in zip(unit_of, encoding.special_mask, strict=True) if not special
    }:
        out = [u == unit and not s for u, s in zip(unit_of, encoding.special_mask, strict=True)]
        if absent == "removed":
            left = [i for i, gone in zip(ids, out, strict=True) if not gone]
        else:
            left = [classifier.mask_id if gone else i for i, gone in zip(ids, out, strict=True)]
        fall = whole - probability(model, classifier, left, target)
        scores[out] = fall / sum(out)
    return scores


@pytest.mark.parametrize("absent", ["removed", "masked"])
@pytest.mark.parametrize("per", ["token", "word"])
@pytest.mark.parametrize("target", [0, 1])
def test_equals_the_loop(classifiers, per, absent, target):
    classifier = classifiers["bert"]
    found = exparity.explain(classifier, TEXTS, [target] * 2, "occlusion", unit=per, absent=absent)
    for one, encoding in zip(found, classifier.encode(TEXTS), strict=True):
        expected = naive(classifier, encoding, target, per, absent)
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(one.scores, expected, rtol=0, atol=2e-6)


def test_masked_equals_captum(classifiers):
    """captum leaves one feature out after the other; a word is a feature of several tokens."""
    classifier = classifiers["bert"]
    (one,) = exparity.explain(classifier, TEXTS[:1], [1], "occlusion", unit="word", absent="masked")
    (encoding,) = classifier.encode(TEXTS[:1])
    ablation = FeatureAblation(lambda ids: classifier.model(ids).logits.softmax(-1)[:, 1])
    ids = torch.as_tensor(encoding.token_ids[None])
    groups = torch.as_tensor(encoding.word_ids[None] + 1)  # special tokens together, as 0
    with torch.no_grad():
        peer = ablation.attribute(ids, baselines=classifier.mask_id, feature_mask=groups)[0]
    for word in range(encoding.word_ids.max() + 1):
        here = encoding.word_ids == word
        assert one.scores[here].sum() == pytest.approx(float(peer[here][0]), abs=1e-6)
