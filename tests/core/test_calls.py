"""What Python callers pass by mistake: one line says which argument it is and what it must be."""

from dataclasses import replace

import numpy as np
import pytest
from fake_cuda import fake_cuda
from support import refused_by

import exparity
from exparity import Explanation, InputError, compare_groups, evaluate, explain
from exparity.methods import explain_many
from exparity.metrics import evaluate_many

REFUSED = refused_by(__file__)
TEXTS = ["a man walks", "a woman walks"]


@pytest.fixture
def bert(classifiers):
    return classifiers["bert"]


@pytest.mark.parametrize(("changed", "message"), REFUSED["explain"])
def test_bad_arguments_of_explain_are_refused(bert, changed, message):
    with pytest.raises(InputError, match=message):
        explain(**{"classifier": bert, "texts": TEXTS, **changed})


def test_one_text_and_targets_by_name(bert):
    names = bert.class_names
    assert len(names) == bert.n_classes
    by_index = explain(bert, TEXTS, [1, 1])
    for targets in (1, names[1], [names[1], 1], (names[1], names[1]), iter([names[1], 1])):
        named = explain(bert, TEXTS, targets)
        assert [e.target for e in named] == [1, 1]
        assert np.array_equal(named[0].scores, by_index[0].scores)
    predicted = explain(bert, TEXTS, "predicted")
    assert [e.target for e in predicted] == [e.target for e in explain(bert, TEXTS)]
    (alone,) = explain(bert, TEXTS[0], 1)
    assert alone.text == TEXTS[0]
    assert np.array_equal(alone.scores, by_index[0].scores)


def test_settings_beside_a_loaded_classifier_are_refused(bert):
    with pytest.raises(InputError, match="device 'gpu': use auto"):
        exparity.benchmark(bert, TEXTS, methods=["gradient"], device="gpu")
    with fake_cuda(), pytest.raises(InputError, match="loaded, on cpu; leave it"):
        exparity.benchmark(bert, TEXTS, methods=["gradient"], device="cuda")
    assert exparity.load_classifier(bert, "cpu") is exparity.load_classifier(bert) is bert
    for setting in ({"max_length": 8}, {"precision": "bf16"}, {"shortcuts": True}):
        (name,) = setting
        with pytest.raises(InputError, match=f"{name}: the classifier is loaded already; set it"):
            exparity.load_classifier(bert, **setting)


@pytest.mark.parametrize("label", [7, -1])
def test_training_labels_that_are_no_class_are_refused(bert, label):
    training = TEXTS, [0, label]
    message = f"target {label} of training text 1: the model has classes 0 to 1"
    with pytest.raises(InputError, match=message):
        explain(bert, TEXTS, method="pattern_variant", training=training)
    explain(bert, TEXTS, method="gradient", training=training)  # which leaves it alone


def test_several_methods_and_metrics(bert):
    """By id in lists, with options in mappings; values are those of one by one."""
    ids = ["uniform_random", "gradient"]
    made = explain_many(bert, TEXTS, 1, ids, seed=3)
    assert [*made] == ids
    for id in ids:
        for one, other in zip(made[id], explain(bert, TEXTS, 1, id, 3), strict=True):
            assert np.array_equal(one.scores, other.scores)
    options = {"integrated_gradients": {"n_steps": 4}}
    (explanation, _) = explain_many(bert, TEXTS, 1, options)["integrated_gradients"]
    assert explanation.origin.params == {"n_steps": 4}
    both = evaluate_many(bert, made, {"sparsity": {"tau": 0.5}, "comprehensiveness": {}})
    assert [*both] == [(of, metric) for of in ids for metric in ("sparsity", "comprehensiveness")]
    for (of, metric), values in both.items():
        own = {"tau": 0.5} if metric == "sparsity" else {}
        assert np.array_equal(values, evaluate(bert, made[of], metric, **own))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda c: exparity.load_classifier(c.model), "without its tokenizer; give .model, token"),
        (lambda c: exparity.load_classifier(5), "model must be a checkpoint's folder .*, not 5"),
        (lambda c: explain(c.model, TEXTS), "classifier must come from .*; it takes a folder"),
        (lambda c: evaluate(c, explain(c, TEXTS)[0], "gini"), "explanations must be a list"),
    ],
)
def test_what_newcomers_pass_for_a_classifier_or_explanations(bert, wrong, message):
    with pytest.raises(InputError, match=message) as caught:
        wrong(bert)
    assert "\n" not in str(caught.value)


