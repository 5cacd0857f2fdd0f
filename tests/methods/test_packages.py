"""Explainers of shap and lime by name: against the packages by themselves, and refusals."""

import inspect
import os
import typing
from functools import cache

import captum.attr
import numpy as np
import pytest
import shap
import torch
from lime.lime_text import LimeTextExplainer
from methods.training import scores_of
from methods.whole_words import of_one_piece
from support import run_code

import exparity
from exparity import InputError
from exparity.core.seeding import generator
from exparity.methods import METHODS, _side_by_side
from exparity.methods import captum as captum_method
from exparity.methods import shap_package as shap_method

SEED = 3
SHAP = {
    "ExactExplainer": {},
    "KernelExplainer": {"nsamples": 60, "l1_reg": 0},
    "PartitionExplainer": {"max_evals": 60},
    "PermutationExplainer": {"max_evals": 100},
    "SamplingExplainer": {"nsamples": 200},
}


@pytest.fixture(scope="module")
def texts(classifiers, sentences):
    """Twenty texts of six words, each of which is one token."""
    return of_one_piece(classifiers["bert"], sentences, 20, 6)


@pytest.fixture(scope="module")
def few(texts, pytestconfig):
    """Some of them; with --exhaustive all."""
    return texts if pytestconfig.getoption("--exhaustive") else texts[::4]


def plain(classifier, texts):
    """The (n, c) probabilities that transformers itself gives."""
    return np.array([plain_of_one(classifier, str(text)) for text in texts])


@cache
def plain_of_one(classifier, text):
    with torch.no_grad():
        encoded = classifier.tokenizer(text, return_tensors="pt")
        return classifier.model(**encoded).logits.softmax(-1)[0].double().numpy()


def seed_of(method, text):
    return int(generator(SEED, "explain", method, text).integers(2**31))


def by_shap_itself(classifier, text, target, algorithm, options):
    """Values of the content tokens by shap, of its own masker of texts or of a table of words."""

    def predict(versions):
        return plain(classifier, versions)

    words = text.split()

    def of_words(rows):
        kept = np.asarray(rows) != 0
        mask = classifier.tokenizer.mask_token
        return predict([" ".join(np.where(row, words, mask)) for row in kept])

    np.random.seed(seed_of("shap_package", text))  # noqa: NPY002 - the package draws from it
    kind = getattr(shap.explainers, algorithm)
    if algorithm in ("KernelExplainer", "SamplingExplainer"):
        explainer = kind(of_words, np.zeros((1, len(words))))
        values = explainer.shap_values(np.ones((1, len(words))), silent=True, **options)[0]
        return values[:, target]
    seed = np.random.randint(2**31)  # noqa: NPY002
    if algorithm == "ExactExplainer":  # takes no hierarchy that is a function
        explainer = kind(of_words, shap.maskers.Independent(np.zeros((1, len(words)))))
        return explainer(np.ones((1, len(words))), silent=True, **options).values[0, :, target]
    settled = {"seed": seed} if algorithm == "PermutationExplainer" else {}
    explainer = kind(predict, shap.maskers.Text(classifier.tokenizer), **settled)
    return explainer([text], silent=True, **options).values[0][:, target]


@pytest.mark.reference
@pytest.mark.parametrize("algorithm", SHAP)
def test_equals_shap_called_directly(classifiers, few, algorithm):
    classifier = classifiers["bert"]
    targets = [place % 2 for place in range(len(few))]
    found = exparity.explain(
        classifier, few, targets, "shap_package", SEED, algorithm=algorithm,
        options=SHAP[algorithm],
    )  # fmt: skip
    for text, one in zip(few, found, strict=True):
        expected = by_shap_itself(classifier, text, one.target, algorithm, SHAP[algorithm])
        scores = one.scores if len(expected) == len(one) else one.scores[~one.special_mask]
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-6)


