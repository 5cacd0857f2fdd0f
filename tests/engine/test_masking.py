"""Masked texts are the texts with rows replaced, whatever they are asked beside."""

import numpy as np
import pytest
from engine.exact import ExactModel

from exparity.engine.masking import MaskedTexts

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]


@pytest.mark.reference
def test_equals_replaced_rows(classifier):
    encodings = classifier.encode(TEXTS)
    exact = ExactModel(classifier)
    rng = np.random.default_rng(0)
    owners = np.array([0, 1, 1, 0, 1, 0])
    masks = [rng.random(len(encodings[o])) < 0.5 for o in owners]
    masks[3] = masks[0]  # asked twice
    masks[4] = np.zeros(len(encodings[1]), dtype=bool)
    texts = MaskedTexts(classifier, [classifier.embed(e.token_ids) for e in encodings])
    found = texts.probabilities(owners, masks)
    for owner, mask, row in zip(owners, masks, found, strict=True):
        ids = np.where(mask, encodings[owner].token_ids, classifier.mask_id)
        rows = exact.rows(ids)
        expected = [exact.probability(rows, c) for c in range(classifier.n_classes)]
        np.testing.assert_allclose(row, expected, atol=1e-5)
    assert (found[0] == found[3]).all()


def test_equal_masks_run_once(classifier, monkeypatch):
    encoding = classifier.encode(TEXTS[:1])[0]
    texts = MaskedTexts(classifier, [classifier.embed(encoding.token_ids)] * 2)
    asked = []
    inner = classifier.forward
    monkeypatch.setattr(
        classifier, "forward", lambda sizes, build: (asked.extend(sizes), inner(sizes, build))[1]
    )
    mask = np.ones(len(encoding), dtype=bool)
    texts.probabilities(np.array([0, 0, 1]), [mask, mask, mask])
    assert len(asked) == 2
    assert texts.probabilities(np.zeros(0, dtype=np.int64), []).shape == (0, classifier.n_classes)


def test_stand_in_of_models_without_a_mask_token(classifiers):
    assert classifiers["bert"].mask_id == classifiers["bert"].tokenizer.mask_token_id
    tokenizer = classifiers["gpt2"].tokenizer
    assert tokenizer.mask_token is None
    expected = [tokenizer.unk_token_id, tokenizer.pad_token_id, tokenizer.eos_token_id]
    assert classifiers["gpt2"].mask_id == next(i for i in expected if i is not None)
