"""Loading checkpoints: only classifiers, only safetensors, one clear line otherwise."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from exparity import InputError, load_classifier
from exparity.models.scratch import train_tokenizer
from exparity.models.spec import ModelSpec


@pytest.fixture
def folder(checkpoints, tmp_path) -> Path:
    shutil.copytree(checkpoints["bert"], tmp_path / "model")
    return tmp_path / "model"


def refuse(folder, message):
    with pytest.raises(InputError, match=message) as refused:
        load_classifier(str(folder), "cpu")
    assert "\n" not in str(refused.value)


def test_a_missing_folder_is_named(tmp_path):
    refuse(tmp_path / "nowhere", "nowhere: no such folder")


def test_a_folder_without_a_model_is_named(tmp_path):
    refuse(tmp_path, "has no config.json")


def test_an_encoder_without_a_head_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = ["BertModel"]
    (folder / "config.json").write_text(json.dumps(config))
    refuse(folder, r"is not a sequence classifier \(it holds BertModel\); fine-tune it first")


def test_missing_weights_are_named(folder):
    (folder / "model.safetensors").unlink()
    refuse(folder, "cannot be loaded")


def test_damaged_weights_are_named(folder):
    (folder / "model.safetensors").write_bytes(b"no weights")
    refuse(folder, "cannot be loaded")


def test_damaged_config_is_named(folder):
    (folder / "config.json").write_text("{")
    refuse(folder, "cannot be loaded")


def test_pickled_weights_are_not_opened(folder):
    """A file that runs code when unpickled is left alone."""
    (folder / "model.safetensors").unlink()
    marker = folder / "ran"
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    payload = b"cbuiltins\nexec\n(V" + code.encode() + b"\ntR."
    (folder / "pytorch_model.bin").write_bytes(payload)
    refuse(folder, "cannot be loaded")
    assert not marker.exists()


def test_without_safetensors_the_remedy_is_named(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    refuse(folder, r"has no weights in safetensors; convert them once, as docs/models\.md shows")


class TestHub:
    """A cache of the Hub, filled here as a download would, and no network."""

    NAME = "someone/some-model"

    @pytest.fixture
    def cache(self, checkpoints, tmp_path) -> Path:
        """Return the folder of the only commit in the cache."""
        commit = "0123456789abcdef0123456789abcdef01234567"
        repository = tmp_path / "hub" / "models--someone--some-model"
        shutil.copytree(checkpoints["bert"], repository / "snapshots" / commit)
        (repository / "refs").mkdir()
        (repository / "refs" / "main").write_text(commit)
        return repository / "snapshots" / commit

    def load(self, cache, *more) -> subprocess.CompletedProcess[str]:
        code = (
            "import sys\n"
            "from exparity.errors import InputError\n"
            "from exparity.models.checkpoints import build_model\n"
            "from exparity.models.spec import ModelSpec\n"
            "spec = ModelSpec(checkpoint=sys.argv[1], revision=(sys.argv[2:] or [None])[0])\n"
            "try:\n"
            "    print(build_model(spec, ['a', 'b', 'c'], [])[0].config.num_labels)\n"
            "except InputError as error:\n"
            "    print(error)"
        )
        home = cache.parents[3]
        return subprocess.run(
            [sys.executable, "-c", code, *more], capture_output=True, text=True, check=True,
            env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip

    def test_a_fetched_model_is_found_below_hf_home(self, cache):
        assert self.load(cache, self.NAME).stdout == "3\n"
        assert self.load(cache, self.NAME, cache.name).stdout == "3\n"

    def test_one_that_was_not_fetched_says_how_to_get_it(self, cache):
        message = self.load(cache, "someone/else").stdout
        assert message.startswith("checkpoint someone/else: cannot be loaded: ")
        assert "fetch it where there is a network, by `snakemake fetch`" in message
        assert message.count("\n") == 1

    def test_one_without_safetensors_says_what_to_do(self, cache):
        absent = cache.parents[1] / ".no_exist" / cache.name
        absent.mkdir(parents=True)
        for name in ("model.safetensors", "model.safetensors.index.json"):
            (absent / name).touch()  # what a download leaves where the Hub has no such file
        (cache / "model.safetensors").unlink()
        message = self.load(cache, self.NAME, cache.name).stdout
        assert message.startswith(f"checkpoint {self.NAME} at revision {cache.name}: ")
        assert "has no weights in safetensors; convert them once" in message
        assert message.count("\n") == 1


def test_code_in_a_checkpoint_is_not_run(folder):
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "evil.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('ran')")
    load_classifier(str(folder), "cpu")


@pytest.mark.parametrize("architecture", ["bert", "roberta", "gpt2"])
def test_trained_tokenizers_are_the_same_in_every_process(examples, architecture):
    """The order of a hash table must not decide the vocabulary."""
    code = (
        "import sys, json, hashlib\n"
        "from exparity.models.scratch import train_tokenizer\n"
        "from exparity.models.spec import ModelSpec\n"
        "spec = ModelSpec(init='scratch', architecture=sys.argv[1], vocab_size=700)\n"
        "texts = json.load(sys.stdin)\n"
        "print(hashlib.sha256(train_tokenizer(spec, texts).backend_tokenizer.to_str().encode())"
        ".hexdigest())"
    )
    texts = json.dumps([e.text for e in examples])
    found = {
        subprocess.run(
            [sys.executable, "-c", code, architecture],
            input=texts, capture_output=True, text=True, check=True,
        ).stdout
        for _ in range(3)
    }  # fmt: skip
    assert len(found) == 1


@pytest.mark.parametrize(
    ("architecture", "frame"), [("bert", ("[CLS]", "[SEP]")), ("roberta", ("<s>", "</s>"))]
)
def test_trained_tokenizers_frame_texts(examples, architecture, frame):
    spec = ModelSpec(init="scratch", architecture=architecture, vocab_size=700)
    tokenizer = train_tokenizer(spec, [e.text for e in examples])
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("She sings .")["input_ids"])
    assert (tokens[0], tokens[-1]) == frame
    assert len(tokenizer) <= 700


def test_a_shape_may_be_taken_from_a_checkpoint(checkpoints):
    from exparity.models.checkpoints import build_model, load_model

    model, tokenizer = build_model(
        ModelSpec(init="scratch", checkpoint=checkpoints["bert"]), ["a", "b"], []
    )
    original = load_model(checkpoints["bert"])
    assert model.num_parameters() == original.num_parameters()
    assert len(tokenizer) == original.config.vocab_size
    one, other = (m.state_dict() for m in (model, original))
    assert any((one[k] != other[k]).any() for k in one)


def test_gpt2_gets_a_padding_token_of_its_own(examples, tmp_path):
    from transformers import PreTrainedTokenizerFast

    from exparity.models.checkpoints import build_model, load_tokenizer

    spec = ModelSpec(init="scratch", architecture="gpt2", vocab_size=600)
    core = train_tokenizer(spec, [e.text for e in examples]).backend_tokenizer
    bare = PreTrainedTokenizerFast(tokenizer_object=core, eos_token="<|endoftext|>")
    bare.save_pretrained(tmp_path)
    shape = {"model_type": "gpt2", "n_embd": 16, "n_layer": 1, "n_head": 2}
    (tmp_path / "config.json").write_text(json.dumps({**shape, "vocab_size": len(bare)}))
    assert load_tokenizer(str(tmp_path)).pad_token_id is None
    model, tokenizer = build_model(
        ModelSpec(init="scratch", checkpoint=str(tmp_path)), ["a", "b"], []
    )
    assert tokenizer.pad_token_id is not None
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    assert model.config.pad_token_id == tokenizer.pad_token_id
    assert model.get_input_embeddings().num_embeddings >= len(tokenizer)
