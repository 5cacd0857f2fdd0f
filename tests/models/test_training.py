"""Fine-tuning: learns, repeats itself, continues where it stopped, stops early."""

import copy
import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from models import trainings
from models.trainings import same
from support import CPU, NARROW, killed_after

from exparity import ExparityError, InputError, load_classifier, read_results
from exparity.artefacts.files import read_artefact
from exparity.data.table import PreparedData
from exparity.models.checkpoints import load_model
from exparity.models.loop import TrainingLoop, linear_schedule
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.stages.finetune import finetune_cell

MODEL = ModelSpec(init="scratch", architecture="bert", size=NARROW)
TRAINING = TrainingSpec(epochs=4, batch_size=16, learning_rate=5e-3)
train = partial(trainings.train, training=TRAINING, model=MODEL)


def training_with(**changes):
    return TRAINING.model_copy(update=changes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def data(folder) -> PreparedData:
    return trainings.pairs(folder, 60)


def test_the_schedule_is_that_worked_out_by_hand():
    found = [linear_schedule(step, 10, 2) for step in range(11)]
    assert found == pytest.approx([0, 0.5, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0])
    assert linear_schedule(0, 4, 0) == 1.0


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A training that nothing disturbs."""
    return train(data, tmp_path_factory.mktemp("whole"))


def test_it_learns_and_keeps_its_history(whole):
    history = whole.history
    assert [r.epoch for r in history] == [1, 2, 3, 4]
    assert history[-1].train_loss < history[0].train_loss
    assert history[-1].step == 4 * 6  # 96 examples in batches of 16
    assert all(np.isnan(r.validation_loss) for r in history)


def test_other_seeds_give_other_weights(whole, data, tmp_path):
    assert not same(whole.model, train(data, tmp_path, seed=1).model)


@pytest.mark.parametrize("stop_after", [1, 3])
def test_continued_training_ends_with_the_same_weights(whole, data, tmp_path, stop_after):
    with killed_after(stop_after):
        train(data, tmp_path)
    continued = train(data, tmp_path)
    assert len(continued.history) == 4
    assert same(whole.model, continued.model)


def test_a_continued_training_keeps_its_threads(data, tmp_path, monkeypatch):
    """Weights depend on their number: begun with two, and continued where there is one."""
    import torch

    with monkeypatch.context() as patch:
        patch.setattr(torch, "get_num_threads", lambda: 2)
        train(data, tmp_path, training=training_with(epochs=1))
    taken = []
    monkeypatch.setattr(torch, "set_num_threads", taken.append)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert len(train(data, tmp_path, training=training_with(epochs=2)).history) == 2
    assert taken == [2]


def test_stale_state_is_discarded(data, tmp_path, caplog):
    caplog.set_level("INFO")
    for fingerprint in ("old", "new"):
        train(data, tmp_path, training=training_with(epochs=1), fingerprint=fingerprint)
    assert "starting afresh" in caplog.text
    assert caplog.text.count("epoch 1 of 1: training") == 2


def test_early_stopping_keeps_the_best_epoch(data, tmp_path, monkeypatch):
    losses = iter([0.9, 0.5, 0.6, 0.7, 0.1, 0.1])
    seen = []

    def validate(self, items):
        seen.append(copy.deepcopy(self.model))
        return next(losses), 0.5

    monkeypatch.setattr(TrainingLoop, "_validate", validate)
    spec = training_with(epochs=6, validation_share=0.2, patience=2)
    found = train(data, tmp_path, training=spec)
    assert [r.validation_loss for r in found.history] == [0.9, 0.5, 0.6, 0.7]
    assert same(found.model, seen[1])


def test_bf16_training_runs(data, tmp_path):
    training = training_with(epochs=2, precision="bf16", validation_share=0.25)
    record = train(data, tmp_path, training=training).history[-1]
    assert np.isfinite(record.train_loss)
    assert 0 < record.validation_loss < 5
    assert 0 <= record.validation_accuracy <= 1


def test_a_cell_leaves_checkpoint_history_and_predictions(folder, data, tmp_path):
    output, predictions = tmp_path / "models/pairs/m/0", tmp_path / "predictions/pairs/m/0.parquet"
    finetune_cell(
        folder / "data.parquet", output, predictions,
        model={"init": "scratch", "architecture": "bert", "size": NARROW},
        training={"epochs": 2, "max_length": 8}, model_id="m", seed=0, machine=CPU,
    )  # fmt: skip
    assert load_classifier(str(output), "cpu").max_length == 8
    names = {path.name for path in output.iterdir()}
    assert {"model.safetensors", "config.json", "tokenizer.json", "history.parquet"} <= names
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in names)
    assert json.loads((output / "exparity.json").read_text())["seed"] == 0
    assert len(read_results(tmp_path, "history")) == 2
    rows = read_artefact(predictions, "predictions")[0].to_pylist()
    assert [r["example_id"] for r in rows] == sorted(e.example_id for e in data.split("test"))
    for row in rows:
        assert sum(row["probabilities"]) == pytest.approx(1, abs=1e-6)
        assert row["predicted"] == int(np.argmax(row["probabilities"]))
    assert not output.with_name("0.state").exists()


def test_one_class_is_refused(data, tmp_path):
    examples = tuple(replace(e, label=1) if e.split == "train" else e for e in data.examples)
    with pytest.raises(InputError, match="training examples have 1 labels"):
        train(replace(data, examples=examples), tmp_path)


def test_fp16_without_a_gpu_is_refused(data, tmp_path):
    with pytest.raises(InputError, match="fp16 needs a GPU"):
        train(data, tmp_path, training=training_with(precision="fp16"))


def test_without_epochs_the_head_must_fit(data, tmp_path, checkpoints):
    options = {
        "model": ModelSpec(checkpoint=checkpoints["bert"]),
        "training": TrainingSpec(epochs=0),
    }
    before = load_model(checkpoints["bert"])
    tested = replace(data, examples=tuple(e for e in data.examples if e.split == "test"))
    for given in (data, tested):
        found = train(given, tmp_path, **options)
        assert found.history == []
        assert same(found.model, before)
    with pytest.raises(InputError, match="training examples have 0 labels"):
        train(tested, tmp_path)
    for labels, message in (
        (data.labels[::-1], "classes are female, male, in this order, and those of"),
        (("a", "b", "c"), "has 2 classes and the data 3"),
    ):
        with pytest.raises(InputError, match=message):
            train(replace(data, labels=labels), tmp_path, **options)


class TestDivergence:
    """A training that leaves the numbers fails, and keeps nothing of it."""

    HUGE = training_with(learning_rate=1e30, warmup_share=0.0, max_grad_norm=1e30)

    def test_it_fails_with_its_reason(self, data, tmp_path):
        message = r"diverged in epoch 1, at step 2 \(learning rate 9\.58e\+29\).*lower training"
        with pytest.raises(ExparityError, match=message) as failed:
            train(data, tmp_path / "state", training=self.HUGE)
        assert failed.value.exit_code == 1
        assert not (tmp_path / "state").exists()

    def test_in_the_last_step_as_well(self, data, tmp_path, monkeypatch):
        """No loss is computed after it."""
        from torch.optim import AdamW

        taken = []

        def step(self, *_, **__):
            taken.append(self)
            if len(taken) == 6:
                self.param_groups[0]["params"][0].data.fill_(float("nan"))

        monkeypatch.setattr(AdamW, "step", step)
        with pytest.raises(ExparityError, match="diverged in epoch 1, at step 6 "):
            train(data, tmp_path / "state", training=training_with(epochs=1))
        assert not (tmp_path / "state").exists()


def test_a_tokenizer_that_does_not_know_the_words_is_refused(data, tmp_path, checkpoints):
    strange = tuple(replace(e, words=("вона", "співає"), rationale=None) for e in data.examples)
    message = r"the tokenizer does not know \d+ of \d+ tokens of the texts \(\[UNK\]\)"
    spec = ModelSpec(checkpoint=checkpoints["bert"])
    with pytest.raises(InputError, match=message):
        train(replace(data, examples=strange), tmp_path, model=spec)
