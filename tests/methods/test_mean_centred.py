"""For which models the summed gradient is zero: every type, random weights, float64."""

import pytest
import torch

from exparity.methods.integrated_gradients import MEAN_CENTRED

pytestmark = pytest.mark.reference

BERT = {
    "vocab_size": 60,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
    "pad_token_id": 0,
}
GPT2 = {"vocab_size": 60, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 40}
GPT2["pad_token_id"] = 0
OPT = {**BERT, "ffn_dim": 32, "word_embed_proj_dim": 16}
SIZES = {
    "albert": {**BERT, "embedding_size": 8},
    "bloom": {"vocab_size": 60, "hidden_size": 16, "n_layer": 2, "n_head": 2, "pad_token_id": 0},
    "convbert": {**BERT, "embedding_size": 16, "head_ratio": 2},
    "deberta-v2": {**BERT, "relative_attention": True, "position_buckets": 8},
    "distilbert": {"vocab_size": 60, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32},
    "falcon": {**BERT, "bos_token_id": 1, "eos_token_id": 2},
    "gemma2": {**BERT, "num_key_value_heads": 2, "head_dim": 8},
    "gpt2": GPT2,
    "gpt_neo": {**BERT, "num_layers": 2, "num_heads": 2, "attention_types": [[["global"], 2]]},
    "gptj": {**GPT2, "rotary_dim": 4},
    "llama": {**BERT, "num_key_value_heads": 2},
    "mobilebert": {**BERT, "embedding_size": 16, "intra_bottleneck_size": 16},
    "modernbert": {**BERT, **dict.fromkeys(["cls_token_id", "bos_token_id"], 1), "eos_token_id": 2},
    "openai-gpt": GPT2,
    "opt": OPT,
    "qwen2": {**BERT, "num_key_value_heads": 2},
    "roformer": {**BERT, "embedding_size": 16},
    "xlnet": {"vocab_size": 60, "d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 32},
}


def share_of_the_sum(model_type, **more):
    """The largest summed gradient of a token, as a share of its parts' size."""
    from transformers import AutoConfig, AutoModelForSequenceClassification

    torch.manual_seed(0)
    size = {**SIZES.get(model_type, BERT), **more}
    config = AutoConfig.for_model(model_type, num_labels=2, **size)
    model = AutoModelForSequenceClassification.from_config(config).double().eval()
    with torch.no_grad():  # far from the start of training, where biases are zero
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    ids = torch.tensor([5, 9, 30, 41, 7, 12])
    rows = model.get_input_embeddings()(ids).detach().requires_grad_(True)
    if hasattr(model, "score"):  # heads of decoders look for the last token in token ids
        hidden = model.base_model(inputs_embeds=rows[None], use_cache=False).last_hidden_state
        logit = model.score(hidden[0, -1])[1]
    else:
        logit = model(inputs_embeds=rows[None]).logits[0, 1]
    (gradient,) = torch.autograd.grad(logit, rows)
    return float(gradient.sum(-1).abs().max() / gradient.abs().sum(-1).max())


@pytest.mark.parametrize("model_type", MEAN_CENTRED)
def test_the_sum_is_zero(model_type):
    # DeBERTa normalises in float32 whatever the model's precision.
    assert share_of_the_sum(model_type) < (1e-6 if model_type == "deberta" else 1e-13)


@pytest.mark.parametrize(
    ("model_type", "more"),
    [
        *((name, {}) for name in ("llama", "qwen2", "gemma2", "mobilebert", "xlnet", "openai-gpt")),
        ("opt", {"do_layer_norm_before": False}),
    ],
)
def test_the_sum_is_not_zero(model_type, more):
    assert share_of_the_sum(model_type, **more) > 1e-4
    assert more or model_type not in MEAN_CENTRED
