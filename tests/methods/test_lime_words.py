"""LIME on words: the lime package's explainer for text on the same draws, and its bags of words."""

import numpy as np
import pytest

import exparity
from exparity.core.seeding import generator
from exparity.methods._words import words_of
from exparity.methods.lime import draw_masks

TEXTS = ["the girl sings near the harbour .", "His mother thanked the waiter ."]


class Replay:
    """Stands in for the random state of the lime package and repeats masks drawn before."""

    def __init__(self, masks):
        self.removed = [np.flatnonzero(~mask) for mask in masks[1:]]
        self.turn = iter(self.removed)

    def randint(self, low, high, size):
        sizes = np.array([len(removed) for removed in self.removed])
        assert len(sizes) == size
        assert ((sizes >= low) & (sizes < high)).all()
        return sizes

    def choice(self, features, size, replace):
        removed = next(self.turn)
        assert len(removed) == size
        assert not replace
        assert np.isin(removed, features).all()
        return removed


@pytest.mark.reference
@pytest.mark.parametrize("target", [0, 1])
def test_equals_the_lime_package_on_the_same_draws(classifiers, target):
    """Texts of words that are removed as text, tokenized anew and run by token ids."""
    from lime.lime_text import LimeTextExplainer

    classifier, num_samples = classifiers["bert"], 60

    def probabilities(texts):
        ids = classifier.tokenizer([" ".join(text.split()) for text in texts])["input_ids"]
        return classifier.probabilities(ids)

    found = exparity.explain(
        classifier, TEXTS, [target] * 2, "lime_words", 7, num_samples=num_samples
    )
    for one in found:
        words = one.text.split()
        features = list(dict.fromkeys(words))
        draws = generator(7, "explain", "lime_words", one.text)
        masks = draw_masks(len(features), num_samples, draws)
        peer = LimeTextExplainer(split_expression=str.split, feature_selection="none")
        peer.random_state = Replay(masks)
        weights = peer.explain_instance(
            one.text, probabilities, labels=(target,), num_features=99, num_samples=num_samples
        ).local_exp[target]
        by_word = dict(weights)
        # lime numbers its words in the order of their first appearance, too.
        expected = [by_word[features.index(word)] for word in words]
        sums = [one.scores[one.word_ids == word].sum() for word in range(len(words))]
        np.testing.assert_allclose(sums, expected, atol=1e-6)


def test_a_word_that_is_cut_off_comes_back_whole(classifiers):
    classifier = classifiers["roberta"]
    text = "harbour " * 80
    encoding = classifier.encode([text])[0]
    assert encoding.truncated
    assert set(words_of(encoding).values()) == {"harbour"}
