"""Metrics of words, sentences and spans: naive loops in float64, and tokens where both agree."""

import math

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from methods.toy import Toy
from methods.training import TEXTS
from methods.training import explained as explained_quickly
from methods.whole_words import of_one_piece
from metrics.loops import naive_gini, naive_sets
from metrics.sweep import drawn, evaluated
from scipy.stats import kendalltau

import exparity
from exparity.engine.classifier import Classifier
from exparity.metrics import METRICS

WITH_UNITS = [id for id in METRICS.ids() if METRICS.get(id).facts.per]
OF_MANY = ["She sings . He left !", "The girl sings near the harbour . Who thanked her ?"]


@pytest.mark.reference
@pytest.mark.parametrize("metric", WITH_UNITS)
def test_words_of_one_piece_are_tokens_bit_for_bit(classifiers, sentences, metric):
    classifier = classifiers["bert"]
    texts = of_one_piece(classifier, sentences)
    explanations = explained_quickly(classifier, texts, [0, 1, 0, 1], "gradient_x_input")
    of_tokens, of_words = (
        evaluated(classifier, explanations, metric, unit=unit) for unit in ("token", "word")
    )
    assert np.isfinite(of_tokens).all()
    assert of_tokens.tobytes() == of_words.tobytes()


def members(one, unit):
    """The places of the tokens of each unit with content, in order."""
    if unit == "token":
        keys = np.where(one.special_mask, -1, np.arange(len(one)))
    elif unit == "word":
        keys = one.word_ids
    else:
        ends = np.cumsum([word in ".!?" for word in one.text.split()])
        of_word = np.append(0, ends[:-1])
        keys = np.where(one.word_ids < 0, -1, of_word[one.word_ids])
    return [np.flatnonzero(keys == key) for key in dict.fromkeys(keys[keys >= 0].tolist())]


def sums(one, unit, over):
    """Sums of attributions of units, by their norm with special tokens or without."""
    own = [math.fsum(one.scores[places]) for places in members(one, unit)]
    norm = math.fsum(map(abs, own))
    if over == "sequence":
        norm += math.fsum(map(abs, one.scores[one.special_mask]))
    return [value / norm for value in own]


@pytest.mark.reference
@pytest.mark.parametrize("unit", ["word", "sentence"])
@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency"])
@pytest.mark.parametrize("based_on", ["fraction", "threshold"])
def test_removal_equals_the_loop(classifier, metric, unit, based_on):
    exact = ExactModel(classifier)
    explanations = drawn(classifier, [*OF_MANY, *TEXTS[:2]])
    params = {"based_on": based_on, "thresholds": [0.05, 0.2, 0.5, 1.0]}
    found = exparity.evaluate(classifier, explanations, metric, unit=unit, **params)
    keep = metric == "sufficiency"
    for one, value in zip(explanations, found, strict=True):
        units, scores = members(one, unit), sums(one, unit, "sequence")
        whole = exact.probability_of(one.token_ids, one.target)
        falls = []
        for top in naive_sets(scores, [False] * len(units), *params.values(), True):
            gone = {p for u, own in enumerate(units) if (u in top) != keep for p in own}
            ids = [token for place, token in enumerate(one.token_ids) if place not in gone]
            ids = ids or list(classifier.empty_ids)
            falls.append(whole - exact.probability_of(ids, one.target))
        expected = math.fsum(falls) / len(falls) if falls else float(keep)
        assert value == pytest.approx(expected, abs=1e-5)


@pytest.mark.reference
@pytest.mark.parametrize("unit", ["token", "word", "sentence"])
def test_concentration_and_correlation_equal_the_loop(classifiers, unit):
    classifier = classifiers["bert"]
    exact, explanations = ExactModel(classifier), drawn(classifier, [*OF_MANY, "girl"])
    found = {
        metric: exparity.evaluate(classifier, explanations, metric, unit=unit, **options)
        for metric, options in {"gini": {}, "sparsity": {"tau": 0.3}, "loo_correlation": {}}.items()
    }
    for index, one in enumerate(explanations):
        units, scores = members(one, unit), sums(one, unit, "content")
        assert found["gini"][index] == pytest.approx(naive_gini(scores), abs=1e-12)
        assert found["sparsity"][index] == np.mean(np.abs(scores) >= 0.3)
        whole = exact.probability_of(one.token_ids, one.target)
        falls = [
            whole - exact.probability_of(np.delete(one.token_ids, own), one.target) for own in units
        ]
        expected = kendalltau(scores, falls).statistic if len(units) > 1 else np.nan
        assert found["loo_correlation"][index] == pytest.approx(expected, abs=1e-9, nan_ok=True)


