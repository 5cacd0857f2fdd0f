"""Saved adapters at every door: merged as peft applies them, or refused in a line."""

import json
import shutil
import warnings

import numpy as np
import peft
import pytest
import torch
from engine.exact import plain_probabilities
from safetensors.torch import load_file, save_file
from support import tiny
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from exparity import ExparityError, InputError, load_classifier
from exparity.models.checkpoints import load_model

WEIGHTS = "adapter_model.safetensors"
TARGETS = {"bert": ["query", "value", "word_embeddings"], "gpt2": ["c_attn", "c_fc"]}


def make_adapter(base, folder, targets, **settings):
    """Save an adapter with random weights and a trained head; return peft's model."""
    model = AutoModelForSequenceClassification.from_pretrained(base)
    options = {"task_type": "SEQ_CLS", "r": 4, "lora_alpha": 8, "target_modules": targets}
    with warnings.catch_warnings(action="ignore"):  # of transformers, and of transposed layers
        tuned = peft.get_peft_model(model, peft.LoraConfig(**{**options, **settings})).eval()
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weight in tuned.named_parameters():
            if "lora_" in name or "modules_to_save" in name:
                weight.copy_(torch.randn(weight.shape).abs() * 0.2)
    with warnings.catch_warnings(action="ignore"):  # of biases that would be of other libraries
        tuned.save_pretrained(folder)
    return tuned


@pytest.fixture
def adapter(checkpoints, tmp_path):
    make_adapter(checkpoints["bert"], tmp_path / "adapter", ["query", "value"])
    return tmp_path / "adapter"


def probabilities(classifier, text="the nurse was late"):
    return classifier.probabilities([classifier.encode([text])[0].token_ids])[0]


@pytest.mark.sweep
@pytest.mark.parametrize("family", TARGETS)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"lora_bias": True},
        {"use_dora": True},
        {"use_rslora": True, "rank_pattern": {"value": 2}, "alpha_pattern": {"value": 3}},
        {"bias": "lora_only"},
    ],
    ids=lambda settings: "-".join(settings) or "plain",
)
def test_every_door_has_the_probabilities_of_peft(checkpoints, tmp_path, family, settings):
    base, folder = checkpoints[family], tmp_path / "adapter"
    plain = {"lora_bias", "use_dora", "bias"} & settings.keys()  # not of embeddings, or GPT-2's
    targets = [name for name in TARGETS[family] if not plain or name != "word_embeddings"]
    tuned = make_adapter(base, folder, targets, **settings)
    tokenizer = AutoTokenizer.from_pretrained(base)
    wanted = plain_probabilities(tuned, tokenizer("the nurse was late")["input_ids"])
    unchanged = probabilities(load_classifier(base, "cpu"))
    assert np.abs(unchanged - wanted).max() > 0.01
    model = load_model(base, adapter=folder)
    doors = {
        "folder": load_classifier(folder, "cpu"),
        "key of a config": load_classifier((model, tokenizer), "cpu"),
        "object": load_classifier((tuned, tokenizer), "cpu"),
    }
    for door, classifier in doors.items():
        assert np.allclose(probabilities(classifier), wanted, atol=1e-5), door


def test_a_head_of_its_own_number_of_classes_is_taken(checkpoints, tmp_path):
    """The base is an encoder without a head, whose config.json counts two classes."""
    model = AutoModelForSequenceClassification.from_pretrained(checkpoints["bert"])
    model.bert.save_pretrained(tmp_path / "base")
    AutoTokenizer.from_pretrained(checkpoints["bert"]).save_pretrained(tmp_path / "base")
    fresh = AutoModelForSequenceClassification.from_pretrained(tmp_path / "base", num_labels=5)
    options = peft.LoraConfig(task_type="SEQ_CLS", r=2, target_modules=["key"])
    with warnings.catch_warnings(action="ignore", category=FutureWarning):  # of transformers
        tuned = peft.get_peft_model(fresh, options).eval()
    tuned.save_pretrained(tmp_path / "adapter")
    classifier = load_classifier(tmp_path / "adapter", "cpu")
    wanted = plain_probabilities(tuned, classifier.encode(["the nurse was late"])[0].token_ids)
    assert classifier.n_classes == 5
    assert np.allclose(probabilities(classifier), wanted, atol=1e-6)


