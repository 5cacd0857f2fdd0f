"""Checkpoints that keep their tokenizer as a sentencepiece model alone, as deberta-v3's do."""

import json

import numpy as np
import pytest
import torch
import transformers

from exparity import InputError, load_classifier
from exparity.models import folders as loading
from exparity.models.folders import check_checkpoint

TEXTS = ["the nurse said that she was tired", "I loved this film , it was warm", "never again !!!"]
FILES = {
    "deberta-v2": ("DebertaV2Tokenizer", "spm.model"),
    "xlm-roberta": ("XLMRobertaTokenizer", "sentencepiece.bpe.model"),
}
SIZE = {
    "vocab_size": 60,
    "hidden_size": 32,
    "embedding_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 130,
}


@pytest.fixture(scope="module", params=FILES)
def folder(request, tmp_path_factory):
    spm = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp(request.param)
    tokenizer, file = FILES[request.param]
    pieces = {
        "pad_piece": "[PAD]",
        "unk_piece": "[UNK]",
        "bos_piece": "[CLS]",
        "eos_piece": "[SEP]",
    }
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 30),
        model_prefix=str(folder / "trained"),
        vocab_size=46,
        hard_vocab_limit=False,
        **{"pad_id": 0, "unk_id": 3, "bos_id": 1, "eos_id": 2, **pieces},
        user_defined_symbols=["[MASK]"],
        minloglevel=2,
    )
    (folder / "trained.vocab").unlink()
    (folder / "trained.model").rename(folder / file)
    settings = {"tokenizer_class": tokenizer, "vocab_type": "spm", "model_max_length": 128}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(request.param, **SIZE)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    model.save_pretrained(folder)
    return folder


def test_probabilities_are_those_of_a_pipeline(folder):
    classifier = load_classifier(folder, "cpu")
    pipeline = transformers.pipeline("text-classification", str(folder), top_k=None, device="cpu")
    ids = [encoding.token_ids for encoding in classifier.encode(TEXTS)]
    wanted = [{each["label"]: each["score"] for each in text} for text in pipeline(TEXTS)]
    names = classifier.class_names
    assert np.allclose(
        classifier.probabilities(ids), [[p[name] for name in names] for p in wanted], atol=1e-6
    )


def test_without_the_packages_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: name != "google.protobuf" or None)
    with pytest.raises(InputError, match=r"\.model; reading that needs .*exparity\[sentencepiece"):
        check_checkpoint(str(folder))