@pytest.mark.reference
@pytest.mark.parametrize(
    "options",
    [
        {"num_samples": 80},
        {"num_samples": 80, "bow": False},
        {"num_samples": 80, "num_features": 3, "feature_selection": "forward_selection"},
        {"num_samples": 80, "kernel_width": 5, "distance_metric": "euclidean"},
    ],
    ids=["bag", "places", "selected", "weighted"],
)
def test_equals_lime_called_directly(classifiers, few, options):
    classifier = classifiers["bert"]
    found = exparity.explain(classifier, few, 1, "lime_package", SEED, unit="word", options=options)
    of_class = {
        k: v for k, v in options.items() if k in ("bow", "kernel_width", "feature_selection")
    }
    of_call = {name: value for name, value in options.items() if name not in of_class}
    for text, one in zip(few, found, strict=True):
        explainer = LimeTextExplainer(
            split_expression=r"\s+",
            mask_string=classifier.tokenizer.mask_token,
            random_state=seed_of("lime_package", text),
            **of_class,
        )
        explained = explainer.explain_instance(
            text, lambda versions: plain(classifier, versions), labels=(1,), **of_call
        )
        words = text.split()
        order = list(dict.fromkeys(words)) if options.get("bow", True) else None
        weights = dict(explained.local_exp[1])
        expected = [
            weights.get(place if order is None else order.index(word), 0.0)
            for place, word in enumerate(words)
        ]
        np.testing.assert_allclose(one.scores[~one.special_mask], expected, rtol=0, atol=1e-6)


def test_a_regression_of_the_user_is_named(classifiers, texts):
    options = {"num_samples": 40, "model_regressor": {"use": "Ridge", "alpha": 1e6}}
    (shrunk,) = exparity.explain(classifiers["bert"], texts[0], 1, "lime_package", options=options)
    assert 0 < np.abs(shrunk.scores).max() < 1e-4


def test_texts_side_by_side_share_batches(classifiers, texts, monkeypatch):
    """Each text alone asks for one version after the other."""
    classifier, calls = classifiers["bert"], []
    inner = classifier.outputs_of

    def outputs_of(lengths, build):
        calls.append(len(lengths))
        return inner(lengths, build)

    monkeypatch.setattr(classifier, "outputs_of", outputs_of)
    several = {
        "shap_package": {"options": {"max_evals": 40}},
        "captum": {"algorithm": "FeatureAblation", "options": {"perturbations_per_eval": 1}},
    }
    for method, options in several.items():
        counts = []
        scores = []
        for together in (1, 64):
            monkeypatch.setattr(_side_by_side, "TOGETHER", together)
            calls.clear()
            found = exparity.explain(classifier, texts[:12], 1, method, **options)
            counts.append(len(calls))
            scores.append(scores_of(found))
        np.testing.assert_allclose(*scores, rtol=0, atol=1e-6)
        assert counts[1] < counts[0] / 8


@pytest.mark.exhaustive  # compiling takes 15 s of CPU
def test_draws_are_the_same_where_functions_are_compiled(checkpoints):
    """Compiled functions of shap have a generator of their own, in each thread."""
    code = f"""
import exparity
classifier = exparity.load_classifier({checkpoints["bert"]!r}, "cpu")
texts = ["The girl sings near the harbour .", "She sings ."]
options = {{"algorithm": "PermutationExplainer", "options": {{"max_evals": 30}}}}
one, again, other = (
    exparity.explain(classifier, texts, 1, "shap_package", seed, **options)[0].scores.tolist()
    for seed in (1, 1, 2)
)
assert one == again
assert one != other
"""
    run_code(code, env={**os.environ, "NUMBA_DISABLE_JIT": "0"})


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("shap_package", {"algorithm": "TreeExplainer"}, "does not apply: it reads the splits"),
        ("shap_package", {"algorithm": "PartitionExplaine"}, "Input should be 'ExactExplainer'"),
        ("shap_package", {"options": {"max_eval": 9}}, "no option 'max_eval'; did you mean 'max_e"),
        ("shap_package", {"options": {"seed": 9}}, "'seed' is settled by exparity: draws are"),
        (
            "shap_package",
            {"algorithm": "PermutationExplainer", "options": {"max_evals": 3}},
            "PermutationExplainer: text '.*': max_evals=3 is too low",
        ),
        (
            "shap_package",
            {"algorithm": "ExactExplainer", "options": {"interactions": 2}},
            "leave out options such as `interactions`",
        ),
        ("lime_package", {"options": {"num_sample": 9}}, "did you mean 'num_samples'"),
        ("lime_package", {"options": {"kernel": "x"}}, "'kernel' takes a function"),
        ("lime_package", {"options": {"bow": False, "mask_string": "a b"}}, "is 2 tokens of the"),
        ("lime_package", {"options": {"mask_string": "he"}}, "nothing is masked with `bow`"),
        ("lime_package", {"options": {"model_regressor": "Rige"}}, "did you mean 'Ridge'"),
        ("lime_package", {"options": {"distance_metric": "far"}}, "'metric' parameter"),
        ("captum", {"algorithm": "LayerGradCam"}, "LayerGradCam does not apply: it weighs"),
        ("captum", {"unit": "word"}, "no unit is left out as one; take FeatureAblation"),
        (
            "captum",
            {"algorithm": "LayerConductance", "options": {"layer": "bert.encoder.layer.7"}},
            "the model has no module 'bert.encoder.layer.7'; did you mean",
        ),
        (
            "captum",
            {"algorithm": "LayerConductance", "options": {"layer": "bert.pooler"}},
            "layer 'bert.pooler' does not give a row for each token",
        ),
        ("captum", {"options": {"target": 1}}, "'target' is settled by exparity"),
    ],
)
def test_what_a_package_does_not_take_is_one_clear_line(classifiers, method, options, message):
    with pytest.raises(InputError, match=message) as refusal:
        exparity.explain(classifiers["bert"], ["She sings ."], 1, method, **options)
    assert "\n" not in str(refusal.value)