def _cut(folder):
    (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:-100])


def _of_weights(change):
    def damage(folder):
        weights = load_file(folder / WEIGHTS)
        change(weights)
        save_file(weights, folder / WEIGHTS)

    return damage


def _setting(**settings):
    def damage(folder):
        path = folder / "adapter_config.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))

    return damage


FIRST = "base_model.model.bert.encoder.layer.0.attention.self.query.lora_A.weight"
SECOND = FIRST.replace("lora_A", "lora_B")
ELSEWHERE = FIRST.replace("layer.0", "layer.7")
DAMAGED = {
    "truncated": (_cut, "adapter_model.safetensors is damaged"),
    "half of a product": (
        _of_weights(lambda w: w.pop(SECOND)),
        r"is of another model .*query\.lora_B.* is of one alone",
    ),
    "of a newer peft": (
        _setting(novelty=True),
        "peft .* cannot merge it into .*: TypeError: .*'novelty'",
    ),
    "more layers": (
        _of_weights(lambda w: w.update({ELSEWHERE: w[FIRST].clone()})),
        r"is of another model than .*layer\.7.* is of one alone",
    ),
    "wider": (
        _of_weights(lambda w: w.update({FIRST: torch.ones(4, 48)})),
        "peft .* cannot merge it into .*: RuntimeError: .*size mismatch for .*query",
    ),
    "not finite": (
        _of_weights(lambda w: w[FIRST].fill_(float("nan"))),
        "holds values that are not finite",
    ),
}
REFUSED_BEFORE_ANY_JOB = {
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "has no adapter_model"),
    "not JSON": (
        lambda folder: (folder / "adapter_config.json").write_text("{"),
        "has no adapter_config",
    ),
    "other kind": (_setting(peft_type="IA3"), "is of type IA3; take one of type LORA"),
    "pattern of layers": (_setting(target_modules=r"(.*(.*)*)*x"), "target_modules .* a pattern"),
    "alpha by pattern": (_setting(alpha_pattern={"(a+)+$": 3}), "alpha_pattern .* has a pattern"),
}


def plan(base, adapter):
    """Read a config with an adapter of a base."""
    tiny(models={"tuned": {"checkpoint": str(base), "adapter": str(adapter)}})


@pytest.mark.parametrize("case", DAMAGED | REFUSED_BEFORE_ANY_JOB)
def test_a_damaged_or_foreign_adapter_is_refused(checkpoints, adapter, case):
    damage, message = (DAMAGED | REFUSED_BEFORE_ANY_JOB)[case]
    damage(adapter)
    with pytest.raises(InputError, match=f"adapter .*{adapter.name}: {message}") as refusal:
        load_classifier(adapter, "cpu")
    assert "\n" not in str(refusal.value)
    if case in REFUSED_BEFORE_ANY_JOB:
        with pytest.raises(InputError, match=rf"models\.tuned: .*{message}"):
            plan(checkpoints["bert"], adapter)


def test_the_base_is_the_one_of_the_training(checkpoints, adapter, tmp_path, caplog):
    """Where names can be compared: folders by their weights, repositories by their ids."""
    base = checkpoints["bert"]
    copied, other = tmp_path / "copied", tmp_path / "other"
    shutil.copytree(base, copied)
    shutil.copytree(base, other)
    weights = load_file(other / "model.safetensors")
    save_file({n: w + 1 for n, w in weights.items()}, other / "model.safetensors", {"format": "pt"})
    plan(copied, adapter)
    assert not caplog.records
    with pytest.raises(InputError, match=rf"was trained on {base}, and the checkpoint is {other}"):
        plan(other, adapter)
    with pytest.raises(InputError, match="was trained on"):
        load_model(str(other), adapter=adapter)
    _setting(base_model_name_or_path="/where/it/was/trained")(adapter)
    plan(other, adapter)
    assert "nothing here tells" in caplog.text
    _setting(base_model_name_or_path=None)(adapter)
    with pytest.raises(InputError, match="is an adapter that names no base"):
        load_classifier(adapter, "cpu")


