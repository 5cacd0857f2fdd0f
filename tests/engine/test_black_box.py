"""A function of texts as a classifier: what it is asked, how often, and what comes of it."""

from dataclasses import replace
from itertools import product
from math import exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.training import quick
from tiny_models import make, wordpiece

import exparity
from exparity import ExparityError, InputError, Text
from exparity.engine.batching import padded
from exparity.engine.black_box import pieces_of
from exparity.methods import METHODS
from exparity.metrics import METRICS

CLASSES = ["negative", "positive"]
WEIGHTS = {"warm": 0.2, "funny": 0.1, "terrible": -0.25, "not": -0.05}
PLAIN = ["I loved this film", "terrible and not funny", "warm warm , and funny"]
WILD = [
    "  a warm\n\nfilm, not  funny!\t",
    "我喜欢这部电影",
    "naïve\u00a0café …",
    " terrible",
]


def linear(texts):
    """Probabilities that are 0.5 and the weights of the words."""
    positive = np.array([0.5 + sum(WEIGHTS.get(w, 0) for w in text.split()) for text in texts])
    return np.stack([1 - positive, positive], axis=1)


def curved(texts):
    """Words that act on each other, and where they stand."""
    scores = [
        sum(WEIGHTS.get(word, 0.02) * (8 - place) for place, word in enumerate(text.split()))
        * (-1 if "not" in text.split() else 1)
        for text in texts
    ]
    positive = np.array([1 / (1 + exp(-score)) for score in scores])
    return np.stack([1 - positive, positive], axis=1)


class Recording:
    """A function that remembers the texts of each call."""

    def __init__(self, function=linear):
        self.function, self.calls = function, []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return self.function(texts)

    @property
    def texts(self):
        return [text for call in self.calls for text in call]


def box(function=linear, **options):
    return exparity.load_classifier(function, classes=CLASSES, **options)


@pytest.fixture(scope="module")
def wrapped():
    """A model of transformers with one piece a word, and a function around it."""
    tokenizer = wordpiece()
    model = make("bert", tokenizer)

    def predict(texts):
        inputs = tokenizer(texts, return_tensors="pt", padding=True)
        return model(**inputs).logits.softmax(-1)  # with the gradients that torch keeps

    return exparity.load_classifier((model, tokenizer), "cpu"), predict


@pytest.mark.reference
@pytest.mark.parametrize("metric", ["comprehensiveness", "sufficiency", "loo_correlation"])
def test_removal_from_a_wrapped_model_is_that_from_the_model(wrapped, metric):
    model, predict = wrapped
    values = []
    for classifier in (model, box(predict)):
        explanations = [
            exparity.Explanation.from_words(
                classifier, text, np.arange(len(text.split()), 0, -1.0) - 2.5, 1
            )
            for text in ("I loved this film , it was warm and funny", "the nurse was late")
        ]
        values.append(exparity.evaluate(classifier, explanations, metric))
    assert values[1] == pytest.approx(values[0], abs=1e-6)


@pytest.mark.reference
@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("occlusion", {}),
        ("kernel_shap", {"n_samples": 100}),
        ("shap", {"max_evals": 5000}),
        ("lime", {"num_samples": 400, "ridge": 1e-9}),
        ("lime_words", {"num_samples": 400, "ridge": 1e-9}),
    ],
)
def test_weights_of_a_bag_of_words_are_found(method, options):
    for found in exparity.explain(
        box(), ["not so terrible", "warm and funny film"], 1, method, **options
    ):
        wanted = [WEIGHTS.get(word, 0) for word in found.tokens]
        assert found.scores == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("text", [*PLAIN, *WILD, Text.of_words(["我", "喜欢", "", "电影"], "")])
def test_a_whole_text_is_asked_about_byte_for_byte(text):
    predict = Recording()
    function = box(predict)
    exparity.explain(function, [text], 1, "uniform_random")
    string = text if isinstance(text, str) else text.string
    first, _, last = predict.texts  # in company and alone
    assert first == last == string
    pieces = pieces_of(text if isinstance(text, Text) else Text.of(text)).values()
    assert "".join(piece.blanks + piece.body for piece in pieces) == string


def test_a_word_goes_with_the_blanks_before_it():
    predict = Recording()
    exparity.explain(box(predict), ["a  warm,\n\nlong film "], 1, "occlusion")
    asked = {"warm,\n\nlong film ", "a\n\nlong film ", "a  warm, film ", "a  warm,\n\nlong"}
    assert asked < {*predict.texts}
    assert len({*predict.texts}) == 5


def test_space_between_words_goes_with_the_later_one():
    text = Text("warm, (funny) film", ((0, 4), (7, 12), (14, 18)))
    function = box()
    (encoding,) = function.encode([text])
    assert encoding.tokens == ("warm", "funny", "film")
    one, two, three = encoding.token_ids.tolist()
    assert function.text_of([one, three]) == "warm) film"
    assert function.text_of([two, three]) == ", (funny) film"