def test_which_tokens_are_special_is_derived_or_asked_for(bert):
    """Those of an explanation built by hand would count as words, and change every metric."""
    text = "the girl thanked the waiter"
    (made,) = explain(bert, [text], 1)
    metrics = ("comprehensiveness", "gini", "rationale_auprc")
    expected = [evaluate(bert, [made], metric, rationales=[[0, 1, 0, 0, 1]]) for metric in metrics]
    bare = Explanation(text, 1, made.token_ids, made.tokens, made.scores)
    found = [evaluate(bert, [bare], metric, rationales=[[0, 1, 0, 0, 1]]) for metric in metrics]
    assert found == expected
    told = Explanation(text, 1, made.token_ids, made.tokens, made.scores, word_ids=made.word_ids)
    assert np.array_equal(told.special_mask, made.special_mask)
    assert made.special_mask.any()
    whole = replace(made, special_mask=np.zeros(len(made), bool))  # said, so not doubted
    assert evaluate(bert, [whole], "gini") != evaluate(bert, [bare], "gini")
    content = made.content_mask
    inner = Explanation(
        text, 1, made.token_ids[content], scores=made.scores[content], tokens=["t"] * content.sum()
    )
    assert evaluate(bert, [inner], "gini") == pytest.approx(evaluate(bert, [bare], "gini"))
    for unclear in (
        replace(bare, text="another text"),
        replace(bare, text=""),
        replace(bare, token_ids=None),
    ):
        with pytest.raises(InputError, match="no special_mask that marks them; give one"):
            evaluate(bert, [unclear], "gini")
    with pytest.raises(InputError, match=r"needs token_ids; exparity\.Explanation"):
        evaluate(bert, [Explanation(text, 1, tokens=text.split(), scores=range(5))], metrics[0])


def test_a_misspelt_name_of_the_package_raises_with_the_near_one():
    with pytest.raises(AttributeError, match="module 'exparity' has no attribute 'explan'") as told:
        _ = exparity.explan
    assert (told.value.name, told.value.obj) == ("explan", exparity)  # Python then suggests others
    with pytest.raises(TypeError, match=r"load_classifier\(\) got .* argument 'class_names'"):
        exparity.load_classifier("unread", class_names=["a", "b"])


@pytest.mark.parametrize(("changed", "message"), REFUSED["explanation"])
def test_bad_arguments_of_an_explanation_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        Explanation(
            **{"text": "a b", "target": 0, "tokens": ("a", "b"), "scores": [1, 2], **changed}
        )


@pytest.mark.parametrize("ids", [[0, 10**6], [-1, 0], [0] * 600])
def test_token_ids_that_the_model_cannot_read(bert, ids):
    tokens = [f"t{i}" for i in range(len(ids))]
    one = Explanation("a b", 0, tokens=tokens, token_ids=ids, scores=np.ones(len(ids)))
    with pytest.raises(
        InputError, match=r"explanation of 'a b': the model reads up to \d+ token_ids"
    ):
        evaluate(bert, [one], "comprehensiveness")


def test_an_explanation_of_another_tokenizer(bert):
    (one,) = explain(bert, TEXTS[0])
    foreign = replace(one, tokens=("<s>", *one.tokens[1:]))
    with pytest.raises(InputError, match=r"its token '<s>' is '\[CLS\]' to the model's tokenizer"):
        evaluate(bert, [foreign], "comprehensiveness")


@pytest.mark.parametrize(("changed", "message"), REFUSED["compare_groups"])
def test_bad_arguments_of_compare_groups_are_refused(changed, message):
    with pytest.raises(InputError, match=message):
        compare_groups(**{"values": [1.0, 2.0], "groups": ["male", "female"], **changed})
