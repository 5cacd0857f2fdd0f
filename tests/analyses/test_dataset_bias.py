"""Bias of datasets: by hand, beside loops, and the published numbers on the published data."""

import csv
import math

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from support import REAL, need

from exparity.analyses.dataset_bias import cooccurrence, word_associations
from exparity.data import DATASETS, load_dataset
from exparity.data.files import DataSource

TERMS = {"m": [["he"], ["him", "his"]], "f": [["she"], ["her"]]}
TEXTS = [
    ("He", "gave", "him", "his", "hat", "."),  # two forms beside gave, hat and the stop: 6
    ("He", "sleeps", "and", "he", "dreams"),  # a form counts once: 3
    ("The", "dog", "barks"),  # none: 0
    ("She", "gave", "him", "her", "hat", "."),  # him is a term, and not of her group: 2 · 3
]
GROUPS = ["m", "m", "m", "f"]


def test_equals_the_sums_of_the_definition():
    rng = np.random.default_rng(0)
    vocabulary = ["he", "him", "his", "she", "her", "dog", "cat", "runs"]
    texts = [tuple(rng.choice(vocabulary, size=rng.integers(1, 9))) for _ in range(60)]
    groups = rng.choice(["m", "f"], size=60).tolist()
    found = cooccurrence(texts, groups, ("m", "f"), TERMS)
    terms = {word for forms in TERMS.values() for form in forms for word in form}
    expected, with_term = {"m": 0, "f": 0}, {"m": 0, "f": 0}
    for text, group in zip(texts, groups, strict=True):
        with_term[group] += any(word in text for form in TERMS[group] for word in form)
        for form in TERMS[group]:
            for word in text:
                if word not in terms and any(term in text for term in form):
                    expected[group] += 1
    total = sum(expected.values())
    values = {(one["quantity"], one["group"]): (one["value"], one["n"]) for one in found}
    for group, count in expected.items():
        assert values["cooccurrence", group] == (count, with_term[group])
        assert values["cooccurrence_share", group] == (count / total, with_term[group])


def test_no_cooccurrence_has_no_share():
    found = cooccurrence([("a",)], ["m"], ("m", "f"), TERMS)
    assert all(math.isnan(one["value"]) for one in found if one["quantity"].endswith("share"))


@pytest.mark.reference
@pytest.mark.parametrize("variant", ["all", "subj"])
def test_published_bias_of_geco(repository, variant):
    """0.499 and 0.476: within 0.001, on both splits together."""
    need((REAL / "geco").is_dir(), f"GECO in {REAL} (name its folder in EXPARITY_DATA)")
    id = f"geco_{variant}"
    rows = load_dataset(id, DataSource(REAL, download=False))
    facts = DATASETS.get(id).facts
    found = cooccurrence(
        [row.words for row in rows], [row.group for row in rows], facts.groups, facts.group_terms
    )
    path = repository / "src/exparity/resources/published/gecobench2024_dataset.csv"
    printed = {
        (row["dataset"], row["quantity"]): float(row["value"])
        for row in csv.DictReader(path.read_text().splitlines())
    }
    share = {one["group"]: one["value"] for one in found if one["quantity"].endswith("share")}
    assert share["female"] == pytest.approx(printed[id, "bias_c"], abs=0.001)


# Words and classes

LABELS = [1, 1, 0, 0]


def test_correlations_equal_numpys_on_dense_values():
    dense = TfidfVectorizer(analyzer=lambda words: [w.lower() for w in words])
    values = dense.fit_transform(TEXTS).toarray()
    found = list(word_associations(TEXTS, LABELS, ["0", "1"]))
    assert len(found) == 2 * values.shape[1]
    for one in found:
        column = values[:, dense.vocabulary_[one["word"]]]
        members = [str(label) == one["class_name"] for label in LABELS]
        assert one["value"] == pytest.approx(np.corrcoef(column, members)[0, 1])
        assert one["n"] == (column > 0).sum()
        assert math.isnan(one["rationale_share"])


def test_shares_of_marked_occurrences():
    marks = [(1, 0, 1, 1, 0, 0), (1, 0, 0, 0, 0), None, (1, 0, 1, 1, 0, 0)]
    found = {
        one["word"]: one["rationale_share"]
        for one in word_associations(TEXTS, LABELS, ["0", "1"], marks)
    }
    assert found["he"] == pytest.approx(2 / 3)
    assert (found["him"], found["hat"]) == (1.0, 0.0)
    assert math.isnan(found["dog"])


def test_a_word_that_never_varies_has_no_correlation():
    found = word_associations([("a",), ("a",)], [0, 1], ["0", "1"])
    assert all(math.isnan(one["value"]) for one in found)
