"""Loading checkpoints: only classifiers, only safetensors, one clear line otherwise."""

import ast
import io
import json
import shutil
from pathlib import Path

import pytest
import torch
from support import CPU, refused_by, run_code
from transformers import AutoModelForSequenceClassification

from exparity import InputError, explain, load_classifier
from exparity.analyses.mlm_score import load_masked_lm
from exparity.models.checkpoints import build_model, load_model, load_tokenizer
from exparity.models.folders import check_checkpoint, quiet_transformers
from exparity.models.manifest import read_reference, write_reference
from exparity.models.scratch import train_tokenizer
from exparity.models.spec import ModelSpec

REFUSED = refused_by(__file__)


@pytest.fixture
def folder(checkpoints, tmp_path) -> Path:
    shutil.copytree(checkpoints["bert"], tmp_path / "model")
    return tmp_path / "model"


def refuse(folder, message):
    with pytest.raises(InputError, match=message) as refused:
        load_classifier(str(folder), "cpu")
    assert "\n" not in str(refused.value)


def test_the_hub_is_asked_once_for_what_is_no_folder(monkeypatch):
    """A mistyped path took two minutes of retries, and nothing said that there is no folder."""
    asked = []

    def answer(url):
        asked.append(url)
        raise OSError("no route")

    monkeypatch.setattr("huggingface_hub.get_hf_file_metadata", answer)
    message = r"at revision old: there is no folder a/b here, .* \(OSError: no route\); correct the"
    with pytest.raises(InputError, match=message):
        load_classifier("a/b", "cpu", revision="old")
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", b"no weights", "cannot be loaded"),
        ("config.json", b"{", "cannot be loaded"),
        ("config.json", None, "has no config.json"),
        ("", None, "model: no such folder"),
    ],
)
def test_a_folder_that_lacks_something_or_is_damaged(folder, file, content, message):
    path = folder / file
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if content is not None:
        path.write_bytes(content)
    refuse(folder, message)


def test_pickled_weights_are_not_opened(folder):
    """A file that runs code when unpickled is left alone."""
    (folder / "model.safetensors").unlink()
    marker = folder / "ran"
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()"
    payload = b"cbuiltins\nexec\n(V" + code.encode() + b"\ntR."
    (folder / "pytorch_model.bin").write_bytes(payload)
    refuse(folder, r"has no weights in safetensors; convert them once, as docs/models\.md shows")
    assert not marker.exists()


class TestHub:
    """A cache of the Hub, filled here as downloads would, and no network."""

    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    @pytest.fixture
    def snapshot(self, checkpoints, tmp_path, monkeypatch) -> Path:
        """The folder of the only commit of a model in the cache."""
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
        model = tmp_path / "models--someone--whole"
        (model / "refs").mkdir(parents=True)
        (model / "refs" / "main").write_text(self.COMMIT)
        return Path(shutil.copytree(checkpoints["bert"], model / "snapshots" / self.COMMIT))

    @pytest.mark.usefixtures("snapshot")
    @pytest.mark.parametrize("revision", [None, COMMIT])
    def test_a_fetched_model_is_found(self, tmp_path, revision):
        spec = ModelSpec(checkpoint="someone/whole", revision=revision)
        config = build_model(spec, ["a", "b", "c"], [])[0].config
        write_reference(tmp_path, spec, config, 9)
        assert config.num_labels == 3
        assert read_reference(tmp_path).revision == self.COMMIT

    def test_of_one_that_is_not_there_it_says_how_to_get_it(self):
        message = "there is no folder someone/else here, .* by `snakemake fetch` with the run's"
        with pytest.raises(InputError, match=f"checkpoint someone/else: {message}"):
            load_model("someone/else")

    def test_no_code_of_the_cache_is_run(self, snapshot):
        make_hostile(snapshot)
        with pytest.raises(InputError, match=r"someone/whole: config\.json names Python code of"):
            load_model("someone/whole")
        assert not (snapshot / "ran").exists()