def test_a_masked_word_keeps_its_place():
    predict = Recording()
    exparity.explain(box(predict, mask="..."), ["a  warm\nfilm"], 1, "lime", num_samples=60)
    words = [(word, "...") for word in ("a", "warm", "film")]
    assert {*predict.texts} == {f"{a}  {b}\n{c}" for a, b, c in product(*words)}


words = st.lists(st.sampled_from([*WEIGHTS, "film", "a", "…"]), min_size=1, max_size=6)


@pytest.mark.property
@settings(max_examples=25)
@given(
    st.lists(words.map(" ".join), min_size=1, max_size=5),
    st.sampled_from(["occlusion", "lime", "lime_words", "kernel_shap", "shap"]),
    st.randoms(),
)
def test_order_and_company_do_not_matter(texts, method, random):
    alone = {text: exparity.explain(box(curved), text, 1, method)[0].scores for text in texts}
    random.shuffle(texts)
    for found in exparity.explain(box(curved), texts, 1, method):
        assert found.scores.tolist() == alone[found.text].tolist()


def test_sizes_of_calls_do_not_matter(monkeypatch):
    def found():
        function = box(curved)
        explained = exparity.explain(function, PLAIN, 1, "lime", num_samples=40)
        return [one.scores.tolist() for one in explained]

    wanted = found()
    monkeypatch.setattr("exparity.engine.black_box._TOGETHER", 1)
    monkeypatch.setattr("exparity.engine.black_box._ROWS", 7)
    assert found() == wanted


def test_no_text_is_asked_about_twice():
    """But three, which are asked again once."""
    predict = Recording()
    function = box(predict)
    explained = exparity.explain(function, PLAIN * 2, 1, "occlusion")
    again = exparity.explain(function, PLAIN, 1, "occlusion")
    for metric in ("comprehensiveness", "loo_correlation"):
        exparity.evaluate(function, explained, metric)
    assert [one.scores.tolist() for one in again] == [o.scores.tolist() for o in explained[:3]]
    assert function.calls == len(predict.texts) == len({*predict.texts}) + 3


def test_a_budget_is_kept_and_its_error_says_how_many_are_needed():
    predict = Recording()
    with pytest.raises(
        InputError, match="max_calls 5: this needs 6 texts or more, and 3 were sent"
    ):
        exparity.explain(box(predict, max_calls=5), PLAIN[0], 1, "occlusion")
    without_last, _, _ = PLAIN[0].rpartition(" ")
    assert predict.texts == [PLAIN[0], without_last, PLAIN[0]]  # nothing is asked in vain
    (found,) = exparity.explain(box(max_calls=6), PLAIN[0], 1, "occlusion")
    assert len(found) == 4


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: np.ones((len(texts), 3)) / 3, r"\(2, 3\) for 2 texts; it must be \(2, 2\)"),
        (lambda texts: [["a", "b"]] * len(texts), "must return numbers"),
        (lambda texts: np.full((len(texts), 2), 0.9), r"\[0.9, 0.9\] for 'bad'; .* \[1 - p, p\]"),
        (lambda texts: 1 / 0, "predict fails: ZeroDivisionError: division by zero"),
    ],
)
def test_what_a_function_returns_is_held_to_probabilities(function, message):
    with pytest.raises(ExparityError, match=message):
        exparity.explain(box(function), "bad", 1, "occlusion")


def test_answers_by_chance_or_by_company_are_refused():
    rng = np.random.default_rng(0)

    def by_chance(texts):
        positive = rng.random(len(texts))
        return np.stack([1 - positive, positive], axis=1)

    def by_company(texts):
        positive = np.full(len(texts), 1 / (1 + len(texts)))
        return np.stack([1 - positive, positive], axis=1)

    for function in (by_chance, by_company):
        with pytest.raises(ExparityError, match="when it is called with this text alone"):
            exparity.explain(box(function), PLAIN, 1, "occlusion")


@pytest.mark.parametrize("text", [PLAIN[0], "funny"])
def test_company_counts_also_where_one_text_is_explained(text):
    def by_share(texts):
        positive = np.array([len(text) for text in texts], dtype=float)
        positive /= positive.sum()
        return np.stack([1 - positive, positive], axis=1)

    for knows_the_text in (False, True):
        function = box(by_share)
        if knows_the_text:  # from a call of its own
            function.probabilities([function.encode([text])[0].token_ids])
        with pytest.raises(ExparityError, match="when it is called with this text alone"):
            exparity.explain(function, [text], 1, "occlusion")


