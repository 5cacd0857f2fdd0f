"""Training on a GPU: on the one asked for, and with the same steps where its memory is small."""

import copy

import numpy as np
import pytest
import torch
from fake_cuda import fake_cuda
from models import trainings
from models.trainings import weights
from support import NARROW, killed_after

from exparity import ExparityError
from exparity.artefacts.files import read_artefact
from exparity.core.device import Machine
from exparity.models.checkpoints import build_model
from exparity.models.loop import TrainingLoop
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import _encode
from exparity.stages.finetune import finetune_cell

pytestmark = pytest.mark.fake_cuda
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
MODEL = ModelSpec(init="scratch", architecture="bert", size={**NARROW, **STILL})
_DROPOUTS = dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0)
_SIZE = {"n_embd": 32, "n_layer": 2, "n_head": 4, **_DROPOUTS}
DECODER = ModelSpec(init="scratch", architecture="gpt2", size=_SIZE)
TRAINING = TrainingSpec(epochs=2, batch_size=16, learning_rate=5e-3, validation_share=0.2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def data(folder):
    return trainings.pairs(folder, 40)


@pytest.fixture
def train(data, tmp_path):
    """A function that trains on a device, in a folder of its own."""

    def run(device, model=MODEL, name="state"):
        return trainings.train(data, tmp_path / name, TRAINING, model, device=device)

    return run


def largest_gap(one, other):
    ours, theirs = weights(one.model), weights(other.model)
    return max(np.abs(ours[name] - theirs[name]).max() for name in ours)


@pytest.mark.parametrize("model", [MODEL, DECODER], ids=["bert", "gpt2"])
def test_a_gpu_gives_the_weights_of_the_cpu(train, model):
    expected = train("cpu", model=model, name="cpu")
    with fake_cuda() as gpus:
        found = train("cuda", model=model, name="gpu")
        assert gpus.kernels["_fused_adamw_"]
    assert largest_gap(found, expected) < 1e-4
    assert [r.validation_accuracy for r in found.history] == pytest.approx(
        [r.validation_accuracy for r in expected.history]
    )


def test_the_gpu_asked_for_is_the_one_that_trains_and_is_recorded(folder, data, tmp_path):
    with fake_cuda(count=2) as gpus:
        finetune_cell(
            folder / "data.parquet", tmp_path / "bert" / "0", tmp_path / "predictions.parquet",
            model={"init": "scratch", "architecture": "bert", "size": NARROW},
            training={"epochs": 1, "batch_size": 16}, model_id="bert", seed=0,
            machine=Machine(device="cuda:1"),
        )  # fmt: skip
    assert gpus.peak[0] == 0
    assert gpus.peak[1] > 0
    history = tmp_path / "bert" / "0" / "history.parquet"
    for path, name in ((history, "history"), (tmp_path / "predictions.parquet", "predictions")):
        assert read_artefact(path, name)[1]["device"] == "cuda:1"


def needs(train, **changed):
    """Return the bytes that a training takes at most."""
    with fake_cuda() as gpus:
        train("cuda", **changed)
        return gpus.peak[0]


def test_a_full_gpu_takes_the_same_steps_in_parts(train, caplog):
    expected = train("cpu", name="cpu")
    most = needs(train, name="whole")
    caplog.clear()
    with fake_cuda(memory=int(most * 0.7)):
        found = train("cuda", name="parts")
    assert caplog.text.count("a step goes on in parts of") in (1, 2)
    assert largest_gap(found, expected) < 1e-3
    assert [r.train_loss for r in found.history] == pytest.approx(
        [r.train_loss for r in expected.history], rel=1e-3
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("rows", [1, 3])
def test_parts_of_a_batch_give_its_gradients(data, tmp_path, weighted, rows):
    torch.manual_seed(0)
    model, tokenizer = build_model(MODEL, data.labels, [e.text for e in data.examples])
    tokenizer.model_max_length = 32
    items = _encode(tokenizer, data.examples[:13], typed=False)
    items = [item._replace(weight=1.0 + i * weighted) for i, item in enumerate(items)]
    gradients, losses = [], []
    for most in (None, rows):
        state = StateFolder(tmp_path / str(most), "x")
        loop = TrainingLoop(copy.deepcopy(model), tokenizer, TRAINING, 0, state, "cpu")
        loop.weighted = weighted
        loop.model.eval()
        batch = loop._collate(items)
        loop.most_tokens = most and most * batch.inputs["input_ids"].shape[1]
        losses.append(loop._run(batch))
        gradients.append([p.grad.numpy() for p in loop.model.parameters()])
    assert losses[1] == pytest.approx(losses[0], rel=1e-5)
    for part, whole in zip(*gradients[::-1], strict=True):
        np.testing.assert_allclose(part, whole, rtol=1e-4, atol=1e-6)


def test_dropout_in_parts_is_drawn_anew_for_each_attempt_and_after_a_kill(train):
    """A training that goes on from a snapshot ends with the weights of one that was never ended."""
    model = ModelSpec(init="scratch", architecture="bert", size=NARROW)
    most = needs(train, model=model, name="whole")
    with fake_cuda(memory=int(most * 0.7)):
        expected = train("cuda", model=model, name="expected")
    with fake_cuda(memory=int(most * 0.7)), killed_after(1):
        train("cuda", model=model, name="killed")
    with fake_cuda(memory=int(most * 0.7)):
        found = train("cuda", model=model, name="killed")
    assert largest_gap(found, expected) == 0


def test_one_text_that_does_not_fit_is_an_error(train, monkeypatch):

    def full(self, part):
        raise RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate")

    monkeypatch.setattr(TrainingLoop, "_loss", full)
    with (
        fake_cuda(),
        pytest.raises(ExparityError, match=r"1 × \d+ tokens .* training.max_length"),
    ):
        train("cuda")
