"""Checkpoints that keep their tokenizer as a sentencepiece model alone, as deberta-v3's do."""

import json

import numpy as np
import pytest
import torch
import transformers
from support import NARROW
from tiny_models import ids_of, pipeline_probabilities

from exparity import InputError, load_classifier
from exparity.models import folders as loading
from exparity.models.folders import check_checkpoint

TEXTS = ["the nurse said that she was tired", "I loved this film , it was warm", "never again !!!"]
SIZE = {**NARROW, "vocab_size": 60, "max_position_embeddings": 130}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    spm = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("model")
    roles = {"pad": "[PAD]", "bos": "[CLS]", "eos": "[SEP]", "unk": "[UNK]"}
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXTS * 30),
        model_prefix=str(folder / "spm"),
        vocab_size=46,
        hard_vocab_limit=False,
        **{f"{role}_id": id for id, role in enumerate(roles)},
        **{f"{role}_piece": piece for role, piece in roles.items()},
        user_defined_symbols=["[MASK]"],
        minloglevel=2,
    )
    settings = {"tokenizer_class": "DebertaV2Tokenizer", "vocab_type": "spm"}
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "model_max_length": 128}))
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model("deberta-v2", **SIZE)
    transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    return folder


def test_probabilities_are_those_of_a_pipeline(folder):
    classifier = load_classifier(folder, "cpu")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    wanted = pipeline_probabilities(classifier.model, tokenizer, TEXTS)
    assert np.allclose(classifier.probabilities(ids_of(classifier, TEXTS)), wanted, atol=1e-6)


def test_without_the_packages_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr(loading, "find_spec", lambda name: name != "google.protobuf" or None)
    with pytest.raises(InputError, match=r"\.model; reading that needs .*exparity\[sentencepiece"):
        check_checkpoint(str(folder))
