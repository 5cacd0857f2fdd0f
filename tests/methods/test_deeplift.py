"""DeepLIFT: closed forms, completeness where the rule has it, captum, and where it has not."""

import numpy as np
import pytest
import torch
from engine.exact import ExactModel
from hypothesis import given, settings
from hypothesis import strategies as st
from methods.toy import WIDTH, Layers, OnRows, rectified, toy
from torch.nn import functional as F
from transformers.activations import ACT2FN

import exparity
from exparity import ExparityError

TEXTS = ["She sings .", "His mother thanked the waiter near the harbour ."]
TARGETS = [0, 1]
ACTIVATIONS = {
    "relu function": F.relu,
    "relu in place, shared": torch.nn.ReLU(inplace=True),
    "gelu": ACT2FN["gelu"],
    "gelu of several functions": ACT2FN["gelu_new"],
    "tanh method": lambda x: x.tanh(),
    "silu": torch.nn.SiLU(),
}


def affine(layer, x):
    """W x + b, as loops."""
    weights, bias = layer.weight.tolist(), layer.bias.tolist()
    return [
        b + sum(w * u for w, u in zip(row, x, strict=True))
        for row, b in zip(weights, bias, strict=True)
    ]


@pytest.mark.reference
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_scores_of_elementwise_networks_are_complete(classifiers, name):
    """Σ s = f(x) − f(x′), whatever the activation is and however it is called."""
    tokenizer = classifiers["bert"].tokenizer

    @settings(max_examples=5)
    @given(st.integers(0, 999))
    def check(seed):
        classifier = toy(Layers(ACTIVATIONS[name]), tokenizer, seed)
        for one in exparity.explain(classifier, TEXTS, TARGETS, "deeplift"):
            change = ExactModel(classifier).change_of_logit(one, classifier.pad_id)
            assert one.scores.sum() == pytest.approx(change, rel=1e-4, abs=1e-3)

    check()


@pytest.mark.reference
def test_equals_a_naive_rescale(classifiers):
    """Two hidden layers, unit by unit, in float64."""
    classifier = toy(Layers(F.relu), classifiers["bert"].tokenizer, seed=3)
    for one in exparity.explain(classifier, TEXTS, TARGETS, "deeplift"):
        exact = ExactModel(classifier)
        body = exact.model.body.requires_grad_(False)
        absent = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        x, base = exact.rows(one.token_ids), exact.rows(absent)
        states = []
        for rows in (x, base):
            first = affine(body.first, rows.mean(0).tolist())
            second = affine(body.second, [max(u, 0) for u in first])
            states.append((first, second))
        multipliers = [
            [
                (max(u, 0) - max(v, 0)) / (u - v)
                for u, v in zip(states[0][layer], states[1][layer], strict=True)
            ]
            for layer in (0, 1)
        ]
        expected = np.zeros(len(x))
        for i in range(len(x)):
            for h in range(WIDTH):
                for j in range(8):
                    for k in range(8):
                        expected[i] += float(
                            (x[i, h] - base[i, h])
                            / len(x)
                            * body.first.weight[j, h]
                            * multipliers[0][j]
                            * body.second.weight[k, j]
                            * multipliers[1][k]
                            * body.last.weight[one.target, k]
                        )
        np.testing.assert_allclose(one.scores, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.reference
@pytest.mark.filterwarnings("ignore:Setting forward, backward hooks")
def test_equals_captum_where_captum_sees_every_activation(classifiers):
    from captum.attr import DeepLift

    classifier = rectified(classifiers["bert"])
    peer = DeepLift(OnRows(classifier.model))
    for one in exparity.explain(classifier, TEXTS, TARGETS, "deeplift"):
        base = np.where(one.special_mask, one.token_ids, classifier.pad_id)
        rows = [classifier.embed(ids)[None].requires_grad_() for ids in (one.token_ids, base)]
        expected = peer.attribute(*rows, target=one.target)[0].sum(-1).detach().numpy()
        np.testing.assert_allclose(one.scores, expected, rtol=1e-4, atol=1e-5)


def test_a_model_that_decides_by_its_input_is_refused(classifiers):
    class Fickle(torch.nn.Module):
        def forward(self, x):
            calls = 1 + int(x[0, 0] > 0)
            for _ in range(calls):
                x = torch.tanh(x)
            return x[:, :2]

    classifier = toy(Fickle(), classifiers["bert"].tokenizer)
    texts = TEXTS * 4 + ["The girl sings .", "he", "she"]
    with pytest.raises(ExparityError, match="calls other activations"):
        exparity.explain(classifier, texts, [0] * len(texts), "deeplift")
