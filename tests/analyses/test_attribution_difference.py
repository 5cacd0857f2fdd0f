"""Attribution of words within matched sets: the unit is the set, the test scipy's."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from made_up import filled

from exparity.analyses.attribution_difference import WordPair, attribution_differences
from exparity.analyses.attribution_difference.section import difference_tables
from exparity.stats.multiplicity import holm


def pairs(rng, n_sets=30, words=(("He", "She"), ("his", "her")), shift=0.05):
    found = []
    for i in range(n_sets):
        for a, b in words:
            values = rng.uniform(0, 0.5, size=2)
            found.append(WordPair(f"{i:03d}", a, b, values[0] + shift, values[1]))
    return found


def test_differences_are_those_worked_out_by_hand():
    """One set has the word twice: it counts once, with its mean."""
    given = [
        WordPair("1", "he", "she", 0.5, 0.3),
        WordPair("1", "He", "She", 0.1, 0.1),
        WordPair("2", "he", "she", 0.2, 0.4),
        WordPair("2", "king", "queen", 0.3, 0.1),
    ]
    together, he, king = attribution_differences(given, min_sets=1)
    assert (together.word_a, together.n_sets, together.n_words) == ("", 2, 4)
    # Set 1: 0.3 and 0.2 on average; set 2: 0.25 and 0.25.
    assert together.mean_difference == pytest.approx((0.1 + 0.0) / 2)
    assert together.mean_absolute_difference == pytest.approx((0.2 + 0 + 0.2 + 0.2) / 4)
    assert (he.word_a, he.word_b, he.n_sets, he.n_words) == ("he", "she", 2, 3)
    assert (he.mean_a, he.mean_b) == (pytest.approx(0.25), pytest.approx(0.3))
    assert he.mean_difference == pytest.approx((0.1 - 0.2) / 2)
    assert (king.n_sets, king.p) == (1, 1.0)
    assert math.isnan(king.d_z)


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
        assert row.p == pytest.approx(scipy.stats.wilcoxon(differences).pvalue)
        assert row.d_z == pytest.approx(np.mean(differences) / np.std(differences, ddof=1))


def test_words_are_corrected_together_and_rare_ones_are_not_tested():
    rng = np.random.default_rng(1)
    given = pairs(rng) + pairs(rng, n_sets=5, words=(("king", "queen"),))
    together, *words = attribution_differences(given, min_sets=6)
    assert [row.word_a for row in words] == ["he", "his", "king"]
    assert math.isnan(words[2].p)
    assert math.isnan(words[2].p_holm)
    expected = holm([words[0].p, words[1].p])
    assert [words[0].p_holm, words[1].p_holm] == pytest.approx(expected.tolist())
    assert together.p_holm == together.p


def test_undefined_values_are_left_out():
    given = pairs(np.random.default_rng(4), words=(("he", "she"),))
    broken = [WordPair("x", "he", "she", math.nan, 0.1), *given]
    assert attribution_differences(broken) == attribution_differences(given)
    assert attribution_differences([broken[0]]) == []
    assert attribution_differences([]) == []


class TestPooled:
    """Words as one sample, as in figures 7 and 8 of Wilming et al. 2024."""

    def test_the_test_is_scipys_on_all_words(self):
        given = pairs(np.random.default_rng(5), shift=0.02)
        for row in attribution_differences(given, pooled=True):
            words = [p for p in given if row.word_a in ("", p.word_a.lower())]
            differences = [p.value_a - p.value_b for p in words]
            assert row.p_pooled == pytest.approx(scipy.stats.wilcoxon(differences).pvalue)
            assert row.mean_absolute_difference == pytest.approx(np.abs(differences).mean())

    def test_nothing_else_changes_and_it_is_off_by_default(self):
        given = pairs(np.random.default_rng(6))
        pooled = attribution_differences(given, pooled=True)
        for row, other in zip(attribution_differences(given), pooled, strict=True):
            assert math.isnan(row.p_pooled)
            assert replace(other, p_pooled=0.0) == replace(row, p_pooled=0.0)

    def test_too_few_words_are_not_tested(self):
        given = pairs(np.random.default_rng(7), n_sets=2)
        together, *words = attribution_differences(given, min_sets=4, pooled=True)
        assert together.p_pooled == together.p_pooled  # four words
        assert math.isnan(together.p)  # of two sets
        assert all(math.isnan(row.p_pooled) for row in words)

    def test_words_that_go_together_are_found_too_often(self, pytestconfig):
        """Without a difference, if each set moves all its words."""
        n_studies = 200 if pytestconfig.getoption("--exhaustive") else 100
        rng = np.random.default_rng(8)
        words = [("he", "she"), ("his", "her"), ("man", "woman"), ("king", "queen")]
        found = {"p": 0, "p_pooled": 0}
        for _ in range(n_studies):
            given = []
            for i in range(25):
                shift = rng.normal(0, 0.1)
                for a, b in words:
                    values = rng.normal(0.5, 0.05, 2)
                    given.append(WordPair(f"{i}", a, b, values[0] + shift, values[1]))
            together, *_ = attribution_differences(given, pooled=True)
            for name in found:
                found[name] += getattr(together, name) <= 0.05
        assert found["p"] < 0.09 * n_studies
        assert found["p_pooled"] > 0.25 * n_studies


def test_the_section_shows_the_pooled_test_where_it_is_made():
    rows = []
    for seed, p_pooled in enumerate((0.001, 0.2, 0.03)):
        row = filled(
            "attribution_differences", dataset="d", model="m", seed=seed, method="lime",
            group_a="male", group_b="female", word_a="", word_b="", p=0.5, p_holm=0.5,
            p_pooled=p_pooled, mean_absolute_difference=0.1 * (seed + 1), mean_difference=0.1,
        )  # fmt: skip
        rows.append(row)
    (table,) = difference_tables(rows, 0.05)
    difference = table.cells["m", "lime", ("", "")]
    assert table.is_pooled
    assert (difference.significant_pooled, difference.tested_pooled) == (2, 3)
    assert difference.median_p_pooled == 0.03
    assert difference.mean_absolute == pytest.approx(0.2)
    (table,) = difference_tables([{**row, "p_pooled": math.nan} for row in rows], 0.05)
    assert not table.is_pooled