def change(folder, file="config.json", **entries):
    path = folder / file
    settings = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**settings, **entries}))


def make_hostile(folder):
    """Let configuration, tokenizer and model ask for Python code that leaves a file behind."""
    (folder / "evil.py").write_text(
        f"open({str(folder / 'ran')!r}, 'w').close()\n"
        "from transformers import BertConfig as Config, BertForSequenceClassification as Model\n"
        "from transformers import BertTokenizer as Tokenizer\n"
    )
    change(
        folder,
        model_type="evil",
        auto_map={
            "AutoConfig": "evil.Config",
            "AutoModelForSequenceClassification": "evil.Model",
            "AutoModelForMaskedLM": "evil.Model",
        },
    )
    change(
        folder,
        "tokenizer_config.json",
        tokenizer_class="Evil",
        auto_map={"AutoTokenizer": ["evil.Tokenizer", None]},
    )


ROUTES = {
    "load_classifier": lambda folder: load_classifier(str(folder), "cpu"),
    "load_tokenizer": lambda folder: load_tokenizer(str(folder)),
    "load_masked_lm": lambda folder: load_masked_lm(folder, str(folder), None, CPU),
    "build_model": lambda folder: build_model(ModelSpec(checkpoint=str(folder)), "ab", []),
    "config": lambda folder: check_checkpoint(str(folder)),
}


class TestCallsFromPython:
    """What finetune refuses in a checkpoint is refused in calls from Python as well."""

    def test_a_fifth_of_the_tokens_may_be_unknown(self, folder):
        from exparity import benchmark

        classifier, unknown = load_classifier(folder, "cpu"), ["вона співає", "він танцює"]
        assert len(explain(classifier, ["the man is kind вона", "вона співає man"])) == 2
        message = r"does not know \d+ of \d+ tokens of the texts \(\[UNK\]\), more than 20%"
        for texts in (unknown, ["the man is kind", *unknown] * 10):
            with pytest.raises(InputError, match=message):
                explain(classifier, texts)
        with pytest.raises(InputError, match=message):
            benchmark(classifier, unknown, methods=["gradient"])

    def test_an_output_that_is_a_number(self, folder):
        change(folder, problem_type="regression")
        refuse(folder, r"predicts numbers \(problem_type regression\), not classes")
        objects = AutoModelForSequenceClassification.from_pretrained(folder), load_tokenizer(folder)
        with pytest.raises(InputError, match="predicts numbers"):
            load_classifier(objects)


class TestTokenizerSettings:
    @pytest.mark.parametrize(
        "limit", [row for (row,) in REFUSED["limits_that_are_no_number_of_tokens"]]
    )
    def test_a_limit_that_is_no_number_of_tokens(self, folder, limit):
        change(folder, "tokenizer_config.json", model_max_length=limit)
        refuse(folder, rf"{folder}: its tokenizer has the model_max_length {limit!r}; write the")

    def test_unknown_tokens_count_where_the_settings_do_not_name_them(self, folder):
        change(folder, "tokenizer_config.json", unk_token=None)
        classifier = load_classifier(folder, "cpu")
        with pytest.raises(InputError, match=r"does not know \d+ of \d+ .* \(\[UNK\]\), more than"):
            explain(classifier, ["вона співає", "він танцює"])

    def test_a_vocabulary_without_the_unknown_token(self, folder):
        core = json.loads((folder / "tokenizer.json").read_text())["model"]
        change(folder, "tokenizer.json", model={**core, "unk_token": "<none>"})
        refuse(folder, r"tokenizer\.json names <none> for unknown words, and its vocabulary has no")


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_link_to_what_is_gone_is_named(folder, name):
    (folder / name).unlink()
    (folder / name).symlink_to("../../blobs/gone")
    refuse(folder, rf"{name} is a link to \.\./\.\./blobs/gone, which is not there; put that back")


