"""A text has the same bits in any company, or one line says that it may not."""

import logging

import numpy as np
import pytest
import tiny_models
import torch
from tiny_models import CORPUS

import exparity
from exparity.core import trials
from exparity.engine import kernels, steadiness

LINE = "may depend on what shares a batch"
MODELS = {
    "erf-GELU, 33 units": ("bert", {"intermediate_size": 33}),
    "SiLU, 33 units": ("bert", {"hidden_act": "silu", "intermediate_size": 33}),
    "SiLU, 64 units": ("bert", {"hidden_act": "silu", "intermediate_size": 64}),
    "tanh-GELU, 80 units": ("bert", {"hidden_act": "gelu_pytorch_tanh", "intermediate_size": 80}),
    "products of all rows": ("xlnet", {}),
}
TOKENIZERS = {"bert": tiny_models.wordpiece, "xlnet": tiny_models.xlnet_wordpiece}


def pair_of(family, **settings):
    tokenizer = TOKENIZERS[family]()
    return tiny_models.make(family, tokenizer, **settings), tokenizer


def explained(pair, texts, caplog):
    """Scores of texts by a classifier of its own, and whether the line was logged."""
    caplog.clear()
    classifier = exparity.load_classifier(pair, "cpu")
    with caplog.at_level(logging.WARNING):
        found = exparity.explain(classifier, texts, [0] * len(texts), "gradient_x_input")
    lines = [record.message for record in caplog.records if LINE in record.message]
    assert len(lines) <= 1
    return [explanation.scores for explanation in found], bool(lines)


@pytest.mark.bits
@pytest.mark.parametrize("kind", MODELS)
def test_bits_are_kept_or_a_line_says_that_they_may_not(kind, caplog, one_thread):
    family, settings = MODELS[kind]
    pair = pair_of(family, **settings)
    # Of one length, so that they share a batch.
    words = " ".join(CORPUS[:3]).split()
    texts = [" ".join(np.roll(words, shift)[:19]) for shift in range(11)]
    together, has_line = explained(pair, texts, caplog)
    # Each of the others is loaded and tried anew.
    alone = [explained(pair, [text], caplog)[0][0] for text in texts[::5]]
    assert has_line or all(map(np.array_equal, together[::5], alone))
    if kind == "SiLU, 64 units":  # which fill every vector
        assert not has_line


class CountsTexts(torch.nn.Module):
    """An activation that rounds by how many texts share its batch, as the vectors of a CPU may."""

    def forward(self, inputs):
        return inputs.relu() * (1 + 1e-6 * len(inputs))


def test_an_activation_that_depends_on_the_batch_is_one_line(caplog):
    model, tokenizer = pair_of("bert")
    assert not explained((model, tokenizer), CORPUS[:3], caplog)[1]
    for layer in model.bert.encoder.layer:
        layer.intermediate.intermediate_act_fn = CountsTexts()
    assert explained((model, tokenizer), CORPUS[:3], caplog)[1]


def test_a_layer_without_a_steady_product_is_one_line(caplog, monkeypatch):
    pair = pair_of("bert")
    monkeypatch.setattr(trials, "_known", {})
    monkeypatch.setattr(kernels, "_unsteady", lambda size, way: {"forward"})
    assert explained(pair, CORPUS[:3], caplog)[1]


def test_an_activation_is_tried_once(monkeypatch):
    """A gradient begins with the forward pass that was tried."""
    tried = []

    def count(module, *_):
        tried.append(module)
        return True

    monkeypatch.setattr(steadiness, "_is_steady_by_token", count)
    model, tokenizer = pair_of("bert")
    exparity.explain(exparity.load_classifier((model, tokenizer), "cpu"), CORPUS[:3], [0] * 3)
    layers = model.bert.encoder.layer
    assert [tried.count(layer.intermediate.intermediate_act_fn) for layer in layers] == [1, 1]
