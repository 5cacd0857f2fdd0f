"""Metrics of explanations of pairs of texts: against loops over the plain model, and by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from engine.exact import plain_pair, plain_probabilities
from metrics.loops import naive_sets
from support import PAIRS

import exparity
from exparity import Explanation, InputError
from exparity.methods import explain
from exparity.metrics.removal import TENTHS

pytestmark = pytest.mark.reference
PAIR, TARGET = PAIRS[0], 2


@pytest.fixture
def one(pair_classifier):
    return explain(pair_classifier, PAIR, TARGET, "gradient_x_input")[0]


@pytest.mark.parametrize("keep", [False, True])
def test_removal_is_a_loop_over_tokens_of_both(pair_classifier, one, keep):
    model, (ids, types), drops = pair_classifier.model, plain_pair(pair_classifier, PAIR), []
    whole = plain_probabilities(model, ids, types)
    for step in naive_sets(one.scores, one.special_mask, "fraction", TENTHS, True):
        top = np.isin(np.arange(len(one)), [*step])
        left = top | one.special_mask if keep else ~top
        drops.append((whole - plain_probabilities(model, ids[left], types[left]))[TARGET])
    metric = "sufficiency" if keep else "comprehensiveness"
    found = exparity.evaluate(
        pair_classifier, [one], metric, based_on="fraction", normalise_over="content"
    )
    assert found[0] == pytest.approx(np.mean(drops), abs=1e-6)


def test_soft_erasure_leaves_what_tells_the_texts_apart(pair_classifiers):
    """Where all of an embedding goes, the token type stays, as positions do."""
    classifier = pair_classifiers["bert"]
    batch = classifier.tokenizer(*PAIR, return_tensors="pt")
    rows = classifier.model.get_input_embeddings()(batch["input_ids"]).detach()
    made = explain(classifier, [PAIR] * 3, [0, 1, 2], "gradient_x_input")
    second = made[0].word_ids >= len(PAIR[0].split())
    # Those of the second text keep nothing, the others all.
    made = [replace(one, scores=second.astype(float)) for one in made]
    with torch.no_grad():
        whole, erased = (
            classifier.model(inputs_embeds=r, token_type_ids=batch["token_type_ids"]).logits
            for r in (rows, rows.index_fill(1, torch.tensor(np.flatnonzero(second)), 0.0))
        )
    drops = (whole.softmax(-1) - erased.softmax(-1))[0].clamp(min=0).numpy()
    assert drops.max() > 1e-3
    found = exparity.evaluate(classifier, made, "soft_comprehensiveness")
    np.testing.assert_allclose(found, drops, atol=1e-6)


def test_sensitivity_measures_the_ball_by_words_alone(pair_classifiers):
    from exparity.metrics import MetricBatch
    from exparity.metrics.sensitivity import _size

    classifier = pair_classifiers["bert"]
    explanations = tuple(explain(classifier, [PAIR], TARGET, "gradient"))
    batch = MetricBatch(classifier, explanations, (explanations[0].scores,), ("k",), 0, "x")
    ids = classifier.tokenizer(*PAIR, return_tensors="pt")["input_ids"][0]
    rows = classifier.model.get_input_embeddings()(ids).detach()
    expected = float(rows[torch.tensor(explanations[0].content_mask)].norm())
    assert _size(batch, 0) == pytest.approx(expected, rel=1e-6)


def test_rationales_mark_the_words_of_both_by_hand(pair_classifier):
    # Eight words in PAIRS[1]: 2 + 6. All the attribution is on "mother" and "thanked".
    first, second = PAIRS[1]
    scores = [0.0, 1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
    made = Explanation.from_words(pair_classifier, (first, second), scores, TARGET)
    assert made.pair == (first, second)
    assert made.word_ids.max() == 7
    for marks, expected in [
        ([0, 1, 0, 0, 1, 0, 0, 0], 1.0),
        ([0, 1, 0, 0, 0, 0, 0, 0], 0.25),
        ([0, 0, 0, 0, 1, 0, 0, 0], 0.75),
        ([1, 0, 1, 1, 0, 1, 1, 1], 0.0),
    ]:
        found = exparity.evaluate(None, [made], "mass_accuracy", rationales=[marks])
        assert found[0] == pytest.approx(expected, abs=1e-6)
    with pytest.raises(InputError, match="its tokens are of 8 words, but the rationale has 2"):
        exparity.evaluate(None, [made], "mass_accuracy", rationales=[[0, 1]])


def test_ids_that_do_not_tell_the_texts_apart_are_refused(pair_classifiers):
    classifier = pair_classifiers["bert"]
    (made,) = explain(classifier, PAIR, TARGET, "gradient")
    plain = replace(made, token_ids=classifier.split_types(made.token_ids)[0])
    with pytest.raises(InputError, match="token_ids do not tell the texts of the pair apart"):
        exparity.evaluate(classifier, [plain], "comprehensiveness")
    single = replace(made, pair=None)
    with pytest.raises(InputError, match="the model reads up to"):
        exparity.evaluate(classifier, [single], "comprehensiveness")
    with pytest.raises(InputError, match="pair must be a tuple of two texts"):
        replace(made, pair=["a", "b"])