class TestCode:
    """No code from a checkpoint runs, also where somebody says yes to everything."""

    @pytest.fixture(autouse=True)
    def yes(self, monkeypatch, tmp_path):
        monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 99))
        monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path))

    @pytest.mark.parametrize("route", ROUTES)
    def test_it_is_refused_before_transformers_asks(self, folder, route):
        make_hostile(folder)
        with pytest.raises(InputError, match=r"config\.json names Python code") as refused:
            ROUTES[route](folder)
        assert "\n" not in str(refused.value)
        assert not (folder / "ran").exists()

    @pytest.mark.parametrize(
        ("file", "entries", "message"), REFUSED["other_ways_out_of_the_folder"]
    )
    def test_other_ways_out_of_the_folder(self, folder, file, entries, message):
        change(folder, file, **entries)
        refuse(folder, rf"{file} .*{message}")

    def test_every_call_says_that_no_code_is_run(self, repository):
        calls = [
            (path.name, call.lineno, ast.unparse(call))
            for path in (repository / "src").rglob("*.py")
            for call in ast.walk(ast.parse(path.read_text()))
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("from_pretrained", "from_config")
        ]
        assert len(calls) >= 4
        assert [call for call in calls if "trust_remote_code=False" not in call[2]] == []


def rewrite(folder, edit):
    """Change the tensors of a checkpoint; None takes one away."""
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = dict(map(edit, *zip(*load_file(path).items(), strict=True)))
    kept = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    save_file(kept, path, metadata={"format": "pt"})


def without(start):
    return lambda name, tensor: (name, None if name.startswith(start) else tensor)


def prefixed(name, tensor):
    return f"module.{name}", tensor


def undefined(name, tensor):
    return name, tensor.fill_(float("nan")) if name.endswith("pooler.dense.bias") else tensor


def quantised(name, tensor):
    whole = name == "classifier.weight"
    return name, tensor.round().to(dtype=torch.int16) if whole else tensor


def in_float8(name, tensor):
    return name, tensor.to(torch.float8_e4m3fn) if name == "classifier.weight" else tensor


class TestRandomWeights:
    """What a checkpoint does not say is not drawn at random, but for what is trained next."""

    @pytest.mark.parametrize(
        ("edit", "message"),
        [
            (
                without("bert.encoder.layer.1."),
                r"lacks bert\.encoder\.layer\.1\..* and 13 more, or",
            ),
            (without("classifier."), r"lacks classifier\.bias, classifier\.weight, or has"),
            (prefixed, r"lacks .*without a prefix \(module\., _orig_mod\.\) before its names"),
            (undefined, r"holds bert\.pooler\.dense\.bias with values that are not finite"),
            (quantised, r"holds classifier\.weight as whole numbers or .*; save it dequantised"),
            (in_float8, r"holds classifier\.weight as .* float8, .*; save it dequantised"),
        ],
    )
    def test_tensors_of_another_model_are_refused(self, folder, edit, message):
        rewrite(folder, edit)
        refuse(folder, message)

    @pytest.mark.parametrize(
        ("entries", "message"), REFUSED["a_config_of_another_model_is_refused"]
    )
    def test_a_config_of_another_model_is_refused(self, folder, entries, message):
        change(folder, **entries)
        refuse(folder, message)

    @pytest.mark.parametrize("scheme", ["all", "classification"])
    def test_a_head_to_be_trained_may_be_new_and_is_named(self, folder, caplog, scheme):
        rewrite(folder, lambda k, v: (k, None if k.startswith("classifier") else v))
        with caplog.at_level("INFO"):
            load_model(str(folder), labels=["a", "b"], scheme=scheme)
        assert "new weights, to be trained: classifier.bias, classifier.weight" in caplog.text
        rewrite(folder, lambda k, v: (k, None if "layer.0.output" in k else v))
        with pytest.raises(InputError, match=r"lacks bert\.encoder\.layer\.0\.output"):
            load_model(str(folder), labels=["a", "b"], scheme=scheme)

    def test_a_pooler_may_be_new_where_it_is_trained(self, folder):
        rewrite(folder, lambda k, v: (k, None if "pooler" in k else v))
        load_model(str(folder), labels=["a", "b"], scheme="all")
        with pytest.raises(InputError, match=r"lacks .*pooler.* needs training \(scheme: all\)"):
            load_model(str(folder), labels=["a", "b"], scheme="embedding")


