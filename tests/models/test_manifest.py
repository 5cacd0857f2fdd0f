"""Manifests: damage to a checkpoint is found, and what a full disk does not take is named."""

import resource
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from stages.cells import prepare_pairs
from support import CPU, rotten

from exparity import InputError, load_classifier
from exparity.artefacts.lineage import MANIFEST
from exparity.cli import _explained
from exparity.models.checkpoints import load_model, load_tokenizer
from exparity.models.manifest import (
    DamageError,
    read_verified,
    require_intact,
    saving,
    write_manifest,
)
from exparity.stages.finetune import finetune_cell

FACTS = {"dataset": "pairs", "model": "bert", "seed": 0, "fingerprint": "f" * 64, "version": "1"}
TINY = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}


@pytest.fixture
def checkpoint(checkpoints, tmp_path) -> Path:
    """A checkpoint as fine-tuning leaves one."""
    folder = tmp_path / "0"
    shutil.copytree(checkpoints["bert"], folder)
    (folder / "more").mkdir()
    (folder / "more" / "notes.txt").write_text("of a subfolder")
    write_manifest(folder / MANIFEST, FACTS)
    return folder


@contextmanager
def no_room():
    """A disk that takes no file of more than 100 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_every_flipped_bit_is_found(checkpoint):
    facts = read_verified(checkpoint / MANIFEST)
    assert {name: facts[name] for name in FACTS} == FACTS
    files = [path for path in checkpoint.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".safetensors", ".json", ".txt"}
    for path in files:
        for flip in rotten(path, 30):
            with pytest.raises(DamageError, match=rf"{path.name} is (altered|unreadable)"):
                pytest.fail(f"{flip}: {read_verified(checkpoint / MANIFEST)}")
    assert read_verified(checkpoint / MANIFEST) == facts


def test_a_damaged_checkpoint_is_not_loaded(checkpoint):
    load_classifier(str(checkpoint), "cpu")
    flip = rotten(checkpoint / "model.safetensors", 30)
    next(flip)
    line = rf"^checkpoint {checkpoint}: model.safetensors is altered; delete the folder and run"
    for load in (load_model, load_tokenizer, load_classifier):
        with pytest.raises(InputError, match=line):
            load(str(checkpoint))
    list(flip)
    assert load_tokenizer(str(checkpoint))
    (checkpoint / "tokenizer_config.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer_config.json is missing; delete the folder"):
        load_tokenizer(str(checkpoint))


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff\xfe", b"[" * 9**5])
def test_a_malformed_manifest_is_one_line(content, checkpoint):
    (checkpoint / MANIFEST).write_bytes(content)
    with pytest.raises(InputError, match=r": exparity.json is unreadable; delete the folder"):
        load_model(str(checkpoint))


def test_a_checkpoint_from_elsewhere_is_loaded(checkpoint):
    (checkpoint / "config.json").write_text((checkpoint / "config.json").read_text() + " ")
    (checkpoint / MANIFEST).unlink()
    load_tokenizer(str(checkpoint))
    assert require_intact(checkpoint) == {}


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    """A function that fine-tunes a cell, and the cell's folder."""
    folder = tmp_path_factory.mktemp("cell")
    prepare_pairs(folder, 20)

    def run():
        finetune_cell(
            folder / "data.parquet", folder / "0", folder / "p.parquet",
            model={"init": "scratch", "architecture": "bert", "size": TINY},
            training={"epochs": 1}, model_id="m", seed=0, machine=CPU,
        )  # fmt: skip

    run()
    return run, folder


@pytest.mark.parametrize("damaged", ["model.safetensors", MANIFEST])
def test_finetune_makes_a_damaged_checkpoint_again(damaged, cell, caplog):
    run, folder = cell
    names = ("model.safetensors", MANIFEST)
    whole = [(folder / "0" / name).read_bytes() for name in names]
    run()
    assert "made again" not in caplog.text
    (folder / "0" / damaged).write_bytes(b"[]")
    run()
    assert f"{folder / '0'}: {damaged} is " in caplog.text
    assert caplog.text.count("made again") == 1
    assert [(folder / "0" / name).read_bytes() for name in names] == whole
    assert require_intact(folder / "0")


def test_finetune_replaces_no_folder_of_others(cell):
    """An output may be named by mistake."""
    run, folder = cell
    shutil.move(folder / "0", folder / "kept")
    (folder / "0").mkdir()
    (folder / "0" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"/0 holds thesis\.txt .*; name another folder$"):
        run()
    assert [path.name for path in (folder / "0").iterdir()] == ["thesis.txt"]
    assert (folder / "0" / "thesis.txt").read_text() == "years of work"
    shutil.rmtree(folder / "0")
    (folder / "0").write_text("years of work")
    with pytest.raises(NotADirectoryError):
        run()
    assert (folder / "0").read_text() == "years of work"
    (folder / "0").unlink()
    (folder / "0").mkdir()
    run()
    made, kept = (require_intact(folder / name) for name in ("0", "kept"))
    assert made["model.safetensors"] == kept["model.safetensors"]


def test_a_full_disk_while_a_checkpoint_is_saved(cell, monkeypatch):
    from transformers import PreTrainedModel

    run, folder = cell
    (folder / "p.parquet").unlink()
    save = PreTrainedModel.save_pretrained

    def save_without_room(self, *args, **options):
        with no_room():
            save(self, *args, **options)

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", save_without_room)
    with pytest.raises(OSError, match="File too large") as raised:
        run()
    assert raised.value.filename == str(folder / "0")


def test_a_full_disk_is_one_line_with_the_remedy(tmp_path):
    from safetensors import SafetensorError

    text = "Error while serializing: I/O error: No space left on device (os error 28)"
    with pytest.raises(OSError, match="No space") as raised, saving(tmp_path):
        raise SafetensorError(text)
    room = "No space left on device; make room and run again, what is finished is kept"
    assert _explained(raised.value) == f"{tmp_path}: {room}"
    with pytest.raises(SafetensorError, match="another"), saving(tmp_path):
        raise SafetensorError("another")
