"""The catalogue of models: sizes known from the literature, and what an entry of a config adds."""

import copy
import re

import pytest

from exparity.core.errors import InputError
from exparity.core.validation import read_settings
from exparity.models.catalogue import (
    known_id,
    known_models,
    resolve_model,
)
from exparity.models.schemes import TRAINED_PARTS
from exparity.models.spec import ModelSpec, TrainingSpec

BERT_BASE = {
    "vocab_size": 105879, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12,
}  # fmt: skip
ROBERTA_BASE = {
    "vocab_size": 50265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1,
    "hidden_act": "gelu", "layer_norm_eps": 1e-5,
}  # fmt: skip
TINYBERT = {
    **BERT_BASE,
    "vocab_size": 30522,
    "hidden_size": 312,
    "num_hidden_layers": 4,
    "intermediate_size": 1200,
}
ROBERTA_LARGE = {
    **ROBERTA_BASE,
    "hidden_size": 1024,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "intermediate_size": 4096,
}
GPT2 = {
    "vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
}  # fmt: skip
UNCASED = {**BERT_BASE, "vocab_size": 30522}
SCHEMES = ("bert_c", "bert_ce", "bert_cef", "bert_cefaf")
# GECOBench, Tables 2 and 3: epochs, batch size, learning rate, embedding, attention.
TABLE = {
    "bert_c": (20, 32, 0.01, "fixed", "fixed"),
    "bert_ce": (20, 32, 0.0001, "retrained", "fixed"),
    "bert_cef": (20, 32, 0.01, "finetuned", "fixed"),
    "bert_cefaf": (20, 32, 0.000005, "finetuned", "finetuned"),
    "ola_cea": (200, 64, 0.01, "retrained", "retrained"),
}
# What the checkpoints' own config.json say, and the sizes that the study publishes (Table 6).
PUBLISHED = {
    "tinybert": ("bert", TINYBERT, 14_350_874),
    "fairberta": ("roberta", ROBERTA_BASE, 124_647_170),
    "bert": ("bert", BERT_BASE, 167_357_954),
    "bert_multilingual": ("bert", BERT_BASE, 167_357_954),
    "gpt2": ("gpt2", GPT2, 124_442_112),
    "roberta_large": ("roberta", ROBERTA_LARGE, 355_359_744),
    "bert_scratch": ("bert", BERT_BASE, 167_357_954),
    "gpt2_scratch": ("gpt2", GPT2, 124_442_112),
    # Not published by GECOBench: BERT base without its masked-language head, as counted by hand
    # in test_the_schemes_have_the_size_of_bert_base, and OLA as in test_ola.
    **dict.fromkeys(SCHEMES, ("bert", UNCASED, 109_483_778)),
    "ola_cea": ("ola", {"vocab_size": 30522, "hidden_size": 64}, 1_970_178),
}


def on_meta(architecture, settings, kind="SequenceClassification"):
    import torch
    import transformers

    from exparity.models.auto import AutoConfig

    config = AutoConfig.for_model(architecture, **settings, num_labels=2)
    auto = getattr(transformers, f"AutoModelFor{kind}" if kind else "AutoModel")
    with torch.device("meta"):
        return auto.from_config(config)


def size_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.reference
class TestSizes:
    def test_every_known_model_is_checked(self):
        assert set(PUBLISHED) == set(known_models())

    @pytest.mark.parametrize("id", PUBLISHED)
    def test_the_catalogue_says_what_is_published(self, id):
        architecture, settings, count = PUBLISHED[id]
        known = known_models()[id]
        assert (known.architecture, known.n_parameters) == (architecture, count)
        assert {key: settings[key] for key in known.shape} == known.shape

    @pytest.mark.parametrize("id", [id for id in PUBLISHED if id != "roberta_large"])
    def test_a_classifier_of_two_classes_has_the_published_size(self, id):
        architecture, settings, count = PUBLISHED[id]
        added = known_models()[id].added_tokens  # GPT-2's padding
        assert added == (architecture == "gpt2")
        model = on_meta(architecture, {**settings, "vocab_size": settings["vocab_size"] + added})
        assert size_of(model) == count

    def test_roberta_large_is_published_without_its_output_layer(self):
        model = on_meta("roberta", ROBERTA_LARGE)
        output = size_of(model.classifier.out_proj)
        assert output == 2 * 1024 + 2
        assert size_of(model) - output == 355_359_744
        # Also what the plain encoder has: its pooler is as large as the head's hidden layer.
        assert size_of(on_meta("roberta", ROBERTA_LARGE, kind="")) == 355_359_744


_TINY = "huawei-noah/TinyBERT_General_4L_312D"
_GPT2 = "openai-community/gpt2"
_BERT = {"init": "scratch", "architecture": "bert"}
_SHAPE = {key: UNCASED[key] for key in (
    "hidden_size", "num_attention_heads", "intermediate_size", "max_position_embeddings"
)}  # fmt: skip
_OF_CE = {"epochs": 2, "batch_size": 32, "learning_rate": 1e-4, "weight_decay": 0.0}


