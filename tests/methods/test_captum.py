"""captum's algorithms at run time: against our own, against captum by itself, and refusals."""

from __future__ import annotations

import typing
from functools import partial

import numpy as np
import pytest
import torch

import exparity
from exparity import InputError
from exparity.methods.captum import Algorithm

pytestmark = pytest.mark.reference
TEXTS = ["The girl sings .", "His mother thanked the waiter ."]


def run(classifier, algorithm, **options):
    return exparity.explain(
        classifier, TEXTS, [0, 1], "captum", 3, algorithm=algorithm, options=options
    )


@pytest.mark.parametrize(
    ("algorithm", "options", "method", "own"),
    [
        ("Saliency", {}, "gradient", {}),
        ("InputXGradient", {}, "gradient_x_input", {}),
        ("LayerGradientXActivation", {}, "gradient_x_input", {}),
        ("IntegratedGradients", {"n_steps": 50}, "integrated_gradients_x_input", {"n_steps": 50}),
        (
            "LayerIntegratedGradients",
            {"n_steps": 9},
            "integrated_gradients_x_input",
            {"n_steps": 9},
        ),
    ],
)
def test_equals_our_own_methods(classifier, algorithm, options, method, own):
    expected = exparity.explain(classifier, TEXTS, [0, 1], method, **own)
    for one, other in zip(run(classifier, algorithm, **options), expected, strict=True):
        scale = np.abs(other.scores).max()
        np.testing.assert_allclose(one.scores, other.scores, atol=2e-5 * scale)


@pytest.mark.parametrize("algorithm", ["FeatureAblation", "Occlusion"])
def test_leaves_out_one_token_at_a_time(classifiers, algorithm):
    """As a loop over tokens: the logit with one embedding replaced by the baseline's."""
    classifier = classifiers["bert"]
    for one in run(classifier, algorithm):
        rows = classifier.embed(one.token_ids)
        absent = classifier.embed([classifier.pad_id])[0]
        with torch.no_grad():
            whole = classifier.logits(rows[None], [len(rows)])[0, one.target]
            for place in np.flatnonzero(one.content_mask):
                changed = rows.clone()
                changed[place] = absent
                left = classifier.logits(changed[None], [len(rows)])[0, one.target]
                assert one.scores[place] == pytest.approx(float(whole - left), abs=1e-5)
        np.testing.assert_allclose(one.scores[one.special_mask], 0, atol=1e-5)


@pytest.mark.parametrize("algorithm", ["ShapleyValueSampling", "KernelShap", "IntegratedGradients"])
def test_attributions_add_up_to_the_fall_to_the_baseline(classifiers, algorithm):
    classifier = classifiers["bert"]
    for one in run(classifier, algorithm):
        absent = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        with torch.no_grad():
            whole, empty = (
                float(classifier.logits(classifier.embed(ids)[None], [len(ids)])[0, one.target])
                for ids in (one.token_ids, absent)
            )
        assert one.scores.sum() == pytest.approx(whole - empty, abs=5e-3 * max(1, abs(whole)))


@pytest.mark.parametrize("algorithm", ["ShapleyValueSampling", "GradientShap", "Lime"])
def test_draws_are_those_of_seed_and_text(classifiers, algorithm):
    classifier = classifiers["bert"]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, again = run(classifier, algorithm), run(classifier, algorithm)
    (alone,) = exparity.explain(classifier, TEXTS[1:], 1, "captum", 3, algorithm=algorithm)
    for left, right in ((one[0], again[0]), (one[1], again[1]), (one[1], alone)):
        np.testing.assert_array_equal(left.scores, right.scores)
    other = exparity.explain(classifier, TEXTS, [0, 1], "captum", 4, algorithm=algorithm)
    assert not np.array_equal(other[1].scores, one[1].scores)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_options_are_passed_through(classifiers):
    """More samples leave less to the seed."""

    def spread(n_samples):
        drawn = [
            exparity.explain(
                classifiers["bert"],
                TEXTS[:1],
                0,
                "captum",
                seed,
                algorithm="ShapleyValueSampling",
                options={"n_samples": n_samples},
            )[0].scores
            for seed in range(4)
        ]
        return np.std(drawn, axis=0).max()

    assert spread(60) < spread(2) / 2


@pytest.mark.parametrize("algorithm", typing.get_args(Algorithm))
def test_every_algorithm_answers_or_says_why_not(classifier, algorithm):
    texts = ["."] if algorithm == "ShapleyValues" else TEXTS  # that runs every order of tokens
    call = partial(exparity.explain, classifier, texts, 0, "captum", algorithm=algorithm)
    if algorithm in ("DeepLift", "DeepLiftShap", "GuidedBackprop", "Deconvolution"):
        with pytest.raises(InputError, match="take our method"):
            call()
    else:
        assert all(np.isfinite(one.scores).all() and one.scores.any() for one in call())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "Occlusions"}, "'Occlusions' is not one of"),
        ({"options": {"n_step": 3}}, "IntegratedGradients has no 'n_step'; did you mean 'n_steps'"),
        ({"options": {"target": 3}}, "IntegratedGradients has no 'target'"),
        ({"options": {"method": "no"}}, "method captum: IntegratedGradients: .*no"),
    ],
)
def test_wrong_options_get_one_clear_line(classifiers, options, message):
    with pytest.raises(InputError, match=message):
        exparity.explain(classifiers["bert"], TEXTS, 0, "captum", **options)
