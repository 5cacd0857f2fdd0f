"""Training in several processes: one training, whatever their number; it ends with its reason."""

import os
import signal
import sys
import time

import pytest
import torch
from fake_cuda import fake_cuda
from models.trainings import pairs, same
from stages.cells import inputs_of
from support import CPU, NARROW

from exparity import ExparityError, InputError
from exparity.artefacts.files import read_artefact
from exparity.models.checkpoints import load_model
from exparity.models.spec import TrainingSpec
from exparity.models.team import Alone, Command, failing, run_together
from exparity.stages.finetune import finetune_cell
from workflow import forked

NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
BERT = {"init": "scratch", "architecture": "bert", "size": {**NARROW, **NO_DROPOUT}}
TRAINING = {"epochs": 2, "batch_size": 10, "learning_rate": 5e-3, "validation_share": 0.25}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    pairs(folder, 40)
    return folder


def train(folder, output, model=BERT, **changes):
    """Fine-tune on the data of ``folder``; return the checkpoint."""
    finetune_cell(
        inputs_of(folder)["data"], output / "mine" / "3", output / "predictions.parquet",
        model=model, training={**TRAINING, **changes}, seed=3, machine=CPU,
    )  # fmt: skip
    return output / "mine" / "3"


@pytest.fixture(scope="module")
def alone(folder, tmp_path_factory):
    return train(folder, tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def together(folder, tmp_path_factory):
    with forked.teams():
        return train(folder, tmp_path_factory.mktemp("together"), processes=2)


def test_two_processes_train_the_weights_of_one(alone, together):
    one = load_model(str(alone)).state_dict()
    two = load_model(str(together)).state_dict()
    for name, weight in one.items():
        torch.testing.assert_close(two[name], weight, rtol=0, atol=2e-5, msg=name)


def test_the_history_counts_every_text(alone, together):
    one, _ = read_artefact(alone / "history.parquet", "history")
    two, _ = read_artefact(together / "history.parquet", "history")
    for name in ("step", "train_accuracy", "validation_accuracy"):
        assert two[name].to_pylist() == pytest.approx(one[name].to_pylist(), abs=1e-9), name
    for name in ("train_loss", "validation_loss"):
        assert two[name].to_pylist() == pytest.approx(one[name].to_pylist(), abs=1e-5), name


def is_running(process):
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def children_of(process):
    with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]


def until(condition):
    while not condition():
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_killed_training_leaves_no_process_and_continues(folder, together, tmp_path):
    job = os.fork()
    if job == 0:
        try:
            train(folder, tmp_path, processes=2)
        finally:
            os._exit(1)
    state = tmp_path / "mine" / "3.state"
    until((state / "epoch-0001").is_dir)
    processes = children_of(job)
    os.kill(job, signal.SIGKILL)
    os.waitpid(job, 0)
    until(lambda: not any(map(is_running, processes)))
    assert len(processes) == 2
    assert not (tmp_path / "mine" / "3").exists()
    with forked.teams():
        continued = train(folder, tmp_path, processes=2)
    assert same(load_model(str(continued)), load_model(str(together)))


def test_a_process_that_refuses_its_input_ends_all_with_its_reason(tmp_path):
    reason = tmp_path / "reason.json"
    refusing = (
        "import sys; from pathlib import Path\n"
        "from exparity import InputError\n"
        "from exparity.models.team import failing\n"
        "with failing(Path(sys.argv[1])): raise InputError('row 3: has no label')"
    )
    commands = [
        Command([sys.executable, "-c", "import time; time.sleep(3600)"], {}),
        Command([sys.executable, "-c", refusing, str(reason)], {}),
    ]
    with pytest.raises(InputError, match="row 3: has no label"):
        run_together(commands, reason)


def test_a_process_that_crashes_is_named_with_its_messages(tmp_path, caplog):
    crashing = "import sys; print('no space left', file=sys.stderr); sys.exit(9)"
    command = Command([sys.executable, "-c", crashing], {}, tmp_path / "messages.txt")
    with pytest.raises(ExparityError, match="code 9"):
        run_together([command], tmp_path / "reason.json")
    assert "no space left" in caplog.text


def test_the_first_reason_stays(tmp_path):
    reason = tmp_path / "reason.json"
    for message in ("first", "second"):
        with pytest.raises(SystemExit), failing(reason):
            raise InputError(message)
    assert "first" in reason.read_text(encoding="utf-8")


def test_more_processes_than_gpus_are_refused(folder, tmp_path):
    with fake_cuda(count=2), pytest.raises(InputError, match="shows 2 GPUs"):
        finetune_cell(
            inputs_of(folder)["data"], tmp_path / "mine" / "3", tmp_path / "predictions.parquet",
            model=BERT, training={**TRAINING, "processes": 3}, seed=3,
        )  # fmt: skip


def test_more_processes_than_texts_of_a_batch_are_refused():
    with pytest.raises(ValueError, match=r"training\.processes 4: is more than"):
        TrainingSpec(processes=4, batch_size=2)


def test_one_process_alone_runs_every_row():
    assert range(7)[Alone().rows(7)] == range(7)
