"""AttnLRP: numbers of LXT, outputs left alone, attention by two routes, conservation."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from support import TINY
from torch.nn import functional as F
from transformers import AutoConfig, AutoModelForCausalLM

import exparity
from exparity import InputError
from exparity.config.cautions import cautions
from exparity.config.experiment import Experiment
from exparity.methods import METHODS
from exparity.methods._relevance import Propagation
from exparity.tools.catalogue import print_catalogue

LXT = json.loads(Path(__file__).with_name("lxt.json").read_text())
TEXTS = ["The girl sings .", "His mother thanked the waiter near the harbour ."]
SMALL = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-6,
    "vocab_size": 97,
}
OF_FAMILIES = {
    "llama": {},
    "qwen2": {},
    "qwen3": {"head_dim": 8},
    "gemma3_text": {"head_dim": 8},
    "gpt2": {"n_embd": 32, "n_head": 4, "n_layer": 3, "vocab_size": 97},
    "mistral": {},
    "phi3": {"pad_token_id": 0},
    "olmo2": {},
    "gemma2": {"head_dim": 8},
}
WITHOUT_BIASES = ("llama", "mistral", "qwen3", "gemma2", "gemma3_text", "phi3", "olmo2")


def causal(family, attention):
    """A random language model: its initial weights and noise on top of them."""
    own = OF_FAMILIES[family]
    config = AutoConfig.for_model(family, **(own if family == "gpt2" else {**SMALL, **own}))
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, attn_implementation=attention).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * (0.2 if parameter.ndim > 1 else 0.1))
    return model.requires_grad_(False)


def relevance(model, variant):
    """(t,) relevance of a language model's tokens for one next token, and that token's logit."""
    ids = torch.tensor([LXT["token_ids"]])
    rows = model.get_input_embeddings()(ids).requires_grad_(True)
    plain = model(inputs_embeds=rows).logits
    with Propagation(model, variant):
        logits = model(inputs_embeds=rows).logits
    assert torch.equal(logits, plain)
    logit = logits[0, -1, LXT["target_token"]]
    (gradient,) = torch.autograd.grad(logit, rows)
    return (gradient * rows)[0].sum(-1).detach().numpy(), float(logit.detach())


@pytest.mark.reference
@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", [name for name in LXT if name in OF_FAMILIES])
def test_numbers_of_the_authors_library(family, attention):
    found, logit = relevance(causal(family, attention), "attnlrp")
    assert logit == pytest.approx(LXT[family]["logit"], abs=3e-6)  # else it is another model
    np.testing.assert_allclose(found, LXT[family]["attnlrp"], atol=2e-6)


@pytest.mark.property
@pytest.mark.parametrize("variant", ["attnlrp", "cp"])
@pytest.mark.parametrize("family", [name for name in OF_FAMILIES if name != "gemma2"])
def test_both_routes_of_attention_agree(family, variant):
    fused, eager = (relevance(causal(family, route), variant)[0] for route in ("sdpa", "eager"))
    np.testing.assert_allclose(fused, eager, atol=3e-6)


@pytest.mark.property
@pytest.mark.parametrize("family", WITHOUT_BIASES)
def test_cp_is_conserving_without_biases(family):
    found, logit = relevance(causal(family, "eager"), "cp")  # the one that gemma2 has
    assert found.sum() == pytest.approx(logit, rel=2e-5)


@pytest.mark.property
def test_what_normalises_is_constant_however_it_is_called():
    x = torch.randn(3, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    forms = [
        lambda x: F.layer_norm(x, (8,)),
        lambda x: (
            (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()
        ),
        lambda x: (
            (x - x.mean(-1, keepdim=True)) * (x.var(-1, correction=0, keepdim=True) + 1e-5) ** -0.5
        ),
    ]

    def gradient_of(form):
        inputs = x.clone().requires_grad_(True)
        with Propagation(torch.nn.Identity(), "attnlrp"):
            output = form(inputs)
        (gradient,) = torch.autograd.grad(output[:, 2].sum(), inputs)
        torch.testing.assert_close((gradient * x).sum(-1), output[:, 2])
        return gradient

    first, *others = map(gradient_of, forms)
    for gradient in others:
        torch.testing.assert_close(gradient, first)
    gradient_of(lambda x: F.rms_norm(x, (8,), eps=1e-5))


def test_attention_that_cannot_be_seen_is_refused(classifiers, monkeypatch):
    classifier = classifiers["gpt2"]
    exparity.explain(classifier, TEXTS, 1, "gradient")  # compares it with the plain model
    monkeypatch.setattr(classifier.model.config, "_attn_implementation_internal", "flex_attention")
    with pytest.raises(InputError, match=r"method attnlrp: does not see into .*flex"):
        exparity.explain(classifier, TEXTS, 1, "attnlrp")


@pytest.mark.contract
def test_its_terms_are_printed(capsys, classifiers):
    classifier = classifiers["bert"]
    terms = METHODS.get("attnlrp").facts.terms
    assert "patent" in terms
    print_catalogue("methods")
    assert terms in capsys.readouterr().out
    planned = Experiment.from_mapping({**TINY, "methods": {"attnlrp": {}}})
    assert f"methods.attnlrp: {terms}" in cautions(planned)
    every = exparity.Benchmark(classifier, TEXTS[0]).explain("all").explanations
    assert "gradient" in every
    assert "attnlrp" not in every
