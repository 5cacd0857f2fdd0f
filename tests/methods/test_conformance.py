"""What every registered method must do, and what it is held to."""

import copy
import dataclasses
import inspect
import sys

import numpy as np
import pytest
import torch
from methods.training import (
    LABELS,
    LEARNT,
    METHOD_IDS,
    TARGETS,
    TEXTS,
    check_invariance,
    explained,
    quick,
    training_for,
)

import exparity
from exparity import ExparityError, InputError
from exparity.methods import METHODS, Training, attribute, explain_many


def bits(found):
    return [one.scores.tobytes() for one in found]


@pytest.fixture(params=METHOD_IDS)
def method(request):
    return request.param


@pytest.mark.bits
@pytest.mark.property
def test_bits_depend_on_neither_batch_nor_order_nor_shard_nor_budget(
    classifier, method, one_thread
):
    def run(rows):
        texts, targets = [TEXTS[i] for i in rows], [TARGETS[i] for i in rows]
        return bits(explained(classifier, texts, targets, method))

    check_invariance(classifier, run, len(TEXTS))


def hooks_of(model):
    """Every hook by module; the engine's own stay on the head for good."""
    return [(*m._forward_hooks.items(), *m._backward_hooks.items()) for m in model.modules()]


def test_one_score_a_token_and_the_model_left_as_it_was(classifier, method):
    before, hooks = copy.deepcopy(classifier.model.state_dict()), hooks_of(classifier.model)
    found = explained(classifier, TEXTS, TARGETS, method)
    for one, encoding, target in zip(found, classifier.encode(TEXTS), TARGETS, strict=True):
        assert (len(one.scores), one.target) == (len(encoding), target)
        assert one.tokens == encoding.tokens
        np.testing.assert_array_equal(one.token_ids, encoding.token_ids)
        np.testing.assert_array_equal(one.special_mask, encoding.special_mask)
    for name, value in classifier.model.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert all(p.requires_grad and p.grad is None for p in classifier.model.parameters())
    assert not classifier.model.training
    assert hooks_of(classifier.model) == hooks


@pytest.mark.property
@pytest.mark.sweep
def test_shortcuts_change_rounding_only(classifier, checkpoints, method):
    """Dropout does not either; padding, as on a GPU: see tests/gpu/test_methods_and_metrics.py."""
    expected = explained(classifier, TEXTS, TARGETS, method)
    folder = checkpoints[classifier.model.config.model_type]
    quick = exparity.load_classifier(folder, "cpu", shortcuts=True)
    quick.model.train()
    for one, other in zip(explained(quick, TEXTS, TARGETS, method), expected, strict=True):
        size = np.abs(other.scores).max()
        np.testing.assert_allclose(one.scores, other.scores, rtol=1e-3, atol=1e-4 * size)


@pytest.mark.property
def test_only_stochastic_methods_depend_on_the_seed(classifiers, method, one_thread):
    classifier = classifiers["gpt2"]
    one, other = (bits(explained(classifier, TEXTS[3:4], [1], method, seed)) for seed in (1, 2))
    if not METHODS.get(method).facts.stochastic:
        assert one == other
    # Draws of the first two only break ties, and the default of the third has none.
    elif method not in ("shap", "shap_package", "captum"):
        assert one != other


@pytest.mark.bits
@pytest.mark.property
def test_explain_many_equals_explain_and_says_how_to_explain_again(classifiers, one_thread):
    classifier = classifiers["roberta"]
    methods = {method: quick(method) for method in METHOD_IDS}
    found = explain_many(classifier, TEXTS, TARGETS, methods, seed=5, training=(LEARNT, LABELS))
    assert list(found) == METHOD_IDS
    for method in methods:
        alone = explained(classifier, TEXTS, TARGETS, method, 5)
        assert bits(found[method]) == bits(alone)
        for one, other in zip(found[method], alone, strict=True):
            assert one.origin == other.origin
            assert (one.origin.method, one.origin.seed, one.origin.key) == (method, 5, one.text)
            assert dict(one.origin.params) == quick(method)


def test_methods_with_equal_options_share_gradients(classifiers, monkeypatch):
    """One gradient serves two methods, and one path two others, if all options are equal."""
    classifier, calls = classifiers["bert"], []
    inner = classifier.input_gradients
    monkeypatch.setattr(
        classifier,
        "input_gradients",
        lambda sizes, *rest: (calls.append(len(sizes)), inner(sizes, *rest))[1],
    )
    methods = {"gradient": {}, "gradient_x_input": {}}
    methods |= {f"integrated_gradients{form}": {"n_steps": 3} for form in ("", "_x_input")}
    odds = {"gradient": {"explains": "log_odds"}}
    odds["integrated_gradients"] = {"n_steps": 3, **odds["gradient"]}
    fewer = {"integrated_gradients": {"n_steps": 2}}
    for changed, passes in (({}, [2, 6]), (odds, [2, 2, 6, 6]), (fewer, [2, 4, 6])):
        calls.clear()
        explain_many(classifier, TEXTS[:2], TARGETS[:2], methods | changed)
        assert calls == passes


def test_moved_copies_of_model_free_methods_keep_their_scores(classifiers, method):
    """They look at neither model nor embeddings; all others look at one of them."""
    classifier, facts = classifiers["bert"], METHODS.get(method).facts
    given = training_for(method).get("training")
    found = explained(classifier, TEXTS, TARGETS, method)
    moved = attribute(
        classifier,
        classifier.encode(TEXTS),
        np.array(TARGETS),
        [one.origin for one in found],
        rows=[classifier.embed(one.token_ids) * 1.5 for one in found],
        training=given and Training.of(given),
    )
    same = [a == b.tobytes() for a, b in zip(bits(found), moved, strict=True)]
    assert all(same) == facts.model_free


