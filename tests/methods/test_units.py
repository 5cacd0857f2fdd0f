"""Methods on words, sentences and spans: enumeration in float64, and tokens where both agree."""

import numpy as np
import pytest
from methods.games import Masked, shapley
from methods.training import TEXTS, check_invariance, explained
from methods.whole_words import of_one_piece

import exparity
from exparity.core.seeding import generator
from exparity.explanations.units import sentences as numbers_of_sentences
from exparity.methods import METHODS
from exparity.methods.lime import draw_masks, fit_lime
from exparity.types import Text

WITH_UNITS = [id for id in METHODS.ids() if METHODS.get(id).facts.per]
STORY = (
    "She sings . He thanked Mrs. Waitress ! Who ? The girl sings near the harbour . "
    "His father left ."
)
# Of captum, an algorithm that leaves units out.
OF_UNITS = {"captum": {"algorithm": "FeatureAblation"}}
ALL_COALITIONS = {"kernel_shap": {"n_samples": 4096}, "shap": {"max_evals": 4096}}


@pytest.mark.reference
@pytest.mark.parametrize("method", WITH_UNITS)
def test_words_of_one_piece_are_tokens_bit_for_bit(classifiers, sentences, method):
    classifier = classifiers["bert"]
    texts = of_one_piece(classifier, sentences)
    options = OF_UNITS.get(method, {})
    of_tokens, of_words = (
        explained(classifier, texts, [1] * len(texts), method, **options, unit=unit)
        for unit in ("token", "word")
    )
    for one, other in zip(of_tokens, of_words, strict=True):
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.scores.any()


class Game(Masked):
    """A text whose sentences are there or not."""

    def __init__(self, classifier, one, absent):
        of_word = numbers_of_sentences(one.written)
        self.n = int(of_word.max()) + 1
        super().__init__(
            classifier, one, absent, np.where(one.word_ids < 0, -1, of_word[one.word_ids])
        )

    def of_sentences(self):
        """Attributions that were summed to sentences, which their tokens share evenly."""
        sums = []
        for number in range(self.n):
            own = self.one.scores[self.unit_of == number]
            assert len(set(own)) == 1
            sums.append(own.sum())
        return sums


@pytest.mark.reference
def test_shapley_values_of_sentences_are_exact(classifier):
    (one,) = exparity.explain(
        classifier, STORY, [1], "kernel_shap", unit="sentence", **ALL_COALITIONS["kernel_shap"]
    )
    game = Game(classifier, one, classifier.pad_id)
    assert game.n == 5
    np.testing.assert_allclose(game.of_sentences(), shapley(game, game.n), rtol=0, atol=1e-5)


@pytest.mark.reference
def test_partition_shap_of_two_sentences_is_shapley(classifier):
    (one,) = exparity.explain(classifier, "She sings . He left .", [1], "shap", unit="sentence")
    game = Game(classifier, one, classifier.mask_id)
    np.testing.assert_allclose(game.of_sentences(), shapley(game, 2), rtol=0, atol=1e-5)


@pytest.mark.reference
def test_lime_masks_sentences_and_fits_them(classifiers):
    classifier = classifiers["bert"]
    (one,) = exparity.explain(classifier, STORY, [1], "lime", unit="sentence", num_samples=60)
    game = Game(classifier, one, classifier.mask_id)
    # Special tokens are masked as well: [CLS], the sentences, [SEP].
    masks = draw_masks(game.n + 2, 60, generator(0, "explain", "lime", STORY))
    unit_of = [0, *(game.unit_of[1:-1] + 1), game.n + 1]
    masked = Masked(classifier, one, classifier.mask_id, unit_of)
    worth = [masked(np.flatnonzero(mask)) for mask in masks]
    expected = fit_lime(masks, np.array(worth))[1:-1]
    np.testing.assert_allclose(game.of_sentences(), expected, rtol=0, atol=1e-5)


@pytest.mark.bits
@pytest.mark.property
@pytest.mark.sweep
@pytest.mark.parametrize("method", WITH_UNITS)
@pytest.mark.parametrize("unit", ["word", "spans"])
def test_tokens_of_a_unit_share_it_whatever_the_batch(classifiers, method, unit):
    classifier = classifiers["roberta"]
    whole = [Text.of(text) for text in (STORY, *TEXTS[:3])]
    texts = [Text(t.string, t.spans, tuple(np.arange(len(t.spans)) // 3)) for t in whole]
    options = {**OF_UNITS.get(method, {}), "unit": unit}
    for one in explained(classifier, texts, [1, 0, 1, 0], method, **options):
        units = one.units(unit)
        for number in range(len(units)):
            assert len(set(one.scores[units.unit_of_token == number])) == 1
        # Partition SHAP shares what it does not split with special tokens too, and captum leaves
        # every token out.
        if method not in ("captum", "shap", "shap_package", "uniform_random"):
            assert not one.scores[one.special_mask].any()

    def run(rows):
        chosen = [texts[i] for i in rows], [1 - i % 2 for i in rows]
        return [one.scores.tobytes() for one in explained(classifier, *chosen, method, **options)]

    check_invariance(classifier, run, 4, 1)