TEXT = "the nurse was late"
OF_PROMPTS = {
    "PROMPT_TUNING": peft.PromptTuningConfig,
    "P_TUNING": peft.PromptEncoderConfig,
    "PREFIX_TUNING": peft.PrefixTuningConfig,
}
IN_LAYERS = {
    "ia3": peft.IA3Config(
        task_type="SEQ_CLS", target_modules=["query", "value"], feedforward_modules=[]
    ),
    "loha": peft.LoHaConfig(task_type="SEQ_CLS", target_modules=["query"], r=2),
    "layer norms": peft.LNTuningConfig(task_type="SEQ_CLS", target_modules=["LayerNorm"]),
    "tokens": peft.TrainableTokensConfig(task_type="SEQ_CLS", token_indices=[*range(40, 140)]),
}


class TestObjectsOfPeft:
    """An object of peft is explained as what it computes, or refused in a line."""

    @pytest.fixture
    def base(self, checkpoints):
        return AutoModelForSequenceClassification.from_pretrained(checkpoints["bert"])

    @pytest.fixture
    def tokenizer(self, checkpoints):
        return AutoTokenizer.from_pretrained(checkpoints["bert"])

    def tuned(self, base, config):
        torch.manual_seed(1)
        with warnings.catch_warnings(action="ignore"):  # of names that transformers will drop
            model = peft.get_peft_model(base, config).eval()
        with torch.no_grad():
            for weight in model.parameters():
                if weight.requires_grad:
                    weight.normal_(0, 0.3)
        return model

    def check(self, model, tokenizer):
        wanted = plain_probabilities(model, tokenizer(TEXT)["input_ids"])
        found = probabilities(load_classifier((model, tokenizer)), TEXT)
        np.testing.assert_allclose(found, wanted, atol=1e-5)

    @pytest.mark.parametrize("kind", OF_PROMPTS)
    def test_trained_prompts_are_refused(self, base, tokenizer, kind):
        config = OF_PROMPTS[kind](
            task_type="SEQ_CLS",
            num_virtual_tokens=4,
            **({"encoder_hidden_size": 16} if kind == "P_TUNING" else {}),
        )
        model = self.tuned(base, config)
        with pytest.raises(
            InputError, match=rf"of type {kind}, which puts a trained prompt before"
        ):
            load_classifier((model, tokenizer))

    @pytest.mark.parametrize("kind", IN_LAYERS)
    def test_adapters_in_layers_count(self, base, tokenizer, kind):
        plain = plain_probabilities(base, tokenizer(TEXT)["input_ids"])
        model = self.tuned(base, IN_LAYERS[kind])
        assert np.abs(plain - plain_probabilities(model, tokenizer(TEXT)["input_ids"])).max() > 1e-3
        self.check(model, tokenizer)

    def test_the_active_adapter_counts(self, base, tokenizer):
        config = peft.LoraConfig(task_type="SEQ_CLS", r=2, init_lora_weights=False)
        model = self.tuned(base, config)
        model.add_adapter("second", config)
        for name in ("default", "second"):
            model.set_adapter(name)
            self.check(model, tokenizer)
        with model.disable_adapter():
            self.check(model, tokenizer)
        classifier = load_classifier((model.base_model, tokenizer))  # what peft puts in between
        wanted = plain_probabilities(model, tokenizer(TEXT)["input_ids"])
        np.testing.assert_allclose(probabilities(classifier, TEXT), wanted, atol=1e-5)

    def test_what_is_computed_around_the_layers_is_found_out(self, base, tokenizer):
        """The comparison is with the object itself, not with the model in it."""
        model = self.tuned(base, IN_LAYERS["loha"])
        inner = model.forward

        def forward(*arguments, **options):
            outputs = inner(*arguments, **options)
            outputs.logits = 3 * outputs.logits.flip(-1)
            return outputs

        model.forward = forward
        with pytest.raises(ExparityError, match="gives other probabilities on embeddings than on"):
            load_classifier((model, tokenizer))