def test_the_two_classes_are_explained_differently(classifiers, method):
    """Unless a method looks at nothing that knows of classes."""
    classifier = classifiers["gpt2"]
    facts = METHODS.get(method).facts
    both = (explained(classifier, TEXTS, [target] * len(TEXTS), method) for target in (0, 1))
    differ = any(not np.allclose(a.scores, b.scores) for a, b in zip(*both, strict=True))
    assert differ == (facts.target in ("logit", "probability") or facts.needs_training)


def test_texts_longer_than_the_model_takes_are_cut(classifiers, method, caplog):
    classifier = classifiers["roberta"]
    (found,) = explained(classifier, ["The girl sings . " * 40], [0], method)
    assert len(found) == classifier.max_length
    assert "were cut" in caplog.text


def test_target_defaults_to_the_predicted_class(classifier):
    ids = [e.token_ids for e in classifier.encode(TEXTS)]
    expected = classifier.probabilities(ids).argmax(-1).tolist()
    assert [e.target for e in exparity.explain(classifier, TEXTS)] == expected


@pytest.mark.contract
@pytest.mark.parametrize("method", METHODS.ids())
def test_facts_and_imports_of_a_method(method):
    entry = METHODS.get(method)
    assert entry.facts.target in ("logit", "probability", "none")
    assert entry.facts.target == "logit" or not entry.facts.needs_gradient
    assert "Returns:" in (entry.function.__doc__ or "")
    source = inspect.getsource(inspect.getmodule(entry.function))
    tops = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    heavy = ("torch", "transformers", "captum", "shap", "lime")
    assert not [line for line in tops if line.split()[1].split(".")[0] in heavy]


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("gradiant", {}, "unknown method 'gradiant'; did you mean 'gradient'"),
        ("gradient", {"steps": 3}, "unknown option 'steps'"),
        ("gradient", {"targets": [0]}, "2 texts but targets of shape"),
        ("gradient", {"targets": [0, 2]}, "target 2 of example 1: the model has classes 0 to 1"),
        ("occlusion", {"explains": "logit"}, "unknown option 'explains'"),
        ("lime", {"kernel_width": 0.0}, "kernel_width: Input should be greater than 0, found 0.0"),
    ],
)
def test_bad_arguments_are_named(classifiers, method, options, message):
    targets = options.pop("targets", [0, 1])
    with pytest.raises(InputError, match=message):
        exparity.explain(classifiers["bert"], TEXTS[:2], targets, method, **options)


@pytest.fixture
def replaced(monkeypatch, classifiers):
    """Return a function that explains a text with a function in a method's place."""

    def explain(function, **facts):
        entry = METHODS.get("lime")
        facts = dataclasses.replace(entry.facts, **facts)
        broken = dataclasses.replace(entry, function=lambda batch, **_: function(batch))
        monkeypatch.setitem(METHODS._entries, "lime", dataclasses.replace(broken, facts=facts))
        return exparity.explain(classifiers["bert"], TEXTS[:1], [0], method="lime")

    return explain


def filled(value):
    return lambda batch: [np.full(length, value) for length in batch.lengths]


@pytest.mark.contract
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda batch: [], "one score per token of every text"),
        (filled(np.nan), "method lime: gives scores that are not finite real numbers"),
        (filled("1"), "not finite real numbers"),
        (
            lambda batch: [np.ma.array(np.ones(n), mask=np.eye(1, n)[0]) for n in batch.lengths],
            "gives scores that are not finite real numbers",
        ),
        (lambda batch: 1 / 0, "^'lime' in .*: ZeroDivisionError: division by zero"),
        (lambda batch: sys.exit(0), "^'lime' in .*: SystemExit: 0"),
        (
            lambda batch: [np.random.rand(length) for length in batch.lengths],  # noqa: NPY002
            "method lime: draws from a global random generator",
        ),
        (lambda batch: [torch.rand(length) for length in batch.lengths], "draws from a global"),
    ],
)
def test_what_is_not_declared_is_refused(replaced, function, message):
    with pytest.raises(ExparityError, match=message):
        replaced(function)


@pytest.mark.contract
def test_scores_of_an_unsigned_method_are_not_negative(replaced):
    assert (replaced(filled(-1.0), signed=True)[0].scores == -1).all()
    with pytest.raises(ExparityError, match="gives negative scores, and says signed=False"):
        replaced(filled(-1.0), signed=False)


@pytest.mark.contract
@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda batch: batch.targets, "^'lime' in .*: writes to a read-only array"),
        (lambda batch: batch.token_ids[0], "writes to a read-only array"),
        (lambda batch: batch.encodings[0].word_ids, "writes to a read-only array"),
        (lambda batch: batch.rows[0], "method lime: writes to its inputs; copy them first"),
    ],
)
def test_inputs_cannot_be_written_to(replaced, read, message):
    def write(batch):
        read(batch)[...] = 0
        return filled(1.0)(batch)

    with pytest.raises(ExparityError, match=message):
        replaced(write)


@pytest.mark.contract
def test_arguments_of_the_caller_stay_as_they_are(classifiers):
    targets, words = np.array([0]), [["She", "sings", "."]]
    exparity.explain(classifiers["bert"], words, targets, method="gradient")
    assert words == [["She", "sings", "."]]
    targets[0] = 1
