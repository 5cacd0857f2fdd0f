"""Explanations of any origin: laid on the model's tokens, or refused; never guessed."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from captum.attr import Saliency
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import make, roberta_bpe

import exparity
from exparity import Explanation, InputError
from exparity.explanations.markup import token_texts

TEXT = "His mother thanked the waiter near the harbour ."


@pytest.fixture(params=["bert", "roberta", "gpt2"])
def model(request, classifiers):
    return classifiers[request.param]


def own(model, method="occlusion"):
    (one,) = exparity.explain(model, [TEXT], 1, method)
    return one


def same(one, other):
    for name in ("token_ids", "word_ids", "special_mask"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.text, one.target, one.tokens) == (other.text, other.target, other.tokens)


def test_words_share_their_scores(model):
    scores = np.arange(1.0, 10.0)
    for text in (TEXT, TEXT.split()):
        made = Explanation.from_words(model, text, scores, 1)
        same(made, own(model))
        sums = np.bincount(made.word_ids[made.content_mask], made.scores[made.content_mask])
        np.testing.assert_allclose(sums, scores)
        assert not made.scores[made.special_mask].any()


def test_words_that_were_cut_take_their_scores_along(classifiers):
    words = ["girl"] * 2000
    made = Explanation.from_words(classifiers["bert"], words, np.ones(2000), 0)
    assert made.word_ids.max() + 1 < 2000
    assert made.scores.sum() == pytest.approx(made.word_ids.max() + 1)


@pytest.mark.parametrize("marks", [True, False])
@pytest.mark.parametrize("specials", [True, False])
def test_tokens_with_and_without_marks_and_special_ones(model, marks, specials):
    one = own(model)
    kept = np.ones(len(one), bool) if specials else one.content_mask
    tokens = [t for t, k in zip(one.tokens, kept, strict=True) if k]
    tokens = tokens if marks else token_texts(tokens)
    made = Explanation.from_tokens(model, TEXT, tokens, one.scores[kept], 1)
    same(made, one)
    np.testing.assert_array_equal(made.scores, one.scores)
    for metric in ("comprehensiveness", "loo_correlation"):
        values = [exparity.evaluate(model, [e], metric)[0] for e in (made, one)]
        assert values[0] == values[1]


def test_attributions_of_captum_are_taken_in_every_shape(model):
    one = own(model, "gradient")
    embeddings = model.embed(one.token_ids)[None].requires_grad_()

    def logit(rows):
        return model.logits(rows, [rows.shape[1]])

    gradient = Saliency(logit).attribute(embeddings, target=1)
    for given_as in (gradient, gradient[0], gradient.sum(-1), gradient.sum(-1)[0].tolist()):
        made = Explanation.from_captum(model, TEXT, given_as, 1)
        same(made, one)
        np.testing.assert_allclose(made.scores, one.scores, rtol=1e-4, atol=1e-7)


def test_rows_of_shap_are_taken_by_their_pieces(model):
    import shap

    one = own(model)
    pieces = ["", *re.findall(r"\S+\s*", TEXT), ""]
    values = np.zeros((len(pieces), 2))
    values[1:-1, 1] = np.arange(1.0, len(pieces) - 1)
    row = shap.Explanation(values=values, data=np.array(pieces))
    made = Explanation.from_shap(model, row, 1)
    same(made, one)
    by_word = Explanation.from_words(model, TEXT, values[1:-1, 1], 1)
    np.testing.assert_allclose(made.scores, by_word.scores)
    alone = shap.Explanation(values=values[:, 1], data=np.array(pieces))
    np.testing.assert_array_equal(Explanation.from_shap(model, alone, 1).scores, made.scores)


@pytest.mark.parametrize(
    ("names", "column"),
    [
        (["female", "male"], {"female": 0, "male": 1}),
        (["male", "female"], {"female": 1, "male": 0}),
        (["Male", "Female"], {"female": 1, "male": 0}),
        (["Output 0", "Output 1"], {"female": 0, "male": 1}),
        (["LABEL_1", "LABEL_0"], {"female": 1, "male": 0}),
        (["other", "male"], {"female": None, "male": 1}),
        (["good", "bad"], {"female": None, "male": None}),
    ],
)
def test_columns_of_shap_are_found_by_their_names(classifiers, names, column):
    import shap

    classifier = classifiers["bert"]
    assert classifier.class_names == ("female", "male")
    values = np.array([[1.0, -4.0], [2.0, -8.0]])
    texts = shap.Explanation(values[None], data=[["the ", "girl"]], output_names=names)
    row = texts[0]
    for target, place in column.items():
        if place is None:
            with pytest.raises(InputError, match=f"of the outputs .*, and the .* is '{target}'"):
                Explanation.from_shap(classifier, row, target)
        else:
            made = Explanation.from_shap(classifier, row, target)
            assert made.scores.sum() == pytest.approx(values[:, place].sum())
            alone = row[:, place]  # shap keeps the name of the column
            scores = Explanation.from_shap(classifier, alone, target).scores
            np.testing.assert_array_equal(scores, made.scores)
            with pytest.raises(InputError, match="of the outputs"):
                Explanation.from_shap(classifier, alone, 1 - classifier.class_index(target))


@pytest.mark.parametrize(
    "pieces", [["great ", "service", "\n\n", "but ", "bad"], [" leading", " blank "]]
)
def test_pieces_of_blanks_have_tokens_of_their_own(pieces):
    tokenizer = roberta_bpe()
    classifier = exparity.load_classifier((make("roberta", tokenizer), tokenizer), "cpu")
    values = np.arange(1.0, len(pieces) + 1)
    found = Explanation.from_shap(classifier, SimpleNamespace(data=pieces, values=values), 0)
    assert found.text == "".join(pieces)
    assert found.token_ids.tolist() == tokenizer(found.text)["input_ids"]
    assert found.scores.sum() == pytest.approx(values.sum())


@given(st.lists(st.sampled_from(["girl", "walks", "unheardof", "."]), min_size=1, max_size=6))
def test_any_parting_into_pieces_keeps_the_sum(classifiers, words):
    import shap

    pieces = [f"{word} " for word in words]
    row = shap.Explanation(values=np.arange(1.0, len(words) + 1), data=np.array(pieces))
    made = Explanation.from_shap(classifiers["bert"], row, 0)
    assert made.scores.sum() == pytest.approx(len(words) * (len(words) + 1) / 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: Explanation.from_words(m, TEXT, [1.0] * 3, 1), "3 scores for 9 words"),
        (lambda m: Explanation.from_tokens(m, TEXT, ["his"], [1], 1), "1 tokens, and the model's"),
        (lambda m: Explanation.from_tokens(m, TEXT, ["his"], [1, 2], 1), "1 tokens but 2 scores"),
        (
            lambda m: Explanation.from_tokens(
                m, "girl .", ["boy", *own_tokens(m)[1:]], [1.0] * len(own_tokens(m)), 1
            ),
            "token 'boy' where the model's tokenizer has",
        ),
        (
            lambda m: Explanation.from_captum(m, TEXT, np.zeros(2), 1),
            r"attributions of shape \(2,\)",
        ),
        (lambda m: Explanation.from_shap(m, [1], 1), "must be one row of a shap.Explanation"),
    ],
)
def test_what_does_not_fit_is_refused(classifiers, make, message):
    with pytest.raises(InputError, match=message):
        make(classifiers["bert"])


def own_tokens(model):
    (one,) = exparity.explain(model, ["girl ."], 1, "uniform_random")
    return [t for t, k in zip(one.tokens, one.content_mask, strict=True) if k]


def test_frames_and_short_representations(classifiers):
    one = own(classifiers["bert"])
    frame = one.to_frame()
    assert list(frame) == ["token", "score", "special", "word"]
    np.testing.assert_array_equal(frame["score"], one.scores)
    assert len(repr(one)) < 150
    strongest = one.tokens[int(np.abs(np.where(one.content_mask, one.scores, 0)).argmax())]
    assert f"<Explanation occlusion, target male, {len(one)} tokens: {strongest} " in repr(one)
    assert "by hand" in repr(Explanation(text="x", target=0, tokens=["x"], scores=[1.0]))