SMALL = {"vocab_size": 40, "num_hidden_layers": 1, "num_attention_heads": 2}
WIDE = {"hidden_size": 8, "intermediate_size": 8}
PRETRAINED = {
    "bert": ("MaskedLM", SMALL | WIDE),
    "roberta": ("MaskedLM", SMALL | WIDE),
    "gpt2": ("CausalLM", {"vocab_size": 40, "n_embd": 8, "n_layer": 1, "n_head": 2}),
    "electra": ("PreTraining", SMALL | WIDE | {"embedding_size": 4}),
}


@pytest.mark.parametrize("family", PRETRAINED)
def test_pretrained_models_of_every_kind_get_a_head(family, tmp_path):
    """As published: the bare encoder, with another head, in several files, as a classifier."""
    import torch
    import transformers

    head, size = PRETRAINED[family]
    config = transformers.AutoConfig.for_model(family, **size)
    for kind in ("", f"For{head}", "ForSequenceClassification"):
        folder = tmp_path / (kind or "bare")
        with quiet_transformers():
            model = getattr(transformers, f"AutoModel{kind}").from_config(config)
            model.save_pretrained(folder, max_shard_size="2KB")
        assert len(list(folder.glob("model-*.safetensors"))) > 1
        loaded = load_model(str(folder), labels=["a", "b"], scheme="all")
        expected = model.base_model.state_dict()
        shared = {k: v for k, v in loaded.base_model.state_dict().items() if k in expected}
        assert len(shared) > 5
        assert all(torch.equal(v, expected[k]) for k, v in shared.items())
    load_model(str(folder), labels=["a", "b"])


class TestTokenizer:
    def test_a_checkpoint_without_a_tokenizer_is_refused(self, folder):
        for file in ("tokenizer.json", "tokenizer_config.json"):
            (folder / file).unlink()
        refuse(folder, "has no tokenizer; save the one that the model was trained with")

    def test_one_with_more_tokens_than_embeddings_is_refused(self, folder, checkpoints):
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(checkpoints["bert"])
        tokenizer.add_tokens([f"word{i}" for i in range(9)])
        tokenizer.save_pretrained(folder)
        size = json.loads((folder / "config.json").read_text())["vocab_size"]
        refuse(folder, f"ids up to {size + 8} and the model embeddings for {size} tokens")
        with pytest.raises(InputError, match=f"embeddings for {size} tokens"):
            build_model(ModelSpec(checkpoint=str(folder)), ["a", "b"], [])


def test_trained_tokenizers_are_the_same_in_every_process(examples):
    """The order of a hash table must not decide the vocabulary."""
    code = (
        "import sys, json\n"
        "from exparity.models.scratch import train_tokenizer\n"
        "from exparity.models.spec import ModelSpec\n"
        "texts = json.load(sys.stdin)\n"
        "for architecture in ('bert', 'roberta', 'gpt2'):\n"
        "    spec = ModelSpec(init='scratch', architecture=architecture, vocab_size=700)\n"
        "    print(train_tokenizer(spec, texts).backend_tokenizer.to_str())"
    )
    texts = json.dumps([e.text for e in examples])
    one, other = (run_code(code, input=texts) for _ in range(2))
    assert one == other


def test_a_shape_may_be_taken_from_a_checkpoint(checkpoints):
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
