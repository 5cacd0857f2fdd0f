"""Partition SHAP against recursive Owen values in float64, and alone against side by side."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from methods.games import Masked, owen

import exparity
from exparity.methods import attribute
from exparity.methods._owen import owen_values, text_hierarchy
from exparity.metrics import MetricBatch

TEXTS = ["She sings .", "The girl sings .", "His mother thanked the waiter near the harbour ."]


@pytest.mark.reference
def test_equals_the_recursion_when_fully_expanded(classifier):
    texts = ["She sings .", "He sings", "she"]
    found = exparity.explain(classifier, texts, [0, 1, 0], method="shap", max_evals=2000)
    for one, encoding in zip(found, classifier.encode(texts), strict=True):
        n = len(encoding)
        assert n <= 8
        unit_of = np.where(one.special_mask, -1, np.arange(n))
        value = Masked(classifier, one, classifier.mask_id, unit_of)
        tree = text_hierarchy(one.text, encoding.offsets, classifier.tokenizer.sep_token)
        expected = owen(value, tree, n)
        np.testing.assert_allclose(one.scores, expected, atol=1e-5)
        assert np.abs(one.scores[one.special_mask]).max(initial=0) == 0
        # efficiency
        whole, none = value(range(n)), value([])
        assert one.scores.sum() == pytest.approx(whole - none, abs=1e-5)


@pytest.mark.property
def test_texts_side_by_side_do_not_matter(classifier, monkeypatch):
    import exparity.methods.shap as module

    texts = [*TEXTS, TEXTS[0], "He sings"]
    found = []
    for together in (1, 2, 64):
        monkeypatch.setattr(module, "_TOGETHER", together)
        run = exparity.explain(classifier, texts, [0, 1, 0, 1, 1], method="shap", max_evals=20)
        found.append(b"".join(one.scores.tobytes() for one in run))
    assert found[0] == found[1] == found[2]


@pytest.fixture(scope="module")
def shap_package():
    """The package, whose functions are not compiled: that takes ten seconds."""
    from numba import config

    before, config.DISABLE_JIT = config.DISABLE_JIT, 1
    try:
        import shap
    finally:
        config.DISABLE_JIT = before
    return shap


class Spans:
    """A tokenizer for shap, with given tokens."""

    sep_token = "[SEP]"

    def __init__(self, text, spans):
        self.text, self.spans = text, spans

    def __call__(self, text, **_):
        spans = [tuple(span) for span in self.spans.tolist()] if text == self.text else []
        return {"input_ids": list(range(len(spans))), "offset_mapping": spans}


class Masks:
    """A masker for shap that hands masks through; some tokens always stay."""

    immutable_outputs = True
    default_batch_size = 5

    def __init__(self, always, clustering):
        self.always, self.clustering = always, clustering

    def __call__(self, mask, _):
        return ((mask | self.always)[None],)

    def shape(self, _):
        return 1, len(self.always)

    def mask_shapes(self, _):
        return [(len(self.always),)]

    def invariants(self, _):
        return self.always[None]


def of_package(shap, text, spans, always, game, max_evals, seed):
    """(t, c) values of a game, and the (t − 1, 4) hierarchy, by the shap package."""
    clustering = shap.maskers.Text(Spans(text, spans), mask_token=0).clustering(text)
    explainer = shap.PartitionExplainer(game, Masks(always, clustering))
    np.random.seed(seed)  # noqa: NPY002 - the package draws from the global state
    found = explainer.explain_row(
        text,
        max_evals=max_evals,
        main_effects=False,
        error_bounds=False,
        outputs=None,
        silent=True,
        batch_size=5,
        fixed_context=None,
    )
    return found["values"], clustering


PIECES = ["girl ", "un", "known", " ", ", ", ". ", "(", ") ", "'", "t ", "s ", "but ", "? "]
PIECES.append("[SEP] ")


@pytest.mark.reference
@given(
    st.lists(st.sampled_from(PIECES), min_size=2, max_size=20),
    st.integers(10, 90),
    st.integers(0, 999),
)
def test_equals_the_shap_package(shap_package, pieces, max_evals, seed):
    """Hierarchy and values, bit for bit, of a game with interactions and many equal effects."""
    text, n = "".join(pieces), len(pieces)
    ends = np.cumsum([len(piece) for piece in pieces])
    spans = np.stack([np.append(0, ends[:-1]), ends - [piece.endswith(" ") for piece in pieces]], 1)
    always = np.array([piece == "[SEP] " for piece in pieces])
    rng = np.random.default_rng(seed)
    worth, pairs = rng.integers(-2, 3, (n, 2)) / 4, rng.normal(size=(n, 2)) * (seed % 2)

    def game(masks):
        rows = np.asarray(masks, dtype=float)
        return np.array([row @ worth + (row @ pairs) ** 3 for row in rows])

    expected, clustering = of_package(shap_package, text, spans, always, game, max_evals, seed)
    halves = text_hierarchy(text, spans, "[SEP]")
    np.testing.assert_array_equal(halves, clustering[:, :2])
    search = owen_values(halves, always, np.array([0, 1, 1]), max_evals, seed)
    asked = next(search)
    try:
        while True:  # by two versions of the text with one game, and one that follows them
            values = game(asked)
            asked = search.send(np.stack([values, values, 9 * values**2]))
    except StopIteration as end:
        np.testing.assert_array_equal(end.value[:2], expected.T)


@pytest.mark.parametrize(
    ("max_evals", "most_questions", "most_in_vain"), [(2000, 3, 0), (200, 24, 32)]
)
def test_masks_of_later_rounds_are_asked_for_early(max_evals, most_questions, most_in_vain):
    """Large batches: a text that is split to the end is asked about once, others in few rounds."""
    words = ["the ", "girl ", "sings ", "and ", "her ", "mother ", "dances ", "near ", "town "] * 2
    ends = np.cumsum([len(word) for word in words])
    spans = np.stack([np.append(0, ends[:-1]), ends - 1], axis=1)
    worth = np.linspace(-1, 1, len(words))
    asked = []
    search = owen_values(
        text_hierarchy("".join(words), spans, None),
        np.zeros(len(words), dtype=bool),
        np.array([0]),
        max_evals,
        seed=0,
    )
    try:
        question = next(search)
        while True:
            asked.append(question)
            answers = np.array([[np.tanh(row @ worth)] for row in question.astype(float)])
            question = search.send(answers[None])
    except StopIteration:
        pass
    masks = np.concatenate(asked)
    assert len(asked) <= most_questions
    assert len(masks) == len(np.unique(masks, axis=0)) <= max_evals + most_in_vain


@pytest.mark.bits
def test_moved_copies_follow_the_splits_of_their_text(classifiers):
    """A copy that leads itself splits in another order, and so has other values."""
    classifier = classifiers["bert"]
    (one,) = exparity.explain(classifier, TEXTS[2], 1, "shap", max_evals=20)
    rows = [classifier.embed(one.token_ids) * factor for factor in (1, 3)]
    twice = classifier.encode(TEXTS[2:] * 2), np.array([1, 1]), [one.origin] * 2
    led, alone = (
        attribute(classifier, *twice, rows=rows, leaders=np.array(leaders))
        for leaders in ([0, 0], [0, 1])
    )
    np.testing.assert_array_equal(led[0], one.scores)
    np.testing.assert_array_equal(alone[0], one.scores)
    assert not np.array_equal(led[1], alone[1])
    batch = MetricBatch(classifier, (one,), (one.scores,), (one.text,), 0, "sensitivity")
    np.testing.assert_array_equal(batch.attributions(rows[1:], np.array([0]))[1][0], led[1])
