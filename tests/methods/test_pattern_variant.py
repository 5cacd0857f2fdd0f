"""Pattern variant: dense covariances as loops, and where its training split comes from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods.training import LABELS, LEARNT, training_for

import exparity
from exparity import InputError
from exparity.methods import Training
from exparity.methods.pattern_variant import covariances
from exparity.types import Origin

QUERY = ["The girl thanked her mother .", "An unknown waiter sings"]


def naive_covariances(texts, labels):
    """{(word, class): covariance}, with n − 1, of counts × (ln((1 + n)/(1 + df)) + 1).

    Each text's values are divided by their length.
    """
    n = len(texts)
    lowered = [[word.lower() for word in text] for text in texts]
    vocabulary = sorted({word for text in lowered for word in text})
    rows = []
    for text in lowered:
        row = {}
        for word in vocabulary:
            df = sum(word in other for other in lowered)
            row[word] = text.count(word) * (math.log((1 + n) / (1 + df)) + 1)
        length = math.sqrt(sum(value**2 for value in row.values()))
        rows.append({word: value / length if length else 0 for word, value in row.items()})
    found = {}
    for word in vocabulary:
        for target in range(max(labels) + 1):
            x = [row[word] for row in rows]
            y = [float(label == target) for label in labels]
            mean_x, mean_y = sum(x) / n, sum(y) / n
            found[word, target] = sum(
                (a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)
            ) / (n - 1)
    return found


WORDS = ["she", "he", "She", "sings", ".", "waiter", "don't"]


@pytest.mark.reference
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.integers(0, 2)),
        min_size=2,
        max_size=8,
    )
)
def test_covariances_equal_dense_loops(rows):
    texts, labels = [text for text, _ in rows], [label for _, label in rows]
    pattern = covariances(Training.of((texts, labels)))
    expected = naive_covariances(texts, labels)
    assert pattern == pytest.approx(expected, abs=1e-12)


@pytest.mark.reference
def test_words_of_a_text_have_the_covariances_of_the_training_split(classifier):
    expected = naive_covariances([text.split() for text in LEARNT], LABELS)
    training = training_for("pattern_variant")
    for target in (0, 1):
        found = exparity.explain(classifier, QUERY, [target] * 2, "pattern_variant", **training)
        for one in found:
            for place, word in enumerate(one.text.split()):
                scores = one.scores[one.word_ids == place]
                value = expected.get((word.lower(), target), 0.0)
                assert scores.sum() == pytest.approx(value, abs=1e-12)
                assert np.abs(scores).sum() == pytest.approx(abs(value), abs=1e-12)
            assert (one.scores[one.special_mask] == 0).all()
            assert one.scores.any()


def test_nothing_is_made_dense(monkeypatch):
    import scipy.sparse

    def refuse(self, *_, **__):
        raise AssertionError("made dense")

    for name in ("toarray", "todense"):
        monkeypatch.setattr(scipy.sparse.csr_matrix, name, refuse)
        monkeypatch.setattr(scipy.sparse.csc_matrix, name, refuse)
        monkeypatch.setattr(scipy.sparse.csr_array, name, refuse)
    covariances(Training.of((LEARNT, LABELS)))


def test_computed_once_for_all_batches(classifiers):
    from exparity.methods import explain_encodings

    covariances.cache_clear()
    classifier, training = classifiers["bert"], Training.of((LEARNT, LABELS))
    for text in QUERY:
        encodings = classifier.encode([text])
        origins = [Origin("pattern_variant", {}, 0, text)]
        explain_encodings(classifier, encodings, np.array([0]), origins, training=training)
    assert covariances.cache_info().misses == 1


@pytest.mark.parametrize(
    ("training", "message"),
    [
        (None, "works with the texts that the model was trained on; give `training`"),
        ((LEARNT, LABELS[:-1]), r"6 texts but labels of shape \(5,\)"),
    ],
)
def test_bad_training_is_named(classifiers, training, message):
    with pytest.raises(InputError, match=message):
        exparity.explain(classifiers["bert"], QUERY, [0, 1], "pattern_variant", training=training)
