"""The one-layer attention model: its formula, its checkpoints, and the engine's contract for it."""

from pathlib import Path

import numpy as np
import pytest
from methods.training import explained

from exparity import evaluate, load_classifier
from exparity.models.checkpoints import build_model
from exparity.models.folders import quiet_transformers
from exparity.models.spec import ModelSpec

METHODS = ("gradient", "deeplift", "guided_backprop", "gradient_shap", "lime")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, examples) -> Path:
    import torch

    torch.manual_seed(3)
    spec = ModelSpec(init="scratch", architecture="ola", size={"hidden_size": 16}, vocab_size=600)
    model, tokenizer = build_model(spec, ["a", "b", "c"], [e.text for e in examples])
    path = tmp_path_factory.mktemp("ola")
    with quiet_transformers():
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def ola(folder):
    return load_classifier(str(folder), "cpu")


@pytest.fixture(scope="module")
def quick(folder):
    return load_classifier(str(folder), "cpu", shortcuts=True)


@pytest.fixture(scope="module")
def ids(ola, sentences):
    return [e.token_ids for e in ola.encode(sentences)]


def naive(model, ids):
    """Logits of one text in float64, written out with loops."""
    w = {k: v.double().numpy() for k, v in model.state_dict().items()}

    def linear(name, x):
        return w[f"{name}.weight"] @ x + w[f"{name}.bias"]

    rows = [w["ola.embeddings.word_embeddings.weight"][i] for i in ids]
    query = linear("ola.attention.query", rows[0])
    strengths = [query @ linear("ola.attention.key", row) / np.sqrt(len(row)) for row in rows]
    weights = np.exp(strengths) / np.exp(strengths).sum()
    values = [linear("ola.attention.value", row) for row in rows]
    mixed = sum(weight * value for weight, value in zip(weights, values, strict=True))
    return linear("classifier", np.tanh(linear("ola.pooler.dense", mixed)))


@pytest.mark.reference
def test_it_is_what_it_says(ola, ids):
    logits = np.array([naive(ola.model, text) for text in ids])
    expected = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(ola.probabilities(ids), expected, atol=1e-6)


def test_another_architecture_lends_its_tokenizer_alone(checkpoints):
    spec = ModelSpec(init="scratch", architecture="ola", checkpoint=checkpoints["bert"])
    model, tokenizer = build_model(spec, ["a", "b"], [])
    assert model.config.model_type == "ola"
    assert model.config.hidden_size == 64
    assert model.config.vocab_size == len(tokenizer)


class TestEngine:
    def test_shortcuts_and_packed_layers_change_nothing(self, ola, quick, ids, monkeypatch):
        packed = ola.probabilities(ids)
        for exact in (True, False):
            monkeypatch.setattr(quick, "exact", exact)
            np.testing.assert_allclose(quick.probabilities(ids), packed, atol=1e-6)
        monkeypatch.setattr(ola, "layers", None)
        np.testing.assert_allclose(packed, ola.probabilities(ids), atol=1e-6)

    @pytest.mark.parametrize("method", METHODS)
    def test_it_can_be_explained(self, ola, quick, sentences, method):
        plain, short = (explained(c, sentences[:4], 1, method) for c in (ola, quick))
        for one, other in zip(plain, short, strict=True):
            size = np.abs(one.scores).max()
            assert size > 0
            np.testing.assert_allclose(other.scores, one.scores, atol=1e-4 * size)
        assert not [n for n, m in quick.model.named_modules() if "forward" in vars(m)]
        assert np.isfinite(evaluate(ola, plain, "comprehensiveness")).all()
