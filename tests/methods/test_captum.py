"""captum's algorithms at run time: against our own, against captum by itself, and refusals."""

import typing
from functools import partial

import captum.attr
import numpy as np
import pytest
import torch
from methods.toy import OnRows

import exparity
from exparity import InputError
from exparity.core.seeding import generator
from exparity.methods.captum import Algorithm

pytestmark = pytest.mark.reference
TEXTS = ["The girl sings .", "His mother thanked the waiter ."]


def run(classifier, algorithm, **options):
    return exparity.explain(
        classifier, TEXTS, [0, 1], "captum", 3, algorithm=algorithm, options=options
    )


def embedded(classifier, explanation):
    """The (1, t, h) embeddings of a text and of its baseline."""
    table = classifier.model.get_input_embeddings()
    absent = np.where(explanation.special_mask, explanation.token_ids, classifier.pad_id)
    with torch.no_grad():
        return [table(torch.tensor(ids)[None]) for ids in (explanation.token_ids, absent)]


def directly(classifier, explanation, algorithm, **options):
    """What captum gives for one text, without anything of exparity but the model."""
    rows, baseline = embedded(classifier, explanation)
    made = getattr(captum.attr, algorithm)(OnRows(classifier.model))
    if algorithm != "Saliency":
        options["baselines"] = baseline
    if algorithm == "Occlusion":
        options["sliding_window_shapes"] = (1, rows.shape[-1])
    if algorithm == "KernelShap":
        features = torch.arange(rows.shape[1])[None, :, None].expand_as(rows)
        options["feature_mask"] = features
        seed = int(generator(3, "explain", "captum", explanation.text).integers(2**31))
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
    values = made.attribute(rows.requires_grad_(), target=explanation.target, **options)[0]
    if algorithm in ("Occlusion", "KernelShap"):
        return values[:, 0].detach().numpy()
    return (values.abs() if algorithm == "Saliency" else values).sum(-1).detach().numpy()


DIRECT = {
    "Saliency": {},
    "IntegratedGradients": {"n_steps": 20},
    "Occlusion": {},
    "KernelShap": {"n_samples": 60},
}


@pytest.mark.parametrize("family", ["distilbert", "gpt2"])
@pytest.mark.parametrize("algorithm", DIRECT)
def test_equals_a_direct_call(classifiers, pair_classifiers, family, algorithm):
    classifier = {**classifiers, **pair_classifiers}[family]
    with torch.random.fork_rng():
        for one in run(classifier, algorithm, **DIRECT[algorithm]):
            expected = directly(classifier, one, algorithm, **DIRECT[algorithm])
            assert np.abs(expected).max() > 1e-3
            scale = max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(one.scores, expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("algorithm", ["ShapleyValueSampling", "GradientShap", "Lime"])
def test_draws_are_those_of_seed_and_text(classifiers, algorithm):
    options = {"algorithm": algorithm, "options": {"n_samples": 5}}
    draw = partial(exparity.explain, classifiers["bert"], method="captum", **options)
    one, again, other = (draw(TEXTS, [0, 1], seed=seed) for seed in (3, 3, 4))
    (alone,) = draw(TEXTS[1:], 1, seed=3)
    for left, right in ((one[0], again[0]), (one[1], again[1]), (one[1], alone)):
        np.testing.assert_array_equal(left.scores, right.scores)
    assert not np.array_equal(other[1].scores, one[1].scores)


@pytest.mark.parametrize("algorithm", typing.get_args(typing.get_args(Algorithm)[0]))
def test_every_algorithm_answers(classifier, algorithm):
    texts = ["."] if algorithm == "ShapleyValues" else TEXTS  # that runs every order of tokens
    found = exparity.explain(classifier, texts, 0, "captum", algorithm=algorithm)
    assert all(np.isfinite(one.scores).all() and one.scores.any() for one in found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"algorithm": "Occlusions"}, "Input should be .*, found 'Occlusions'"),
        (
            {"options": {"n_step": 3}},
            "method captum: IntegratedGradients has no option 'n_step'; did you mean 'n_steps'",
        ),
    ],
)
def test_wrong_options_get_one_clear_line(classifiers, options, message):
    with pytest.raises(InputError, match=message):
        exparity.explain(classifiers["bert"], TEXTS, 0, "captum", **options)
