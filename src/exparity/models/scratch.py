"""Models without pre-training: a tokenizer trained on the training split and random weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from exparity.core.errors import InputError, did_you_mean, reason_of
from exparity.models.heads import Head, new_head
from exparity.models.spec import ModelSpec

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

_USUAL = ("bert", "roberta", "gpt2", "ola", "distilbert", "electra")
_ROLES = ("pad", "bos", "eos", "cls", "sep")
SETTLED = {
    *("num_labels", "id2label", "label2id", "problem_type", "vocab_size"),
    *(f"{role}_token_id" for role in _ROLES),
}
"""Entries of a configuration that are overwritten."""
_BYTE_LEVEL = {"gpt2", "roberta", "gpt_neo", "gpt_neox", "opt", "llama", "mistral", "qwen2"}
_END = "<|endoftext|>"
_DECODER_TOKENS = {"bos_token": _END, "eos_token": _END, "pad_token": "<|pad|>"}
_ROBERTA_TOKENS = {  # in the order of their ids: positions start after that of padding
    "bos_token": "<s>",
    "cls_token": "<s>",
    "pad_token": "<pad>",
    "eos_token": "</s>",
    "sep_token": "</s>",
    "unk_token": "<unk>",
    "mask_token": "<mask>",
}
_BERT_TOKENS = {
    f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
}


def train_tokenizer(
    spec: ModelSpec, texts: Sequence[str | tuple[str, str]]
) -> PreTrainedTokenizerFast:
    """Train a tokenizer on texts: WordPiece, or byte-level BPE for the families that use it."""
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    architecture = spec.architecture or "bert"
    typed = any(isinstance(text, tuple) for text in texts) and _has_token_types(spec)
    strings = [part for text in texts for part in (text if isinstance(text, tuple) else (text,))]
    if architecture not in _BYTE_LEVEL:
        names = _BERT_TOKENS
        core = _wordpiece(list(names.values()), strings, spec.vocab_size)
    else:
        names = _ROBERTA_TOKENS if architecture == "roberta" else _DECODER_TOKENS
        core = _byte_level_bpe(list(dict.fromkeys(names.values())), strings, spec.vocab_size)
    if "cls_token" in names:  # around every text, as BERT and RoBERTa expect
        first = names["cls_token"]
        last = names["sep_token"]
        core.post_processor = TemplateProcessing(
            single=f"{first} $A {last}",
            pair=f"{first} $A {last} $B:1 {last}:1" if typed else f"{first} $A {last} $B {last}",
            special_tokens=[(token, core.token_to_id(token)) for token in (first, last)],
        )
    outputs = {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    return PreTrainedTokenizerFast(tokenizer_object=core, **names, **(outputs if typed else {}))


def _has_token_types(spec: ModelSpec) -> bool:
    """Return whether a model has token types for the texts of a pair, as BERT has."""
    from exparity.models.auto import AutoConfig

    architecture = spec.architecture or "bert"
    defaults = {} if architecture in _BYTE_LEVEL else AutoConfig.for_model(architecture).to_dict()
    return int({**defaults, **spec.size}.get("type_vocab_size", 0)) > 1


def _wordpiece(specials: list[str], texts: Sequence[str], vocab_size: int) -> Tokenizer:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    core = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer(lowercase=True)
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    # The trainer numbers the pieces inside words in the order of a hash table, which differs from
    # process to process and decides ties. Given up front, in order, they have fixed numbers.
    normal = (core.normalizer.normalize_str(text) for text in texts)
    inside = [f"##{c}" for c in sorted({c for text in normal for c in text if not c.isspace()})]
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=specials + inside, show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    # A fresh tokenizer, in which only the real special tokens are special.
    clean = Tokenizer(models.WordPiece(vocab=core.get_vocab(), unk_token="[UNK]"))
    clean.normalizer = core.normalizer
    clean.pre_tokenizer = core.pre_tokenizer
    clean.add_special_tokens(specials)
    return clean


def _byte_level_bpe(specials: list[str], texts: Sequence[str], vocab_size: int) -> Tokenizer:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    core = Tokenizer(models.BPE())
    core.decoder = decoders.ByteLevel()
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    core.post_processor = processors.ByteLevel(trim_offsets=True)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return core


def random_model(
    spec: ModelSpec, tokenizer: PreTrainedTokenizerFast, labels: Sequence[str]
) -> PreTrainedModel:
    """Build a classifier with random weights from torch's current generator."""
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in _ROLES}
    special_ids = {key: token_id for key, token_id in ids.items() if token_id is not None}
    head, config = _configured(spec, {"vocab_size": len(tokenizer), **special_ids}, labels)
    with _what_cannot_be_built(spec):
        return cast("PreTrainedModel", head.auto_class.from_config(config, trust_remote_code=False))


def check_buildable(spec: ModelSpec) -> None:
    """Refuse a model from scratch that its class does not build, without making any weight."""
    from exparity.models.auto import on_meta

    # The family's usual ids may lie beyond a small vocabulary, and transformers would warn.
    special = dict.fromkeys((f"{role}_token_id" for role in _ROLES), 0)
    head, config = _configured(spec, {"vocab_size": spec.vocab_size, **special}, ("a", "b"))
    if spec.checkpoint is None:  # which completes the shape in the job
        with _what_cannot_be_built(spec), suppress(NotImplementedError):  # values of meta tensors
            on_meta(head.auto_class, config)


def _usual(architecture: str) -> PreTrainedConfig | None:
    """Return the configuration that a family has by default; None of an unknown family."""
    from exparity.models.auto import AutoConfig

    try:
        usual: PreTrainedConfig = AutoConfig.for_model(architecture)
    except ValueError:
        return None
    return usual


def _configured(
    spec: ModelSpec, settings: Mapping[str, object], labels: Sequence[str]
) -> tuple[Head, PreTrainedConfig]:
    """Return the head of a spec, and the configuration of its model."""
    from exparity.models.auto import AutoConfig

    architecture = spec.architecture or ""
    head = new_head(spec.head)
    model_classes: Any = head.auto_class._model_mapping
    usual = _usual(architecture)
    if usual is None or type(usual) not in model_classes:
        hint = did_you_mean(architecture, _USUAL)
        raise InputError(f"unknown architecture '{architecture}'; {hint}")
    for key in spec.size:  # transformers would keep these, without an effect
        if key in SETTLED or not hasattr(usual, key):
            hint = did_you_mean(key, usual.to_dict().keys() - SETTLED)
            raise InputError(
                f"size: '{architecture}' has no setting '{key}' that could be chosen; {hint} "
                "(vocab_size is a key beside size; the data settles classes and special tokens)"
            )
    with _what_cannot_be_built(spec):
        values = {**spec.size, **settings, **head.settings(labels)}
        return head, AutoConfig.for_model(architecture, **values)


@contextmanager
def _what_cannot_be_built(spec: ModelSpec) -> Iterator[None]:
    """Turn any exception of torch or transformers about an impossible size into one line."""
    try:
        yield
    except NotImplementedError:
        raise
    except Exception as error:
        raise InputError(
            f"cannot build a '{spec.architecture}' classifier: {reason_of(error)}"
        ) from None
