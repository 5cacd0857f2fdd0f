"""Try families of models: a tiny random one of each, as sequence classifier and with label words.

Usage: python benchmarks/families.py [FAMILY ...] [--write docs/models.md]

Each is held to what explanations rest on: probabilities from embeddings are those from token ids; a
text has the same bits alone and in a batch; integrated gradients × input sum to the change of what
is explained; LIME, DeepLIFT, AttnLRP and attention rollout give finite scores, AttnLRP without a
change of the output. Prints a table, or writes it between the marks of a page.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from engine_tables import markdown

import exparity
from exparity import ExparityError
from exparity.engine.preflight import check_function
from exparity.methods._relevance import Propagation
from exparity.models.checkpoints import quiet_transformers
from exparity.models.scratch import random_model, train_tokenizer
from exparity.models.spec import ModelSpec

PROMPT = "Here is a review: {text}\nWas it good or bad? It was"
WORDS = {"bad": " bad", "good": " good"}
TEXTS = ["the film was good and long", "she said that it was a very bad film", "bad"]
_BASE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_ENCODER = {**_BASE, "intermediate_size": 48}
_DECODER = {**_ENCODER, "num_key_value_heads": 2}
_NARROW = {**_DECODER, "head_dim": 8}
FAMILIES: Mapping[str, Mapping[str, Any]] = {
    "bert": _ENCODER,
    "roberta": _ENCODER,
    "xlm-roberta": _ENCODER,
    "electra": {**_ENCODER, "embedding_size": 32},
    "albert": {**_ENCODER, "embedding_size": 32},
    "distilbert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48},
    "deberta-v2": _ENCODER,
    "modernbert": _ENCODER,
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "gpt_neox": _ENCODER,
    "opt": {**_BASE, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "llama": _DECODER,
    "mistral": _NARROW,
    "qwen2": _DECODER,
    "qwen3": _NARROW,
    "gemma2": {**_NARROW, "query_pre_attn_scalar": 8},
    "gemma3_text": {**_NARROW, "query_pre_attn_scalar": 8},
    "phi": _ENCODER,
    "phi3": _DECODER,
    "falcon": _BASE,
    "olmo2": _DECODER,
    "granite": _DECODER,
    "cohere": _DECODER,
    "t5": {"d_model": 32, "d_kv": 8, "num_layers": 2, "num_heads": 4, "d_ff": 48},
}
ENCODERS = ("bert", "roberta", "xlm-roberta", "electra")
"""Families whose causal form is no language model that anybody trained."""
_BLOCK = re.compile(r"(<!-- families -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    parser.add_argument("--write", type=Path, help="page that holds the table")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with quiet_transformers():
        table = table_of(arguments.families or list(FAMILIES))
    if arguments.write is None:
        print(table)
        return
    page = arguments.write.read_text(encoding="utf-8")
    renewed = _BLOCK.sub(lambda block: f"{block[1]}\n{table}\n\n{block[2]}", page)
    arguments.write.write_text(renewed, encoding="utf-8")


def table_of(families: list[str]) -> str:
    """Return a row for each family, with what passes of each kind of classifier."""
    heads = {"sequence head": sequence_classifier, "label words": prompted_model}
    rows = [
        {"family": f"`{family}`", **{name: tried(build, family) for name, build in heads.items()}}
        for family in families
    ]
    return markdown(rows)


def tried(build: Callable[[str], exparity.Classifier | None], family: str) -> str:
    """Return ``yes``, or what does not pass and why."""
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
            if name == "outputs":
                return f"refused: {_brief(error)}"
    return f"all but {'; '.join(failed)}" if failed else "yes"


def _brief(error: Exception) -> str:
    return " ".join(str(error).split()).partition("; ")[0] or type(error).__name__


def _parts(family: str, head: str, kind: Any) -> tuple[Any, Any]:
    """Return a random model and a tokenizer, larger weights than usual so that texts differ."""
    spec = ModelSpec(
        init="scratch",
        architecture=family,
        size=dict(FAMILIES[family]),
        head=head,
        tokenizer=kind,
        vocab_size=400,
    )
    tokenizer = train_tokenizer(spec, [*TEXTS, PROMPT, "It was ... bad", "It was ... good"] * 5)
    tokenizer.model_max_length = 128
    torch.manual_seed(3)
    model = random_model(spec, tokenizer, list(WORDS)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
        # From a padding token at zero, the path of integrated gradients begins where an RMSNorm has
        # no bounds, and takes thousands of steps.
        rows = model.get_input_embeddings().weight
        rows[tokenizer.pad_token_id] = rows[5]
    return model, tokenizer


def _is_known(family: str, auto: Any) -> bool:
    return type(transformers.AutoConfig.for_model(family)) in auto._model_mapping


def sequence_classifier(family: str) -> exparity.Classifier | None:
    if not _is_known(family, transformers.AutoModelForSequenceClassification):
        return None
    encoder = "num_key_value_heads" not in FAMILIES[family] and family not in ("gpt2", "falcon")
    return exparity.load_classifier(
        _parts(family, "sequence", "wordpiece" if encoder else "bpe"), "cpu"
    )


def prompted_model(family: str) -> exparity.Classifier | None:
    if family in ENCODERS or not _is_known(family, transformers.AutoModelForCausalLM):
        return None
    parts = _parts(family, "label_words", "bpe")
    return exparity.load_classifier(parts, "cpu", prompt=PROMPT, words=WORDS)


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
