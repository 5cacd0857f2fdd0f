"""The number of weights of a checkpoint, without loading it, and the memory that jobs ask for."""

import pytest
from support import tiny

from exparity.models.checkpoints import load_model
from exparity.models.folders import n_weights


@pytest.mark.parametrize("family", ["bert", "gpt2"])
def test_headers_tell_how_many_weights_there_are(checkpoints, family):
    assert n_weights(checkpoints[family]) == load_model(checkpoints[family]).num_parameters()


def test_what_is_not_here_is_not_known(tmp_path):
    assert n_weights("nobody/nothing") is None
    assert n_weights(str(tmp_path)) is None
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    n_weights.cache_clear()
    assert n_weights(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("precision", "method", "epochs", "stage", "expected"),
    [
        ("fp32", "lime", 0, "explain", 1.3 * 4),
        ("bf16", "lime", 0, "explain", 1.3 * 2),
        ("fp16", "lime", 0, "explain", 1.3 * 6),
        ("bf16", "gradient", 0, "explain", 1.3 * 4),
        ("fp32", "lime", 3, "finetune", 1.3 * 4 * 4),
        ("fp32", "gradient", 3, "explain", 1.3 * 2),
    ],
)
def test_jobs_ask_for_their_models_weights(
    monkeypatch, checkpoints, precision, method, epochs, stage, expected
):
    monkeypatch.setattr("exparity.config.experiment.n_weights", lambda *_: 8_000_000_000)
    model = {"checkpoint": checkpoints["bert"], "training": {"epochs": epochs}}
    experiment = tiny(
        models={"large": model, "tiny": {"init": "scratch", "architecture": "bert"}},
        methods={method: {}},
        precision=precision,
        gradient_precision="fp32" if epochs == 0 else "bf16",
    )
    cell = {"dataset": "pairs_all", "model": "large", "seed": 0}
    ids = {**cell, "method": method} if stage == "explain" else cell
    assert experiment.memory_mb(stage, ids) == pytest.approx(expected * 8000 + 3000, abs=1)
    assert experiment.memory_mb(stage, {**ids, "model": "tiny"}) == 8000
