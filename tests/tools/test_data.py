"""`exparity data` with checkpoints and config files; the Hub is played by a function."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from support import TINY

from exparity.models.folders import SHAPE_FILES, WEIGHT_FILES

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WITH_WEIGHTS = [*SHAPE_FILES, *WEIGHT_FILES]


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """A Hub: ``files`` are what it has, ``error`` what it raises, ``asked`` what it was asked."""
    import huggingface_hub

    state = SimpleNamespace(
        files=["config.json", "tokenizer.json", "model.safetensors"], error=None, asked=[]
    )

    def snapshot_download(repo_id, **options):
        state.asked.append((repo_id, options))
        folder = tmp_path / "cache" / repo_id.replace("/", "--")
        if state.error:
            raise state.error
        folder.mkdir(parents=True, exist_ok=True)
        for name in state.files:
            (folder / name).write_text("{}")
        return str(folder)

    def try_to_load_from_cache(repo_id, file, **_):
        path = tmp_path / "cache" / repo_id.replace("/", "--") / file
        return str(path) if path.is_file() else None

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", try_to_load_from_cache)
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", lambda address: None)
    return state


def configure(folder: Path, **changes) -> Path:
    path = folder / "c.yaml"
    path.write_text(yaml.safe_dump({**TINY, **changes}, sort_keys=False))
    return path


class TestModels:
    def test_the_hub_is_asked_for_the_pinned_revision_and_safe_files_only(self, run, hub, tmp_path):
        code, out, _ = run("data", "fetch", "--models", f"some/model@{COMMIT}")
        options = {"revision": COMMIT, "allow_patterns": WITH_WEIGHTS, "local_files_only": True}
        assert hub.asked == [("some/model", options)]
        folder = tmp_path / "cache" / "some--model"
        name = f"some/model@{COMMIT}"
        assert (code, out) == (0, f"{name}: {name} is here: {folder}\n")

    def test_no_pattern_lets_code_or_pickles_through(self):
        from huggingface_hub.utils import filter_repo_objects

        files = [
            "pytorch_model.bin", "tf_model.h5", "flax_model.msgpack", "modeling_x.py", "rust.ot",
            "onnx/model.onnx", "onnx/config.json", "model.pkl", "training_args.bin", "README.md",
            "config.json", "tokenizer.json", "vocab.txt", "merges.txt", "spiece.model",
            "model.safetensors", "model-00001-of-00002.safetensors", "model.safetensors.index.json",
        ]  # fmt: skip
        assert list(filter_repo_objects(files, allow_patterns=WITH_WEIGHTS)) == files[10:]

    @pytest.mark.parametrize(
        ("files", "message"),
        [
            (["pytorch_model.bin", "config.json"], "has no weights in safetensors, and others are"),
            (["model.safetensors"], "has no config.json, so it is not a model"),
        ],
    )
    def test_what_is_no_safe_model_is_refused(self, files, message, refused, hub):
        hub.files = files
        line = refused("data", "fetch", "--models", "some/model@main")
        assert line.startswith("exparity: checkpoint some/model")
        assert message in line

    def test_a_failure_is_one_line(self, refused, hub):
        hub.error = ConnectionError("no route\nto the Hub, and a long explanation")
        line = refused("data", "fetch", "--models", "some/model@main", "other/model")
        assert "could not be reached (ConnectionError: no route)" in line
        assert len(hub.asked) == 1


class TestConfig:
    def test_data_and_models_of_a_config(self, run, hub, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a.csv").write_text("text,label,group\na,x,m\n")
        path = configure(
            tmp_path,
            datasets={"pairs_all": {}, "mine": {"use": "table", "path": "a.csv"}},
            models={**TINY["models"], "base": {"checkpoint": "some/model", "revision": COMMIT}},
        )
        code, out, _ = run("data", "fetch", "--configfile", path)
        *without, base = out.splitlines()
        assert without == [f"{id}: nothing to fetch" for id in ("pairs_all", "mine", "bert_tiny")]
        assert base == f"base: some/model@{COMMIT} is here: {tmp_path}/cache/some--model"
        assert code == 0
        code, out, _ = run("data", "fetch", "mine", "--configfile", path, "--models", "base")
        assert [line.split(":")[0] for line in out.splitlines()] == ["mine", "base"]
        code, out, _ = run("data", "fetch", "mine", "--configfile", path)
        assert [line.split(":")[0] for line in out.splitlines()] == ["mine"]

    def test_its_data_folder_is_used_unless_another_is_named(self, run, tmp_path):
        path = configure(tmp_path, datasets={"geco_all": {}}, data_dir=str(tmp_path / "raw"))
        assert f"{tmp_path}/raw/geco/" in run("data", "check", "--configfile", path)[1]
        other = tmp_path / "other"
        over = run("data", "check", "--configfile", path, "--config", f"data_dir={other}")
        found = run("data", "check", "--configfile", path, "--data-dir", other)
        assert over == found
        assert f"{other}/geco/" in found[1]
        assert found[0] == 2

    def test_altered_files_that_it_allows(self, run, tmp_path):
        mine = {"use": "geco_all", "verify": False}
        path = configure(tmp_path, datasets={"geco_all": {}, "mine": mine})
        for split in ("train", "test"):
            file = tmp_path / "geco" / "binary_gender_all" / f"{split}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("{}")
        options = ["--configfile", path, "--data-dir", tmp_path]
        for action in ("check", "fetch"):
            code, out, _ = run("data", action, "mine", *options)
            assert (code, out.count("jsonl altered, as allowed\n")) == (0, 2)
        assert run("data", "check", "geco_all", *options)[0] == 2
