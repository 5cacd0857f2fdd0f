"""Tiny random models of transformers with tokenizers of the usual kinds."""

from typing import Any

import numpy as np
import torch
import transformers
from tokenizers import (
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

CORPUS = [
    "the nurse said that she was tired after the long shift",
    "the driver said that he was late again",
    "I loved this film , it was warm and funny",
    "great service\n\nbut the food was bad",
    "Line one\nLine two\n- item one\n- item two",
    "what a wonderful day 😂😂",
    "terrible , never again !!!",
    "我喜欢这部电影",
    "naïve café … ﬁne ½",
]
TEXTS = [
    "I loved this film , it was warm and funny",
    "great service\n\nbut the food was bad",
    "the  nurse\twas\u00a0late ",
    "bad",
]
"""Texts of different lengths, with blanks of every kind."""
_AS_ROBERTA = {
    **dict.fromkeys(("cls_token", "bos_token"), "<s>"),
    **dict.fromkeys(("sep_token", "eos_token"), "</s>"),
    **{f"{role}_token": f"<{role}>" for role in ("pad", "unk", "mask")},
}
_BYTES = {"vocab_size": 700, "show_progress": False}
_BYTES["initial_alphabet"] = pre_tokenizers.ByteLevel.alphabet()


def wordpiece() -> PreTrainedTokenizerFast:
    """As BERT's."""
    lower = normalizers.BertNormalizer(lowercase=True)
    names = {role: f"[{role.upper()}]" for role in ("pad", "unk", "cls", "sep", "mask")}
    return _wordpieces(names, lower, "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1")


def xlnet_wordpiece() -> PreTrainedTokenizerFast:
    """With special tokens at the end, of a type of their own, as XLNet's."""
    names = {role: f"<{role}>" for role in ("pad", "unk", "cls", "sep", "mask")}
    pair = "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2"
    return _wordpieces(names, None, "$A:0 <sep>:0 <cls>:2", pair)


def _wordpieces(names: dict[str, str], normalizer: Any, single: str, pair: str) -> Any:
    core = Tokenizer(models.WordPiece(unk_token=names["unk"]))
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if normalizer is not None:
        core.normalizer = normalizer
    trainer = trainers.WordPieceTrainer(
        vocab_size=600, special_tokens=list(names.values()), show_progress=False
    )
    core.train_from_iterator(CORPUS * 3, trainer)
    special = [(names[role], core.token_to_id(names[role])) for role in ("cls", "sep")]
    core.post_processor = processors.TemplateProcessing(
        single=single, pair=pair, special_tokens=special
    )
    return _fast(core, "token_type_ids", **{f"{role}_token": name for role, name in names.items()})


def roberta_bpe() -> PreTrainedTokenizerFast:
    """As RoBERTa's: bytes, so that every blank counts."""
    core = _bytes(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    core.post_processor = processors.RobertaProcessing(
        ("</s>", 2), ("<s>", 0), trim_offsets=True, add_prefix_space=False
    )
    return _fast(core, **_AS_ROBERTA)


def gpt_bpe(*, ends_texts: bool = False) -> PreTrainedTokenizerFast:
    """As GPT-2's, padding with the end of text, which may end every text as well."""
    end = "<|endoftext|>"
    core = _bytes([end])
    if ends_texts:
        core.post_processor = processors.TemplateProcessing(
            single=f"$A {end}", special_tokens=[(end, 0)]
        )
    return _fast(core, eos_token=end, bos_token=end, pad_token=end)


def _bytes(names: list[str]) -> Tokenizer:
    core = Tokenizer(models.BPE(unk_token="<unk>" if "<unk>" in names else None))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    core.train_from_iterator(CORPUS * 3, trainers.BpeTrainer(special_tokens=names, **_BYTES))
    return core


def unigram() -> PreTrainedTokenizerFast:
    """As XLM-R's or T5's: a sign for each blank."""
    core = Tokenizer(models.Unigram())
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    core.decoder = decoders.Metaspace()
    names = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=420, special_tokens=names, unk_token="<unk>", show_progress=False
    )
    core.train_from_iterator(CORPUS * 5, trainer)
    core.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    return _fast(core, **_AS_ROBERTA)


def _fast(core: Tokenizer, *inputs: str, **roles: str) -> PreTrainedTokenizerFast:
    names = ["input_ids", *inputs, "attention_mask"]
    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_input_names=names, model_max_length=128, **roles
    )


_SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4},
    "xlnet": {"d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 48},
    "funnel": {"block_sizes": [1, 1], "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 48},
    "roberta": {"max_position_embeddings": 130},
    "xlm-roberta": {"max_position_embeddings": 130},
    "llama": {"num_key_value_heads": 2},
    "qwen2": {"num_key_value_heads": 2},
    "longformer": {"attention_window": 8, "max_position_embeddings": 130},
}
_USUAL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
}


def make(family: str, tokenizer: Any, classes: int | list[str] = 2, **settings: Any) -> Any:
    """Return a random classifier of a family, with weights large enough for texts to differ.

    ``classes`` are the number of its outputs, or their names.
    """
    torch.manual_seed(0)
    if not isinstance(classes, int):
        labels = {name: i for i, name in enumerate(classes)}
        settings |= {"id2label": dict(enumerate(classes)), "label2id": labels}
        classes = len(classes)
    roles = ("pad", "bos", "eos", "cls", "sep", "mask")
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in roles}
    size = _SIZES.get(family, {})
    own = size if {"n_embd", "d_model"} & size.keys() else {**_USUAL, **size}
    config = transformers.AutoConfig.for_model(
        family, vocab_size=len(tokenizer), num_labels=classes, **{**own, **ids, **settings}
    )
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim > 1:
                weight.normal_(0, 0.3)
            elif "norm" not in name.lower() and "ln" not in name:
                weight.normal_(0, 0.1)
    return model.eval()


def ids_of(classifier: Any, texts: list[str]) -> list[Any]:
    """Return the token ids of texts."""
    return [encoding.token_ids for encoding in classifier.encode(texts)]


def pipeline_probabilities(model: Any, tokenizer: Any, texts: list[str]) -> Any:
    """Return the (n, c) probabilities that a pipeline of transformers gives."""
    pipeline = transformers.pipeline(
        "text-classification", model=model, tokenizer=tokenizer, top_k=None, device="cpu"
    )
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    found = [{each["label"]: each["score"] for each in text} for text in pipeline(texts)]
    return np.array([[text[name] for name in names] for text in found])
