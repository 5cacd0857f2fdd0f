"""Try all families of models: a tiny random one of each, as sequence classifier and by label words.

Usage: python benchmarks/families.py [FAMILY ...] [--write docs/models.md]

The probabilities of a sequence classifier must be those of transformers' pipeline to 1e-5, of texts
alone and padded; those of label words must be those of the plain model. Then each is held to what
explanations rest on: a text has the same bits alone and in a batch; integrated gradients × input
sum to the change of what is explained; LIME, DeepLIFT and AttnLRP give finite scores, AttnLRP
without a change of the output. Prints a table, or writes it between the marks of a page.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from shared import markdown, write_between_marks
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES as SEQUENCE,
)

import exparity
from exparity import ExparityError
from exparity.engine.preflight import check_function
from exparity.methods._relevance import Propagation
from exparity.models.folders import quiet_transformers
from exparity.models.scratch import train_tokenizer
from exparity.models.spec import ModelSpec

PROMPT = "Here is a review: {text}\nWas it good or bad? It was"
WORDS = {"bad": " bad", "good": " good"}
TEXTS = ["the film was good and long", "she said that it was a very bad film", "bad"]
TOLERANCE = 1e-5
LARGEST = 3_000_000
"""Parameters of a model that counts as tiny."""
LABEL_WORDS = [
    *("cohere", "falcon", "gemma2", "gemma3_text", "gpt2", "gpt_neox", "granite", "llama"),
    *("mistral", "olmo2", "opt", "phi", "phi3", "qwen2", "qwen3"),
]
"""Families of language models that are tried with label words."""
_NAMES = {
    32: "hidden_size d_model n_embd dim emb_dim word_embed_proj_dim embedding_size "
    "embedding_dim true_hidden_size intra_bottleneck_size",
    2: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers "
    "num_key_value_heads num_experts num_local_experts n_routed_experts moe_num_experts "
    "full_attention_interval",
    4: "num_attention_heads n_head n_heads num_heads encoder_attention_heads "
    "decoder_attention_heads qk_rope_head_dim qk_nope_head_dim rotary_dim",
    48: "intermediate_size hidden_dim ffn_dim d_inner dff n_inner d_ff encoder_ffn_dim "
    "decoder_ffn_dim ffn_hidden_size moe_intermediate_size shared_expert_intermediate_size "
    "mlp_intermediate_size",
    8: "head_dim d_head d_kv v_head_dim kv_lora_rank q_lora_rank attention_head_size num_landmarks "
    "query_pre_attn_scalar",
    1: "num_experts_per_tok n_group topk_group n_shared_experts num_decoder_layers n_langs "
    "moe_topk",
    10: "entity_vocab_size pronunciation_vocab_size shape_vocab_size",
    16: "entity_emb_size pronunciation_embed_dim shape_embed_dim",
    130: "max_position_embeddings n_positions max_seq_len",
}
SMALL: Mapping[str, int] = {name: n for n, names in _NAMES.items() for name in names.split()}
"""Size of every entry of a configuration that has one of these names."""
_LATENT = {"num_key_value_heads": 4, "q_lora_rank": 8, "kv_lora_rank": 8, "qk_rope_head_dim": 4}
_LATENT |= {"qk_nope_head_dim": 4, "v_head_dim": 8, "head_dim": 4}
_BOXES = {"coordinate_size": 4, "shape_size": 8, "hidden_size": 32}
EXTRA: Mapping[str, Mapping[str, Any]] = {
    **dict.fromkeys(("axk1", "axk2", "deepseek_v2", "deepseek_v3", "minicpm3"), _LATENT),
    "mistral4": _LATENT,
    "convbert": {"conv_kernel_size": 3, "head_ratio": 2},
    "esmc": {"num_key_value_heads": 4},
    "funnel": {"block_sizes": [1, 1]},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]], "window_size": 16},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "mamba_dt_rank": 4},
    "layoutlmv3": _BOXES,
    "lilt": {"channel_shrink_ratio": 1, "hidden_size": 48},
    "longformer": {"attention_window": 8},
    "nystromformer": {"segment_means_seq_len": 8},
    "qwen3_5_text": {"layer_types": ["linear_attention", "full_attention"]},
    "qwen3_next": {"layer_types": ["linear_attention", "full_attention"]},
    "xmod": {"languages": ["en_XX"], "default_language": "en_XX"},
    "reformer": {"axial_pos_embds": False, "attn_layers": ["local"], "is_decoder": False},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--write", type=Path, help="page that holds the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with quiet_transformers():
        table = table_of(arguments.families or sorted({*SEQUENCE, *LABEL_WORDS}))
    if arguments.write is None:
        print(table)
    else:
        write_between_marks(arguments.write, "families", table)


def table_of(families: Sequence[str]) -> str:
    """Return the table of what families pass, by kind of classifier, those that pass all first."""
    grouped: dict[tuple[str, str], list[str]] = {}
    builds = {"sequence head": sequence_classifier, "label words": prompted_model}
    for family in families:
        for head, build in builds.items():
            if (result := tried(build, family)) != "none":
                grouped.setdefault((head, result), []).append(f"`{family}`")
    ordered = sorted(grouped, key=lambda key: (key[0] != "sequence head", -len(grouped[key])))
    return markdown(
        [
            {"classifier": head, "passes": result, "families": ", ".join(grouped[head, result])}
            for head, result in ordered
        ]
    )


def tried(build: Callable[[str], exparity.Classifier | None], family: str) -> str:
    """Return ``all``, or what does not pass and why."""
    try:
        classifier = build(family)
    except ExparityError as error:
        return f"refused: {_brief(error)}"
    if classifier is None:
        return "none"
    failed = []
    for name, check in CHECKS.items():
        try:
            check(classifier)
        except (AssertionError, ExparityError) as error:
            failed.append(f"{name} ({_brief(error)})")
    return f"all but {'; '.join(failed)}" if failed else "all"


def _brief(error: Exception) -> str:
    line = re.sub(r" in /\S+, line \d+|\\n", " ", " ".join(str(error).split()))
    return line.partition("; ")[0][:160] or type(error).__name__


def tiny_model(family: str, auto: Any, tokenizer: Any) -> Any:
    """Return a random model, with larger weights than usual so that texts differ."""
    known = transformers.AutoConfig.for_model(family).to_dict()
    config = _small(known, family) | {
        f"{role}_token_id": getattr(tokenizer, f"{role}_token_id")
        for role in ("pad", "bos", "eos", "cls", "sep", "mask")
    }
    config["decoder_start_token_id"] = tokenizer.pad_token_id
    labels = {"num_labels": 2} if auto is transformers.AutoModelForSequenceClassification else {}
    with torch.device("meta"):
        model = auto.from_config(transformers.AutoConfig.for_model(family, **config | labels))
    size = sum(parameter.numel() for parameter in model.parameters())
    if size > LARGEST:
        raise ExparityError(f"not small: {size:,} parameters")
    torch.manual_seed(3)
    model = auto.from_config(transformers.AutoConfig.for_model(family, **config | labels)).eval()
    # T5 does not scale its attention, MobileBERT has no norm: larger ones lose digits.
    larger = 1.5 if model.config.is_encoder_decoder or family == "mobilebert" else 4
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(larger)
        # From a padding token at zero, the path of integrated gradients begins where an RMSNorm has
        # no bounds, and takes thousands of steps.
        rows = model.get_input_embeddings().weight
        rows[tokenizer.pad_token_id] = rows[5]
    return model


def _small(known: Mapping[str, Any], family: str) -> dict[str, Any]:
    """Return the entries of a configuration, and of those in it, that make a model small."""
    small: dict[str, Any] = {name: size for name, size in SMALL.items() if name in known}
    for name, part in known.items():
        if isinstance(part, Mapping) and "model_type" in part:
            small[name] = {**_small(part, str(part["model_type"]))}
    return {**small, "vocab_size": 400, **EXTRA.get(family, {})}


def _tokenizer(architecture: str) -> Any:
    spec = ModelSpec(init="scratch", architecture=architecture, vocab_size=400)
    tokenizer = train_tokenizer(spec, [*TEXTS, PROMPT, "It was ... bad", "It was ... good"] * 5)
    tokenizer.model_max_length = 128
    if architecture == "bert":
        tokenizer.bos_token, tokenizer.eos_token = tokenizer.cls_token, tokenizer.sep_token
    return tokenizer


def sequence_classifier(family: str) -> exparity.Classifier | None:
    if family not in SEQUENCE:
        return None
    tokenizer = _tokenizer("bert")
    try:
        model = tiny_model(family, transformers.AutoModelForSequenceClassification, tokenizer)
        pipeline = transformers.pipeline(
            "text-classification", model=model, tokenizer=tokenizer, top_k=None, device="cpu"
        )
        answers: Any = pipeline(TEXTS)
        wanted = [{one["label"]: one["score"] for one in scores} for scores in answers]
    except ExparityError:
        raise
    except Exception as error:
        raise ExparityError(f"transformers itself: {type(error).__name__}: {error}") from error
    classifier = exparity.load_classifier((model, tokenizer), "cpu")
    classifier.exact = False  # pad texts, as on a GPU
    ids = [one.token_ids for one in classifier.encode(TEXTS)]
    check_function(classifier, ids, TEXTS)
    alone = np.concatenate([classifier.probabilities([one]) for one in ids])
    names = classifier.class_names
    expected = np.array([[scores[name] for name in names] for scores in wanted])
    for found in (alone, classifier.probabilities(ids)):
        gap = np.abs(found - expected).max()
        if not gap <= TOLERANCE:
            raise ExparityError(f"probabilities are not the pipeline's, by {gap:.2g}")
    return exparity.load_classifier((model, tokenizer), "cpu")


def prompted_model(family: str) -> exparity.Classifier | None:
    if family not in LABEL_WORDS:
        return None
    tokenizer = _tokenizer("gpt2")
    model = tiny_model(family, transformers.AutoModelForCausalLM, tokenizer)
    return exparity.load_classifier((model, tokenizer), "cpu", prompt=PROMPT, words=WORDS)


def has_equal_outputs(classifier: exparity.Classifier) -> None:
    check_function(classifier, [e.token_ids for e in classifier.encode(TEXTS)], TEXTS)


def has_equal_bits(classifier: exparity.Classifier) -> None:
    ids = [e.token_ids for e in classifier.encode([*TEXTS, *TEXTS])]
    alone = np.concatenate([classifier.probabilities([one]) for one in ids])
    assert (classifier.probabilities(ids) == alone).all(), "bits depend on the batch"


def is_complete(classifier: exparity.Classifier) -> None:
    options: dict[str, Any] = {"n_steps": 100, "explains": "log_odds"}
    for one in exparity.explain(classifier, TEXTS, 1, "integrated_gradients_x_input", **options):
        ids = np.asarray(one.token_ids)
        absent = np.where(np.asarray(one.special_mask), ids, classifier.pad_id)
        odds = [np.log(p[1] / p[0]) for p in classifier.probabilities([ids, absent])]
        fall = odds[0] - odds[1]
        gap = abs(one.scores.sum() - fall)
        assert gap <= 0.02 * max(1.0, abs(fall)), f"misses the change of log odds by {gap:.2g}"


def gives_scores(method: str, **options: Any) -> Callable[[exparity.Classifier], None]:
    def check(classifier: exparity.Classifier) -> None:
        for one in exparity.explain(classifier, TEXTS, 1, method, **options):
            assert np.abs(one.scores[one.content_mask]).max() > 0, "all scores are zero"

    return check


def keeps_outputs(classifier: exparity.Classifier) -> None:
    for encoding in classifier.encode(TEXTS):
        rows = classifier.embed(encoding.token_ids)[None].requires_grad_(True)
        plain = classifier.logits(rows, [len(encoding)])
        with Propagation(classifier.model, "attnlrp"):
            assert torch.equal(plain, classifier.logits(rows, [len(encoding)])), "changes outputs"
    gives_scores("attnlrp")(classifier)


CHECKS: Mapping[str, Callable[[exparity.Classifier], None]] = {
    "outputs": has_equal_outputs,
    "batches": has_equal_bits,
    "integrated gradients": is_complete,
    "LIME": gives_scores("lime", num_samples=30),
    "DeepLIFT": gives_scores("deeplift"),
    "AttnLRP": keeps_outputs,
}


if __name__ == "__main__":
    main()