class TestEntries:
    @pytest.mark.parametrize(
        ("id", "given", "part"),
        [
            ("tinybert", {}, {"init": "pretrained", "checkpoint": _TINY, "revision": "refs/pr/2"}),
            ("tinybert", {"init": "scratch"}, {"init": "scratch", "checkpoint": _TINY}),
            ("mine", {"checkpoint": "someone/some-model"}, {"checkpoint": "someone/some-model"}),
            ("m", {"use": "gpt2_scratch", "training": {"epochs": 2}, "datasets": ["a"]},
             {"init": "scratch", "checkpoint": _GPT2, "training": {"epochs": 2}}),
            ("gpt2", {"revision": "main"}, {"checkpoint": _GPT2, "revision": "main"}),
            ("gpt2_scratch", {"checkpoint": "./gpt2"}, {"init": "scratch", "checkpoint": "./gpt2"}),
            ("bert_scratch", {**_BERT, "size": {"hidden_size": 64}},
             {**_BERT, "size": {"hidden_size": 64}}),
            ("bert_scratch", {"vocab_size": 900, "size": {"num_hidden_layers": 2}},
             {**_BERT, "vocab_size": 900, "size": {**_SHAPE, "num_hidden_layers": 2}}),
            ("m", {"use": "bert_ce", "training": {"epochs": 2}}, {"training": _OF_CE}),
        ],
    )  # fmt: skip
    def test_what_an_entry_leaves_out_is_filled_in_and_what_it_sets_wins(self, id, given, part):
        before, known = copy.deepcopy(given), known_id(id, given.get("use"))
        found = resolve_model(id, given, "models.m")
        assert part.items() <= found.items()
        assert ("use" in found, given) == (False, before)
        assert known == given.get("use", None if id == "mine" else id)
        if "./gpt2" in found.values():
            assert "revision" not in found


class TestSchemes:
    """The training schemes of GECOBench, beside what Tables 2 and 3 of the paper print."""

    @pytest.mark.reference
    @pytest.mark.parametrize("id", TABLE)
    def test_they_are_trained_as_published(self, id):
        epochs, batch_size, learning_rate, embedding, attention = TABLE[id]
        entry = resolve_model(id, {}, "models.m")
        training = read_settings(TrainingSpec, entry.pop("training"), "models.m")
        assert (training.epochs, training.batch_size) == (epochs, batch_size)
        assert training.learning_rate == learning_rate
        spec = read_settings(ModelSpec, entry, "models.m")
        trained = TRAINED_PARTS[spec.scheme]
        assert ("attention" in trained) == (attention != "fixed")
        assert ("embedding" in trained) == (embedding != "fixed")
        assert "classification" in trained
        anew = spec.init == "scratch" or spec.scheme == "embedding_reinitialised"
        assert anew == (embedding == "retrained")

    def test_the_table_has_every_scheme(self):
        assert set(TABLE) == {id for id, m in known_models().items() if m.follows_encoder}

    @pytest.mark.parametrize("given", [{}, {"checkpoint": "./enc"}], ids=["encoder", "checkpoint"])
    def test_another_encoder_keeps_scheme_and_training(self, given):
        encoder = None if given else "./enc"
        entry = resolve_model("bert_c", given, "models.m", encoder)
        assert entry["checkpoint"] == "./enc"
        assert entry["scheme"] == "classification"
        assert entry["training"]["learning_rate"] == 0.01
        assert "revision" not in entry
        lent = resolve_model("ola_cea", given, "models.m", encoder)
        assert (lent["checkpoint"], lent["architecture"]) == ("./enc", "ola")
        assert lent["init"] == "scratch"

    def test_an_encoder_concerns_the_schemes_alone(self):
        for id in set(known_models()) - set(TABLE):
            assert resolve_model(id, {}, "m", "./enc") == resolve_model(id, {}, "m")
        own = {"checkpoint": "./own"}
        assert resolve_model("bert_c", own, "m", "./enc")["checkpoint"] == "./own"
        own = {"vocab_size": 900}
        assert "checkpoint" not in resolve_model("ola_cea", own, "m", "./enc")

    def test_from_scratch_a_part_cannot_be_trained_alone(self):
        entry = resolve_model("bert_c", {"init": "scratch", "vocab_size": 900}, "models.m")
        with pytest.raises(InputError, match="scheme 'classification' would leave random weights"):
            read_settings(
                ModelSpec, {k: v for k, v in entry.items() if k != "training"}, "models.m"
            )


@pytest.mark.contract
class TestFacts:
    def test_commits_are_whole(self):
        for model in known_models().values():
            if model.revision is not None and not model.revision.startswith("refs/"):
                assert re.fullmatch("[0-9a-f]{40}", model.revision), model.id

    def test_the_docs_have_every_model_with_its_size(self, repository):
        text = (repository / "docs" / "models.md").read_text()
        for model in known_models().values():
            row = next(line for line in text.splitlines() if line.startswith(f"| `{model.id}` |"))
            assert model.checkpoint in row
            assert f"{model.n_parameters:,}" in row
            assert (model.revision or "not pinned") in row
