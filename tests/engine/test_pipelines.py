"""Probabilities are a pipeline's: its pooled token, its inputs, its settings."""

import numpy as np
import pytest
import transformers
from engine.exact import plain_probabilities
from tiny_models import gpt_bpe, ids_of, make, pipeline_probabilities, wordpiece

import exparity
from exparity import InputError

PLAIN = ["I loved this film , it was warm and funny", "the nurse was late", "bad"]


def probabilities(classifier, texts):
    return classifier.probabilities(ids_of(classifier, texts))


@pytest.mark.parametrize("family", ["llama", "qwen2", "gpt2"])
def test_the_pooled_token_is_the_last_that_is_not_for_padding(family):
    """Also where every text ends with the token that pads."""
    tokenizer = gpt_bpe(ends_texts=True)
    model = make(family, tokenizer)
    classifier = exparity.load_classifier((model, tokenizer), "cpu")
    wanted = pipeline_probabilities(model, tokenizer, PLAIN)
    assert np.ptp(wanted, axis=0).max() > 0.01
    assert probabilities(classifier, PLAIN) == pytest.approx(wanted, abs=1e-6)
    classifier.exact = False  # as on a GPU, where texts are padded
    assert probabilities(classifier, PLAIN) == pytest.approx(wanted, abs=1e-6)
    one_token_left = [tokenizer.eos_token_id]
    plain = plain_probabilities(model, one_token_left)
    assert classifier.probabilities([one_token_left])[0] == pytest.approx(plain, abs=1e-6)


def pipeline(task="text-classification", **settings):
    tokenizer = wordpiece()
    model = make("bert", tokenizer, ["contradiction", "neutral", "entailment"])
    return transformers.pipeline(task, model=model, tokenizer=tokenizer, device="cpu", **settings)


def test_the_longest_input_of_a_pipeline_is_taken():
    given = pipeline(truncation=True, max_length=6, top_k=None)
    classifier = exparity.load_classifier(given)
    wanted = {score["label"]: score["score"] for score in given([PLAIN[0]])[0]}
    found = dict(zip(classifier.class_names, probabilities(classifier, PLAIN[:1])[0], strict=True))
    assert found == pytest.approx(wanted, abs=1e-6)
    assert len(classifier.encode([PLAIN[0]])[0]) == 6


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"function_to_apply": "sigmoid"}, "function_to_apply 'sigmoid' makes other numbers"),
        ({"add_special_tokens": False}, "add_special_tokens=False is not known here"),
    ],
)
def test_other_settings_that_change_what_is_computed_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        exparity.load_classifier(pipeline(**settings))


def test_hypothesis_and_candidates_of_a_zero_shot_pipeline_are_taken():
    given = pipeline(
        "zero-shot-classification",
        hypothesis_template="It is about {}.",
        candidate_labels=["film", "food"],
    )
    bench = exparity.benchmark(given, [PLAIN[0]], "food", methods=["uniform_random"], metrics=[])
    (found,) = bench.explanations["uniform_random"]
    assert found.pair == (PLAIN[0], "It is about food.")
    given = pipeline("zero-shot-classification", hypothesis_template="It is.")
    with pytest.raises(InputError, match="keeps no label; write"):
        exparity.benchmark(given, [PLAIN[0]], candidate_labels=["film", "food"])


def test_a_limit_of_minus_one_is_none():
    tokenizer = wordpiece()
    model = make("bert", tokenizer)
    model.config.max_position_embeddings = -1
    assert exparity.load_classifier((model, tokenizer), "cpu").max_length == 128
