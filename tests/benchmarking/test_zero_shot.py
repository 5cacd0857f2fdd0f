"""Benchmarks of pairs of texts, and of zero-shot classification by a model of pairs."""

import numpy as np
import pytest
import torch
from support import PAIRS
from transformers import AutoModelForSequenceClassification, AutoTokenizer

import exparity
from exparity import InputError

TEXTS = ["the girl sings near the harbour", "her mother thanked the waiter ."]
LABELS = ["the waiter", "her", "harbour"]
CHEAP = {"methods": ["gradient", "occlusion"], "metrics": ["comprehensiveness", "gini"]}


@pytest.fixture(scope="module")
def entailed(pair_checkpoints):
    """(n, labels) probability of entailment by transformers alone."""
    tokenizer = AutoTokenizer.from_pretrained(pair_checkpoints["bert"])
    model = AutoModelForSequenceClassification.from_pretrained(pair_checkpoints["bert"]).eval()
    probabilities = np.zeros((len(TEXTS), len(LABELS)))
    for i, text in enumerate(TEXTS):
        for k, label in enumerate(LABELS):
            batch = tokenizer(text, f"This example is {label}.", return_tensors="pt")
            with torch.no_grad():
                probabilities[i, k] = model(**batch).logits.softmax(-1)[0, 2]
    return probabilities


@pytest.mark.bits
def test_zero_shot_is_the_pair_with_the_hypothesis_of_the_label(pair_checkpoints, entailed):
    found = exparity.benchmark(pair_checkpoints["bert"], TEXTS, candidate_labels=LABELS, **CHEAP)
    chosen = [f"This example is {LABELS[k]}." for k in entailed.argmax(axis=1)]
    pairs = list(zip(TEXTS, chosen, strict=True))
    expected = exparity.benchmark(pair_checkpoints["bert"], pairs, "entailment", **CHEAP)
    assert [one.pair for one in found.explanations["gradient"]] == pairs
    for method, explanations in expected.explanations.items():
        for one, other in zip(found.explanations[method], explanations, strict=True):
            np.testing.assert_array_equal(one.scores, other.scores)
            assert one.target == 2
    assert found.table().drop(columns="seconds").equals(expected.table().drop(columns="seconds"))
    # Words of the hypothesis are scored as well.
    second = expected.explanations["occlusion"][0]
    assert (second.scores[second.word_ids >= len(TEXTS[0].split())] != 0).any()


@pytest.mark.parametrize("targets", ["her", 1, ["her", "harbour"], [1, 2]])
def test_targets_of_zero_shot_are_candidate_labels(pair_checkpoints, targets):
    made = exparity.benchmark(
        pair_checkpoints["bert"], TEXTS, targets, candidate_labels=LABELS, **CHEAP
    )
    of_second = "harbour" if isinstance(targets, list) else "her"
    hypotheses = [one.pair[1] for one in made.explanations["gradient"]]
    assert hypotheses == ["This example is her.", f"This example is {of_second}."]


def test_a_zero_shot_pipeline_is_a_model(pair_checkpoints):
    from transformers import pipeline  # every worker would wait for it

    model = AutoModelForSequenceClassification.from_pretrained(pair_checkpoints["bert"])
    tokenizer = AutoTokenizer.from_pretrained(pair_checkpoints["bert"])
    form = pipeline("zero-shot-classification", model=model, tokenizer=tokenizer)
    made = exparity.benchmark(form, TEXTS, candidate_labels=LABELS, **CHEAP)
    direct = exparity.benchmark(pair_checkpoints["bert"], TEXTS, candidate_labels=LABELS, **CHEAP)
    for one, other in zip(
        made.explanations["gradient"], direct.explanations["gradient"], strict=True
    ):
        np.testing.assert_array_equal(one.scores, other.scores)
    with pytest.raises(InputError, match="takes candidate_labels"):
        exparity.benchmark(form, TEXTS)


@pytest.mark.parametrize(
    ("texts", "more", "message"),
    [
        (TEXTS, {"candidate_labels": ["her", "her"]}, "must be different names"),
        (PAIRS, {"candidate_labels": LABELS}, "take one text each, and no pairs"),
        (TEXTS, {"candidate_labels": LABELS, "targets": "him"}, "target 'him'"),
        (TEXTS, {"candidate_labels": LABELS, "targets": 3}, "targets must be candidate labels"),
    ],
)
def test_what_cannot_be_is_refused(pair_checkpoints, texts, more, message):
    with pytest.raises(InputError, match=message):
        exparity.benchmark(pair_checkpoints["bert"], texts, **more)


def test_models_without_entailment_are_refused(checkpoints):
    with pytest.raises(InputError, match=r"names one class 'entailment' .* has female, male"):
        exparity.benchmark(checkpoints["bert"], TEXTS, candidate_labels=LABELS)


def test_what_parts_the_texts_is_seen(pair_checkpoints):
    """The token between stands out; those at both ends are faint, as in single texts."""
    for family, separator in (("bert", "[SEP]"), ("roberta", "&lt;/s&gt;")):
        classifier = exparity.load_classifier(pair_checkpoints[family], "cpu")
        (made,) = exparity.explain(classifier, PAIRS[0], 2)
        parts = made._repr_html_().split("<span")
        marked = [part for part in parts if "font-weight:700" in part]
        assert len(marked) == 1
        assert separator in marked[0]
        assert sum("opacity:.5" in part for part in parts) == 2
        (single,) = exparity.explain(classifier, PAIRS[0][0], 2)
        assert "font-weight:700" not in single._repr_html_()
        page = exparity.benchmark(classifier, PAIRS[0], methods="gradient", metrics="gini")
        assert page._repr_html_().count("margin:0 .6em;font-weight:700") == 1
