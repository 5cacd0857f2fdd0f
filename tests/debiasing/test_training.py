"""Trainings with recipes: same weights where nothing changes, and after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from debiasing.test_recipes import experiment
from held import held

from exparity import cli
from exparity.artefacts.files import read_artefact
from exparity.data.table import read_prepared
from exparity.stages.prepare import prepare

PLUGIN = Path(__file__).parent / "pronouns_plugin.py"


def prepared(folder: Path, **options) -> Path:
    """Biographies; each once for a man and once for a woman unless options say otherwise."""
    path = folder / "data.parquet"
    prepare(path, use="bios", params={"n_biographies": 48, **options}, data_dir=folder)
    return path


class Training:
    """The job of the workflow by itself, as the workflow starts it."""

    def __init__(self, repository: Path, folder: Path, data: Path, debias=None, **training) -> None:
        found = experiment(repository, debias, training={"epochs": 1, "batch_size": 8, **training})
        model = "plain" if debias is None else "mended"
        options = json.loads(found.finetune_options("bios", model, 0))
        self.checkpoint = folder / model / "0"
        self.command = [
            *(sys.executable, "-m", "exparity", "finetune", "--options", json.dumps(options)),
            *("--model-id", model, "--seed", "0", "--data", str(data), "--device", "cpu"),
            *("--output", str(self.checkpoint), "--predictions", str(folder / "predictions")),
            *("--plugins", str(PLUGIN)),
        ]

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command, stderr=subprocess.DEVNULL)

    def run(self) -> None:
        assert cli.main(self.command[3:]) == 0

    @property
    def weights(self) -> bytes:
        return (self.checkpoint / "model.safetensors").read_bytes()

    @property
    def training_set(self) -> list[dict]:
        table = read_artefact(self.checkpoint / "training_set.parquet", "training_set")[0]
        return table.drop_columns("model").to_pylist()


def test_where_a_recipe_changes_nothing_weights_are_bit_for_bit_the_same(repository, tmp_path):
    """Groups of one size in each class: undersampling keeps all, and all weights are 1."""
    data = prepared(tmp_path)
    trained = {}
    for debias in (None, "us", "rw", "cda"):
        trained[debias] = Training(repository, tmp_path / str(debias), data, debias)
        trained[debias].run()
    plain = trained[None]
    for debias in ("us", "rw"):
        assert trained[debias].weights == plain.weights
        assert trained[debias].training_set == plain.training_set
    assert trained["cda"].weights != plain.weights


def test_killed_during_a_training_with_counterfactuals(repository, tmp_path, capsys):
    """Kill -9 after an epoch: the same command continues, and ends with the same weights."""
    data = prepared(tmp_path, paired=False, imbalance=0.75)
    recipe = {"weights": "group_class", "counterfactuals": "add", "resample": "over"}
    recipe |= {"order": "counterfactuals_first"}
    undisturbed = Training(repository, tmp_path / "one", data, recipe, epochs=8)
    undisturbed.run()
    killed = Training(repository, tmp_path / "other", data, recipe, epochs=8)
    state = killed.checkpoint.with_name("0.state")
    with held("epoch-0002") as waiting:
        job = killed.start()
        waiting.wait(job)
        os.kill(job.pid, signal.SIGKILL)
        assert job.wait(timeout=60) == -signal.SIGKILL
    assert not killed.checkpoint.exists()
    capsys.readouterr()
    killed.run()
    assert "continuing after epoch" in capsys.readouterr().err
    assert killed.weights == undisturbed.weights
    assert killed.training_set == undisturbed.training_set
    assert len({row["weight"] for row in killed.training_set}) > 1
    assert any(row["made_by"] for row in killed.training_set)
    assert not state.exists()


def test_what_validates_is_held_out_before(repository, tmp_path):
    """No copy of a held-out example is trained on, and the rest is all there."""
    data = prepared(tmp_path, paired=False, imbalance=0.75)
    training = Training(repository, tmp_path, data, "os_cda", validation_share=0.25)
    training.run()
    train = [example.example_id for example in read_prepared(data).split("train")]
    originals = {row["example_id"] for row in training.training_set if not row["made_by"]}
    copied = {row["example_id"] for row in training.training_set if row["made_by"]}
    assert len(originals) == len(train) - round(0.25 * len(train))
    assert copied <= originals < set(train)
