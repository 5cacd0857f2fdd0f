"""The catalogue of models: sizes known from the literature, and what an entry of a config adds."""

import copy

import pytest

from exparity.core.validation import read_settings
from exparity.models.auto import AutoConfig, auto_class, on_meta
from exparity.models.catalogue import known_id, known_models, resolve_model
from exparity.models.schemes import TRAINED_PARTS
from exparity.models.spec import ModelSpec, TrainingSpec

SCHEMES = ("bert_c", "bert_ce", "bert_cef", "bert_cefaf")
# GECOBench, Tables 2 and 3: epochs, batch size, learning rate, embedding, attention.
TABLE = {
    "bert_c": (20, 32, 0.01, "fixed", "fixed"),
    "bert_ce": (20, 32, 0.0001, "retrained", "fixed"),
    "bert_cef": (20, 32, 0.01, "finetuned", "fixed"),
    "bert_cefaf": (20, 32, 0.000005, "finetuned", "finetuned"),
    "ola_cea": (200, 64, 0.01, "retrained", "retrained"),
}
# The sizes that the study publishes (Table 6).
PUBLISHED = {
    "tinybert": 14_350_874,
    "fairberta": 124_647_170,
    "bert": 167_357_954,
    "bert_multilingual": 167_357_954,
    "gpt2": 124_442_112,
    "roberta_large": 355_359_744,
    "bert_scratch": 167_357_954,
    "gpt2_scratch": 124_442_112,
    # Not published by GECOBench: BERT base without its masked-language head, and OLA.
    **dict.fromkeys(SCHEMES, 109_483_778),
    "ola_cea": 1_970_178,
}


def size_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.reference
class TestSizes:
    def test_every_known_model_has_the_published_size(self):
        assert {id: known.n_parameters for id, known in known_models().items()} == PUBLISHED

    @pytest.mark.parametrize("id", PUBLISHED)
    def test_a_classifier_of_two_classes_has_it(self, id):
        known = known_models()[id]
        assert known.added_tokens == (known.architecture == "gpt2")  # its padding
        size = {**known.shape, "vocab_size": known.shape["vocab_size"] + known.added_tokens}
        config = AutoConfig.for_model(known.architecture, **size, num_labels=2)
        model = on_meta(auto_class("AutoModelForSequenceClassification"), config)
        # RoBERTa large is published without its output layer.
        output = size_of(model.classifier.out_proj) if id == "roberta_large" else 0
        assert size_of(model) - output == PUBLISHED[id]


_TINY = "huawei-noah/TinyBERT_General_4L_312D"
_GPT2 = "openai-community/gpt2"
_BERT = {"init": "scratch", "architecture": "bert"}
_SHAPE = {
    "hidden_size": 768,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
}
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
        assert "checkpoint" not in resolve_model("ola_cea", {"vocab_size": 900}, "m", "./enc")


@pytest.mark.contract
def test_the_docs_have_every_model_with_its_size(repository):
    text = (repository / "docs" / "models.md").read_text()
    for model in known_models().values():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{model.model_id}` |"))
        assert model.checkpoint in row
        assert f"{model.n_parameters:,}" in row
        assert (model.revision or "not pinned") in row
