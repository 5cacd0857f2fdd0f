"""Trainings with recipes: same weights where nothing changes, and after a kill."""

import json
import os
import signal
import warnings
from pathlib import Path

import pytest
import torch
from debiasing.test_recipes import PLAIN, experiment
from support import CPU

from exparity import cli
from exparity.artefacts.files import read_artefact
from exparity.core.registry import load_plugin
from exparity.counterfactuals import GENERATORS
from exparity.data.table import read_prepared
from exparity.models.snapshots import StateFolder
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare
from workflow import forked

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
        options = found.finetune_options("bios", model, 0)
        self.checkpoint = folder / model / "0"
        self.command = [
            *("finetune", "--options", json.dumps(options)),
            *("--model-id", model, "--seed", "0", "--data", str(data), "--device", "cpu"),
            *("--output", str(self.checkpoint), "--predictions", str(folder / "predictions")),
            *("--plugins", str(PLUGIN)),
        ]

    def run(self) -> None:
        assert cli.main(self.command) == 0

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


def test_other_code_of_an_intervention_or_generator_trains_again(repository, tmp_path, capsys):
    training = Training(repository, tmp_path, prepared(tmp_path), "cda")
    training.run()
    training.run()
    assert "is finished already" in capsys.readouterr().err
    for name in ("debias", "counterfactuals"):
        options = json.loads(training.command[2])
        call = options[name][0] if name == "debias" else options[name]
        call["digest"] = "of other code"
        training.command[2] = json.dumps(options)
        training.run()
        assert "is finished already" not in capsys.readouterr().err


ALL_AT_ONCE = ["rw", "cda", "os"]


def kill_in_a_fork(training: Training, epoch: int) -> None:
    """Run a training as a warm worker does, and kill it when it is about to keep an epoch."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads, none of which holds a lock
        worker = os.fork()
    if not worker:
        save = StateFolder.save

        def save_or_die(self, snapshot):
            if snapshot.facts["epoch"] == epoch:
                os.kill(os.getpid(), signal.SIGKILL)
            save(self, snapshot)

        StateFolder.save = save_or_die
        try:
            training.run()
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) == -signal.SIGKILL


def test_killed_during_a_training_with_counterfactuals(repository, tmp_path, capsys):
    """Kill -9 after an epoch: the same command continues, and ends with the same weights."""
    data = prepared(tmp_path, paired=False, imbalance=0.75)
    undisturbed = Training(repository, tmp_path / "one", data, ALL_AT_ONCE, epochs=4)
    undisturbed.run()
    killed = Training(repository, tmp_path / "other", data, ALL_AT_ONCE, epochs=4)
    state = killed.checkpoint.with_name("0.state")
    kill_in_a_fork(killed, 2)
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


def test_processes_of_a_training_load_the_plugins_of_their_job(repository, tmp_path):
    """The generator is of a plug-in; without its copies an epoch would have half the steps."""
    data = prepared(tmp_path)
    steps = []
    for number in (1, 2):
        training = Training(repository, tmp_path / str(number), data, "cda", processes=number)
        with forked.teams():
            training.run()
        history, _ = read_artefact(training.checkpoint / "history.parquet", "history")
        steps.append(history["step"].to_pylist())
    assert steps[0] == steps[1]
    assert steps[0][-1] * 8 >= len(training.training_set) > len(read_prepared(data).split("train"))


@pytest.fixture
def copying_plugin(tmp_path, monkeypatch):
    """A plug-in in a folder that only this process looks for modules in."""
    registering = PLUGIN.read_text(encoding="utf-8").replace('"pronouns"', '"copying"')
    (tmp_path / "copying_plugin.py").write_text(registering, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    del GENERATORS._entries["copying"]


@pytest.mark.parametrize(
    "name", ["copying_plugin.py", pytest.param("copying_plugin", marks=pytest.mark.exhaustive)]
)
def test_processes_of_a_training_find_a_plugin_where_their_job_does(name, copying_plugin, tmp_path):
    data = prepared(tmp_path)
    load_plugin(name)
    with forked.teams():
        finetune_cell(
            *(data, tmp_path / "mine" / "3", tmp_path / "predictions.parquet"),
            model=PLAIN,
            machine=CPU,
            training={"epochs": 1, "batch_size": 8, "processes": 2},
            debias=[{"use": "counterfactual_data", "params": {}}],
            counterfactuals={"use": "copying", "params": {}},
        )
    assert (tmp_path / "mine" / "3" / "model.safetensors").is_file()


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_threads_that_earlier_work_has_set_change_no_bit(
    repository, tmp_path, threads, pytestconfig
):
    """Sums split over threads round differently, and torch keeps their number in a process."""
    data = prepared(tmp_path, paired=False, imbalance=0.75)
    trained = []
    numbers = (1, 2, 3) if pytestconfig.getoption("--exhaustive") else (1, 3)
    for number in numbers:
        torch.set_num_threads(number)
        training = Training(repository, tmp_path / str(number), data, ALL_AT_ONCE, epochs=3)
        training.run()
        trained.append(training.weights)
    assert set(trained) == {trained[0]}
