"""Snapshots of a training: one that was damaged makes way for the one before."""

import os
import shutil
from pathlib import Path

import pytest
import torch

from exparity.models.snapshots import Snapshot, StateFolder


@pytest.fixture
def state(tmp_path) -> StateFolder:
    return StateFolder(tmp_path / "0.state", "x")


def save(state, epoch):
    state.save(
        Snapshot(
            weights={"w": torch.full((4,), float(epoch))},
            moments={"w/step": torch.tensor(float(epoch))},
            best={},
            facts={"epoch": epoch, "history": [{"loss": float("nan")}], "scaler": None},
        )
    )


def epochs(state):
    return sorted(path.name for path in state.folder.iterdir())


def test_what_is_loaded_lies_in_memory_as_new_tensors_do(state):
    """MKL rounds differently where memory begins elsewhere, as that of a file does."""
    save(state, 1)
    loaded = state.load()
    tensors = [*loaded.weights.values(), *loaded.moments.values()]
    assert tensors
    assert {tensor.data_ptr() % 64 for tensor in tensors} == {0}


def test_files_of_a_snapshot_follow_the_umask(state):
    save(state, 1)
    plain = state.folder / "plain"
    plain.touch()
    modes = {path.stat().st_mode for path in state.folder.rglob("*") if path.is_file()}
    assert modes == {plain.stat().st_mode}


FILES = ["facts.json", "weights.safetensors", "moments.safetensors", "best.safetensors"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [None, 0.0, 0.5])
def test_a_missing_empty_or_truncated_file(name, share, state, caplog):
    for epoch in (1, 2):
        save(state, epoch)
    for epoch, remaining in ((2, 1), (1, None)):
        path = state.folder / f"epoch-000{epoch}" / name
        content = path.read_bytes()
        path.unlink()
        if share is not None:
            path.write_bytes(content[: int(share * len(content))])
        loaded = state.load()
        assert (loaded and loaded.facts["epoch"]) == remaining
        assert f"{path.parent}: {name} is " in caplog.text
    save(state, 1)  # a training from the beginning
    assert epochs(state) == ["epoch-0001"]
    assert state.load().facts["epoch"] == 1


def test_a_new_one_is_on_the_disk_before_an_old_one_goes(state, monkeypatch):
    save(state, 1)
    save(state, 2)
    synced, steps = set(), []
    fsync, rmtree = os.fsync, shutil.rmtree

    def note_sync(handle):
        synced.add(Path(os.readlink(f"/proc/self/fd/{handle}")).name)
        fsync(handle)

    def note_removal(folder, **options):
        if folder.exists():
            steps.append((folder.name, set(synced)))
        rmtree(folder, **options)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(shutil, "rmtree", note_removal)
    save(state, 3)
    assert steps == [("epoch-0001", {*FILES, ".epoch-0003.tmp", "0.state"})]


def test_killed_between_any_two_steps(tmp_path, monkeypatch):
    """Each step of saving the third epoch ends the process once, before or after it."""
    import safetensors.torch

    steps = ((shutil, "rmtree"), (os, "fsync"), (Path, "replace"), (safetensors.torch, "save_file"))
    for place in range(100):
        state = StateFolder(tmp_path / str(place), "x")
        save(state, 1)
        save(state, 2)
        ticks = iter(range(100))

        def stopping(step):
            def run(*args, **options):
                if next(ticks) == place:  # noqa: B023
                    raise KeyboardInterrupt
                result = step(*args, **options)
                if next(ticks) == place:  # noqa: B023
                    raise KeyboardInterrupt
                return result

            return run

        with monkeypatch.context() as patch:
            for owner, name in steps:
                patch.setattr(owner, name, stopping(getattr(owner, name)))
            try:
                save(state, 3)
                break
            except KeyboardInterrupt:
                pass
        loaded = state.load()
        assert loaded.facts["epoch"] in (2, 3)
        save(state, loaded.facts["epoch"] + 1)
        assert state.load().facts["epoch"] == loaded.facts["epoch"] + 1
    assert place > 20
