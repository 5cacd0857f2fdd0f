"""Attribution of words within matched sets: the unit is the set, the test scipy's."""

import math

import numpy as np
import pytest
import scipy.stats

from exparity.analyses.attribution_difference import WordPair, attribution_differences
from exparity.stats.multiplicity import holm


def pairs(rng, n_sets=30, words=(("He", "She"), ("his", "her")), shift=0.05):
    found = []
    for i in range(n_sets):
        for a, b in words:
            values = rng.uniform(0, 0.5, size=2)
            found.append(WordPair(f"{i:03d}", a, b, values[0] + shift, values[1]))
    return found


def test_by_hand():
    """One set has the word twice: it counts once, with its mean."""
    given = [
        WordPair("1", "he", "she", 0.5, 0.3),
        WordPair("1", "He", "She", 0.1, 0.1),
        WordPair("2", "he", "she", 0.2, 0.4),
        WordPair("2", "king", "queen", 0.3, 0.1),
    ]
    together, he, king = attribution_differences(given, min_sets=1)
    assert (together["word_a"], together["n_sets"], together["n_words"]) == ("", 2, 4)
    # Set 1: 0.3 and 0.2 on average; set 2: 0.25 and 0.25.
    assert together["mean_difference"] == pytest.approx((0.1 + 0.0) / 2)
    assert together["mean_absolute_difference"] == pytest.approx((0.2 + 0 + 0.2 + 0.2) / 4)
    assert (he["word_a"], he["word_b"], he["n_sets"], he["n_words"]) == ("he", "she", 2, 3)
    assert (he["mean_a"], he["mean_b"]) == (pytest.approx(0.25), pytest.approx(0.3))
    assert he["mean_difference"] == pytest.approx((0.1 - 0.2) / 2)
    assert (king["n_sets"], king["p"]) == (1, 1.0)
    assert math.isnan(king["d_z"])


def test_the_test_is_scipys_on_means_of_sets():
    given = pairs(np.random.default_rng(0))
    together, *words = attribution_differences(given)
    for row, chosen in zip(
        [together, *words],
        [given, [p for p in given if p.word_a == "He"], [p for p in given if p.word_a == "his"]],
        strict=True,
    ):
        sets: dict[str, list[float]] = {}
        for pair in chosen:
            sets.setdefault(pair.set_id, []).append(pair.value_a - pair.value_b)
        differences = [np.mean(values) for values in sets.values()]
        assert row["p"] == pytest.approx(scipy.stats.wilcoxon(differences).pvalue)
        assert row["d_z"] == pytest.approx(np.mean(differences) / np.std(differences, ddof=1))


def test_words_are_corrected_together_and_rare_ones_are_not_tested():
    rng = np.random.default_rng(1)
    given = pairs(rng) + pairs(rng, n_sets=5, words=(("king", "queen"),))
    together, *words = attribution_differences(given, min_sets=6)
    assert [row["word_a"] for row in words] == ["he", "his", "king"]
    assert math.isnan(words[2]["p"])
    assert math.isnan(words[2]["p_holm"])
    expected = holm([words[0]["p"], words[1]["p"]])
    assert [words[0]["p_holm"], words[1]["p_holm"]] == pytest.approx(expected.tolist())
    assert together["p_holm"] == together["p"]


def test_undefined_values_are_left_out():
    given = pairs(np.random.default_rng(4), words=(("he", "she"),))
    broken = [WordPair("x", "he", "she", math.nan, 0.1), *given]
    assert attribution_differences(broken) == attribution_differences(given)
    assert attribution_differences([broken[0]]) == []
    assert attribution_differences([]) == []
