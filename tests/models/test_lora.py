"""Adapters of prompted models: what they change, and that a kill changes nothing."""

import pytest
import torch
from safetensors.torch import load_file
from support import NARROW, killed_after

from exparity import InputError
from exparity.data.bios import LABELS
from exparity.data.table import read_prepared
from exparity.data.training_set import TrainingSet
from exparity.models.loop import TrainingLoop
from exparity.models.prompts import PromptSpec
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import finetune
from exparity.stages.prepare import prepare

PROMPT = PromptSpec(template="{text}\nJob:", words={label: f" {label}" for label in LABELS})
SIZES = {
    "llama": {**NARROW, "num_key_value_heads": 1, "max_position_embeddings": 96},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 96},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    prepare(path, use="bios", params={"n_biographies": 24}, data_dir=path.parent)
    return TrainingSet.of(read_prepared(path), 0.0, 0)


@pytest.fixture(scope="module", params=SIZES)
def base(request, tmp_path_factory, data):
    """A folder with a language model that has not learnt anything."""
    folder = tmp_path_factory.mktemp("base")
    family = request.param
    spec = ModelSpec(
        init="scratch", architecture=family, head="label_words", size=SIZES[family], vocab_size=500
    )
    state = StateFolder(folder / "state", "")
    made = finetune(data, spec, TrainingSpec(epochs=1), state=state, device="cpu", prompt=PROMPT)
    made.model.save_pretrained(folder)
    made.tokenizer.save_pretrained(folder)
    return folder


def tuned(base, data, folder, **training):
    spec = ModelSpec(checkpoint=str(base), head="label_words")
    settings = TrainingSpec(**{"learning_rate": 1e-2, "lora": {"rank": 4, "alpha": 8}, **training})
    state = StateFolder(folder, "same")
    return finetune(data, spec, settings, state=state, device="cpu", prompt=PROMPT)


def test_merged_weights_are_those_that_were_trained(monkeypatch, base, data, tmp_path):
    """The logits of the model with adapters, before they are merged."""
    before = {}
    plain = TrainingLoop.finish

    def finish(self):
        plain(self)
        model = self.model.model
        ids = torch.arange(40)[None]
        with torch.no_grad():
            before["logits"] = model(ids).logits
        before["names"] = {n for n, p in self.model.named_parameters() if p.requires_grad}

    monkeypatch.setattr(TrainingLoop, "finish", finish)
    made = tuned(base, data, tmp_path / "state", epochs=2)
    with torch.no_grad():
        merged = made.model(torch.arange(40)[None]).logits
    assert torch.allclose(merged, before["logits"], atol=1e-5)
    assert all("lora_" in name for name in before["names"])
    made.model.save_pretrained(tmp_path)
    ours, theirs = (load_file(folder / "model.safetensors") for folder in (tmp_path, base))
    assert ours.keys() == theirs.keys()
    changed = {name for name in ours if not torch.equal(ours[name], theirs[name])}
    assert changed
    assert not any("embed" in name or "wte" in name or "norm" in name for name in changed)


def test_killed_and_resumed_weights_are_the_same(base, data, tmp_path):
    whole = tuned(base, data, tmp_path / "whole", epochs=3)
    whole.model.save_pretrained(tmp_path / "a")
    with killed_after(2):
        tuned(base, data, tmp_path / "part", epochs=3)
    (snapshot,) = [f for f in (tmp_path / "part").iterdir() if f.name.endswith("2")]
    kept = load_file(snapshot / "weights.safetensors")
    assert kept
    assert all("lora_" in name for name in kept)  # not the weights of the base
    tuned(base, data, tmp_path / "part", epochs=3).model.save_pretrained(tmp_path / "b")
    one, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in "ab")
    assert one == other


def test_a_new_head_is_not_left_as_it_is(data, tmp_path):
    spec = ModelSpec(init="scratch", architecture="bert", size=NARROW)
    settings = TrainingSpec(epochs=1, lora={"rank": 4})
    with pytest.raises(InputError, match="would leave a new classification head"):
        finetune(data, spec, settings, state=StateFolder(tmp_path, ""), device="cpu")
