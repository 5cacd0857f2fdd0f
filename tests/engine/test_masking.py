"""Masked texts: equal ones run once; what stands in for a mask token.

That they are the texts with rows replaced is in the tests of the methods that mask.
"""

import numpy as np

from exparity.engine.masking import MaskedTexts


def test_equal_masks_run_once(classifier, monkeypatch):
    encoding = classifier.encode(["She sings ."])[0]
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