class Summed(Toy):
    """The sum of a text's embeddings: a word is what its pieces add up to."""

    def forward(self, input_ids=None, inputs_embeds=None, attention_mask=None):
        rows = self.table(input_ids) if inputs_embeds is None else inputs_embeds
        mask = torch.ones(rows.shape[:2]) if attention_mask is None else attention_mask
        sums = super().forward(inputs_embeds=rows, attention_mask=mask)
        sums.logits = self.body((mask[..., None] * rows).sum(1))
        return sums


@pytest.fixture
def planted(classifiers):
    """A model to which a whole name and one of several pieces are the same; and texts of both."""
    tokenizer = classifiers["bert"].tokenizer
    torch.manual_seed(3)
    model = Summed(torch.nn.Linear(6, 2), len(tokenizer))
    whole, cut = "letter", "zxqk"
    ids, pieces = (tokenizer(name, add_special_tokens=False).input_ids for name in (whole, cut))
    assert (len(ids), len(set(pieces))) == (1, 4)
    with torch.no_grad():
        table = model.table.weight
        table.normal_(0, 0.3)
        table[tokenizer.all_special_ids] = 0
        table[pieces] = table[ids[0]] / len(pieces)
    frames = ["nobody expected the {} at work .", "{} left her kitchen", "she asked the {} ."]
    frames += ["where had {} been ?", "his office and {} reached her", "{} left"]
    texts = [[frame.format(name) for frame in frames] for name in (whole, cut)]
    return Classifier(model, tokenizer, device=torch.device("cpu"), max_length=64), texts


class TestPlantedGapOfATokenizer:
    """Two groups that differ in nothing but the pieces that a name is cut into."""

    @pytest.mark.reference
    @pytest.mark.parametrize(
        "metric",
        # What is drawn depends on the text, and two names are two texts.
        [id for id in WITH_UNITS if not id.startswith("soft_") and id != "forward_simulation"],
    )
    def test_is_gone_by_words(self, planted, metric):
        classifier, groups = planted
        by_unit = {}
        for unit in ("token", "word"):
            values = [
                exparity.evaluate(
                    classifier,
                    exparity.explain(classifier, texts, [1] * 6, "gradient_x_input"),
                    metric,
                    unit=unit,
                )
                for texts in groups
            ]
            by_unit[unit] = np.array(values[0]) - np.array(values[1])
        assert np.nanmax(np.abs(by_unit["token"])) > 0.01
        np.testing.assert_allclose(by_unit["word"], 0, atol=1e-6)

    @pytest.mark.reference
    @pytest.mark.parametrize("method", ["occlusion", "kernel_shap", "lime"])
    def test_of_methods_is_gone_by_words(self, planted, method):
        classifier, groups = planted
        options = {"occlusion": {}, "kernel_shap": {"n_samples": 600}, "lime": {"num_samples": 50}}
        values = {
            unit: [
                [
                    one.units("word").summed(one.scores)
                    for one in exparity.explain(
                        classifier, texts, [1] * 6, method, unit=unit, **options[method]
                    )
                ]
                for texts in groups
            ]
            for unit in ("token", "word")
        }
        for one, other in zip(*values["word"], strict=True):
            if method == "lime":  # draws are keyed by the text, whose name is another
                assert len(one) == len(other)
            else:
                np.testing.assert_allclose(one, other, atol=1e-5)
        differ = [np.abs(a - b).max() for a, b in zip(*values["token"], strict=True)]
        assert max(differ) > 1e-4
