"""Manifests: damage to a checkpoint is found, and what a full disk does not take is named."""

import shutil
from functools import partial
from pathlib import Path

import pytest
from stages.cells import inputs_of, prepare_pairs, train
from support import rotten

from exparity import InputError, load_classifier
from exparity.artefacts.lineage import MANIFEST
from exparity.core.errors import system_reason
from exparity.models.checkpoints import load_model, load_tokenizer
from exparity.models.manifest import (
    DamageError,
    read_verified,
    require_intact,
    write_manifest,
)

FACTS = {"dataset": "pairs", "model": "bert", "seed": 0, "fingerprint": "f" * 64, "version": "1"}


@pytest.fixture
def checkpoint(checkpoints, tmp_path) -> Path:
    """A checkpoint as fine-tuning leaves one."""
    folder = tmp_path / "0"
    shutil.copytree(checkpoints["bert"], folder)
    (folder / "more").mkdir()
    (folder / "more" / "notes.txt").write_text("of a subfolder")
    write_manifest(folder / MANIFEST, FACTS)
    return folder


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


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    """A function that fine-tunes a cell, and the cell's checkpoint."""
    folder = tmp_path_factory.mktemp("cell")
    prepare_pairs(folder, 20)
    run = partial(train, folder, epochs=1)
    run()
    return run, inputs_of(folder)["checkpoint"]


@pytest.mark.parametrize("damaged", ["model.safetensors", MANIFEST])
def test_finetune_makes_a_damaged_checkpoint_again(damaged, cell, caplog):
    run, folder = cell
    names = ("model.safetensors", MANIFEST)
    whole = [(folder / name).read_bytes() for name in names]
    run()
    assert "made again" not in caplog.text
    (folder / damaged).write_bytes(b"[]")
    run()
    assert f"{folder}: {damaged} is " in caplog.text
    assert caplog.text.count("made again") == 1
    assert [(folder / name).read_bytes() for name in names] == whole
    assert require_intact(folder)


def test_finetune_replaces_no_folder_of_others(cell):
    """An output may be named by mistake."""
    run, folder = cell
    kept = folder.with_name("kept")
    shutil.move(folder, kept)
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"/3 holds thesis\.txt .*; name another folder$"):
        run()
    assert [path.read_text() for path in folder.iterdir()] == ["years of work"]
    shutil.rmtree(folder)
    folder.write_text("years of work")
    with pytest.raises(NotADirectoryError):
        run()
    assert folder.read_text() == "years of work"
    folder.unlink()
    run()
    made, before = (require_intact(path) for path in (folder, kept))
    assert made["model.safetensors"] == before["model.safetensors"]


def test_a_full_disk_is_one_line_with_the_remedy(cell, monkeypatch):
    from safetensors import SafetensorError
    from transformers import PreTrainedModel

    run, folder = cell
    shutil.rmtree(folder)

    def fail(*_, **__):
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(PreTrainedModel, "save_pretrained", fail)
    with pytest.raises(OSError, match="No space") as raised:
        run()
    room = "No space left on device; make room and run again, what is finished is kept"
    assert system_reason(raised.value) == f"{folder}: {room}"
