"""A small BERT classifier that two Python environments build identically from given sentences.

It needs numpy, torch, tokenizers and transformers, and nothing of exparity, so that the peer
library's environment can run it too. Weights are drawn with NumPy's legacy generator, whose stream
is frozen, and from a uniform distribution, which needs no function of the C library; so they are
the same bits on every machine.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
SIZE = {
    "hidden_size": 48,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 96,
    "max_position_embeddings": 128,
    "type_vocab_size": 2,
}
SEED = 7


def build_checkpoint(folder: str | Path, sentences: Sequence[str]) -> str:
    """Write the checkpoint of a list of sentences.

    Every word and punctuation mark of the sentences is one token, so that token ids survive being
    turned into text and back, which the peer library does.

    Args:
        folder: where to write; made if it is missing.
        sentences: texts; their order does not matter.

    Returns:
        A SHA-256 digest of vocabulary and weights.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = _write_tokenizer(folder, sentences)
    config = BertConfig(
        vocab_size=len(vocabulary), num_labels=2, pad_token_id=0, hidden_act="gelu", **SIZE
    )
    model = BertForSequenceClassification(config)
    digest = hashlib.sha256("\n".join(vocabulary).encode())
    generator = np.random.RandomState(SEED)
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            values = _draw(generator, name, tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(values))
            digest.update(name.encode())
            digest.update(values.astype("<f4").tobytes())
    model.save_pretrained(folder)
    return digest.hexdigest()


def _write_tokenizer(folder: Path, sentences: Sequence[str]) -> list[str]:
    """Write the files of a word-level BERT tokenizer and return its vocabulary."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    normalizer = normalizers.BertNormalizer(lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    words = {
        word
        for sentence in sentences
        for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(sentence))
    }
    vocabulary = [*SPECIAL_TOKENS, *sorted(words)]
    index = {token: i for i, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(index, unk_token="[UNK]"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = splitter
    # No clean-up: it would glue marks to words and so change what is tokenised again.
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    tokenizer.post_processor = processors.BertProcessing(
        ("[SEP]", index["[SEP]"]), ("[CLS]", index["[CLS]"])
    )
    tokenizer.add_special_tokens(list(SPECIAL_TOKENS))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    settings = {
        "tokenizer_class": "BertTokenizerFast",
        "do_lower_case": True,
        "clean_up_tokenization_spaces": False,
        "model_max_length": SIZE["max_position_embeddings"],
        **{f"{token[1:-1].lower()}_token": token for token in SPECIAL_TOKENS},
    }
    text = json.dumps(settings, indent=2, sort_keys=True) + "\n"
    (folder / "tokenizer_config.json").write_text(text, encoding="utf-8")
    return vocabulary


def _draw(generator: np.random.RandomState, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Draw one parameter; scales are such that words differ clearly and nothing saturates."""
    uniform = (generator.random_sample(shape) * 2 - 1) * np.sqrt(3)  # mean 0, variance 1
    if "LayerNorm.weight" in name:
        values = 1 + 0.2 * uniform
    elif name.endswith("bias"):
        values = 0.1 * uniform
    elif "word_embeddings" in name:
        values = uniform
    elif "embeddings" in name:
        values = 0.3 * uniform
    else:
        gain = _GAINS.get(name.split(".")[-2], 1.0)
        values = gain / np.sqrt(shape[-1]) * uniform
    return values.astype(np.float32)


_GAINS = {"query": 2.0, "key": 2.0, "classifier": 2.5}