@pytest.mark.contract
def test_every_explainer_of_a_package_applies_or_has_a_reason():
    for module, names in (
        (shap_method, set(shap.explainers.__all__)),
        (captum_method, set(captum.attr.__all__)),
    ):
        package = captum.attr if module is captum_method else shap.explainers
        explaining = {
            name
            for name in names
            if inspect.isclass(getattr(package, name))
            and (package is shap.explainers or hasattr(getattr(package, name), "attribute"))
        }
        applying = set(typing.get_args(typing.get_args(module.Algorithm)[0]))
        assert applying | {*module._REFUSED} == explaining
        assert not applying & {*module._REFUSED}


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks:UserWarning")
def test_layers_and_modules_of_captum_equal_captum_itself(classifiers):
    """A layer by its name, and what wants a module of torch."""
    from methods.toy import OnRows

    classifier = classifiers["bert"]
    (one,) = exparity.explain(
        classifier, "The girl sings .", 1, "captum", algorithm="LayerGradientXActivation",
        options={"layer": "bert.encoder.layer.0"},
    )  # fmt: skip
    rows = classifier.embed(one.token_ids)
    rows = classifier.without_types(rows, one.token_ids)[None].clone().requires_grad_()
    model = OnRows(classifier.model)
    layer = classifier.model.bert.encoder.layer[0]
    values = captum.attr.LayerGradientXActivation(model, layer).attribute(rows, target=1)
    values = values[0] if isinstance(values, tuple) else values
    np.testing.assert_allclose(one.scores, values[0].sum(-1).detach().numpy(), atol=1e-5)
    absent = np.where(one.special_mask, one.token_ids, classifier.pad_id)
    baseline = classifier.without_types(classifier.embed(absent), absent)[None]
    (one,) = exparity.explain(classifier, "The girl sings .", 1, "captum", algorithm="DeepLift")
    values = captum.attr.DeepLift(model).attribute(rows, baseline, target=1)
    np.testing.assert_allclose(one.scores, values[0].sum(-1).detach().numpy(), atol=1e-5)


def test_features_of_captum_are_units(classifiers):
    """Tokens of a sentence leave together, and share what that changes."""
    text = "She sings . The girl sings ."
    (one,) = exparity.explain(
        classifiers["bert"], text, 1, "captum", algorithm="FeatureAblation", unit="sentence"
    )
    sums = [one.scores[one.word_ids < 3][1:4], one.scores[one.word_ids >= 3]]
    assert all(len({*scores.tolist()}) == 1 for scores in sums)


@pytest.mark.contract
def test_methods_of_packages_are_registered():
    assert {"captum", "lime_package", "shap_package"} <= {*METHODS.ids()}


@pytest.mark.reference
def test_probabilities_of_texts_are_one_call(classifiers, texts):
    classifier = classifiers["bert"]
    found = classifier.predict_proba(texts)
    np.testing.assert_allclose(found, plain(classifier, texts), rtol=0, atol=1e-6)
    assert classifier.predict_proba(texts[0]).shape == (1, 2)