def test_answers_are_forgotten_beyond_a_bound(monkeypatch):
    monkeypatch.setattr("exparity.engine.black_box.MOST_ANSWERS", 8)
    function = box()
    wanted = [one.scores.tolist() for one in exparity.explain(box(), PLAIN, 1, "occlusion")]
    found = [one.scores.tolist() for one in exparity.explain(function, PLAIN, 1, "occlusion")]
    assert found == wanted
    assert len(function._answers) <= 8


ASKING = [id for id in METHODS.ids() if METHODS.get(id).facts.asks_only and id != "imported"]
SCORING = [id for id in METRICS.ids() if METRICS.get(id).facts.asks_only]


@pytest.mark.parametrize("method", [id for id in METHODS.ids() if id != "imported"])
def test_methods_run_or_are_refused_by_their_facts(method):
    training = (PLAIN * 2, [0, 1, 1, 0, 1, 0])
    if method in ASKING:
        for found in exparity.explain(box(), PLAIN, 1, method, training=training, **quick(method)):
            assert found.tokens == tuple(found.text.split())
        return
    with pytest.raises(InputError, match=f"method {method}: .* take .*lime, .*uniform_random"):
        exparity.explain(box(), PLAIN, 1, method, training=training)


@pytest.mark.parametrize("metric", METRICS.ids())
def test_metrics_run_or_are_refused_by_their_facts(metric):
    function = box(curved)
    explained = exparity.explain(function, PLAIN, 1, "occlusion")
    rationales = [[1] + [0] * (len(one) - 1) for one in explained]
    changed = [replace(o, changed_words=m) for o, m in zip(explained, rationales, strict=True)]
    if metric in SCORING:
        assert len(exparity.evaluate(function, changed, metric, rationales=rationales)) == 3
        return
    with pytest.raises(InputError, match=f"metric {metric}: .* take .*comprehensiveness"):
        exparity.evaluate(function, explained, metric)


def test_explanations_of_another_process_are_scored_alike():
    explained = exparity.explain(box(curved), PLAIN, 1, "occlusion")
    strangers = [replace(one, token_ids=np.arange(len(one))) for one in explained]
    wanted, found = (
        exparity.evaluate(box(curved), given, "comprehensiveness")
        for given in (explained, strangers)
    )
    assert found.tolist() == wanted.tolist()
    first = box().encode(PLAIN)[0].token_ids.tolist()
    assert box().encode(PLAIN[::-1])[-1].token_ids.tolist() == first
    other = exparity.Explanation(PLAIN[0], 1, tokens=[*"abcde"], scores=np.ones(5))
    with pytest.raises(InputError, match="has 5 tokens, and its text 4 words"):
        exparity.evaluate(box(), [other], "comprehensiveness")


def test_a_benchmark_takes_what_a_function_can_do():
    made = exparity.benchmark(box(curved), PLAIN)
    assert [*made.explanations] == ["lime", "shap"]
    assert np.isfinite(made.table().to_numpy(dtype=float)).all()
    every = exparity.benchmark(
        box(curved), PLAIN, methods="all", metrics="all", rationales=[None, None, [1, 1, 0, 0, 1]]
    )
    assert {*every.explanations} == {*ASKING} - {"pattern_variant"}


def test_a_pipeline_of_scikit_learn_is_asked_by_its_probabilities():
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(PLAIN, [1, 0, 1])
    with pytest.raises(InputError, match=r"Pipeline: give its .*model.predict_proba, classes="):
        exparity.load_classifier(model, classes=["a", "b"])
    function = exparity.load_classifier(model.predict_proba, classes=model.classes_)
    assert function.class_names == ("0", "1")
    (found,) = exparity.explain(function, PLAIN[1], "0", "occlusion")
    left = model.predict_proba([PLAIN[1], "and not funny"])[:, 0]
    assert found.scores[0] == pytest.approx(left[0] - left[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [(("a", "b"), "is a pair, and a function takes one text"), ("  ", "is empty")],
)
def test_pairs_and_empty_texts_are_refused(text, message):
    with pytest.raises(InputError, match=f"text 1: {message}"):
        exparity.explain(box(), ["bad", text], 1, "occlusion")


def test_what_is_for_models_or_for_functions_alone():
    with pytest.raises(InputError, match="device: is for models"):
        box(device="cpu")
    with pytest.raises(InputError, match="classes: is for a function of texts"):
        exparity.load_classifier("somewhere", classes=CLASSES)


def test_embeddings_cannot_be_moved():
    function = box()
    (encoding,) = function.encode(["warm film"])
    with pytest.raises(InputError, match="left out or masked, but not moved"):
        function.forward([2], padded([function.embed(encoding.token_ids) * 0.9]))
    with pytest.raises(InputError, match="has no weights, gradients or embeddings"):
        next(function.input_gradients([2], padded, np.array([0])))
    assert not hasattr(function, "gone")
