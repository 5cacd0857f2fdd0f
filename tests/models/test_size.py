"""The number of weights of a checkpoint, without loading it, and the memory that jobs ask for."""

import os

import pandas as pd
import pytest
from support import run_code, tiny

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
        ("fp32", "lime", 0, "explain", 1.3 * 8),
        ("bf16", "lime", 0, "explain", 1.3 * 4),
        ("fp16", "lime", 0, "explain", 1.3 * 10),
        ("bf16", "gradient", 0, "explain", 1.3 * 8),
        ("fp32", "lime", 3, "finetune", 1.3 * 4 * 4),
        ("fp32", "lime", 0, "finetune", 1.3 * 8),
        ("fp32", "gradient", 3, "explain", 1.3 * 4),
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


def test_jobs_on_a_gpu_hold_no_packed_copy(monkeypatch, checkpoints):
    monkeypatch.setattr("exparity.config.experiment.n_weights", lambda *_: 8_000_000_000)
    model = {"checkpoint": checkpoints["bert"], "training": {"epochs": 0}}
    experiment = tiny(models={"large": model}, methods={"lime": {}}, engine={"device": "cuda"})
    ids = {"dataset": "pairs_all", "model": "large", "seed": 0, "method": "lime"}
    assert experiment.memory_mb("explain", ids) == pytest.approx(1.3 * 4 * 8000 + 3000, abs=1)


@pytest.mark.parametrize(("name", "held"), [("t.csv", 25), ("t.csv.gz", 125), ("t.parquet", 125)])
def test_preparing_a_table_asks_for_memory_by_its_size(tmp_path, name, held):
    rows = pd.DataFrame({"text": ["one", "two"], "label": ["a", "b"], "group": ["x", "y"]})
    path = tmp_path / name
    rows.to_parquet(path) if name == "t.parquet" else rows.to_csv(path)
    columns = {"text": "text", "label": "label", "group": "group"}
    experiment = tiny(datasets={"own": {"use": "table", "path": str(path), **columns}})
    os.truncate(path, 2_000_000)
    assert experiment.table_memory_mb({"dataset": "own"}, 2000) == 2000 + 2 * held


def test_preparing_data_that_come_with_exparity_asks_for_the_least():
    assert tiny().table_memory_mb({"dataset": "pairs_all"}, 2000) == 2000


PEAK = """
import sys
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification
import exparity
from exparity.core.device import make_repeatable
from exparity.engine import kernels

make_repeatable(1)
kernels.BOTH_KEPT = 0  # as of a model that is too large for two copies
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
config = BertConfig(vocab_size=len(tokenizer), hidden_size=1024, num_attention_heads=16,
                    num_hidden_layers=int(sys.argv[2]), intermediate_size=4096)
model = BertForSequenceClassification(config)
classifier = exparity.load_classifier((model, tokenizer))
explanations = exparity.explain(classifier, ["the girl sings"], 0, "occlusion")
exparity.explain(classifier, ["the girl sings"], 0, "gradient")
if sys.argv[3] != "explain":
    exparity.evaluate(classifier, explanations, sys.argv[3], draws=1)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(model.num_parameters(), int(peak.split()[1]) / 1000)
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("work", ["explain", "random_weights"])
def test_what_jobs_ask_for_grows_as_what_they_take(monkeypatch, checkpoints, work):
    sizes = {}
    for layers in (2, 8):
        count, peak = run_code(PEAK, checkpoints["bert"], layers, work).split()
        sizes[int(count)] = float(peak)
    (small, taken_by_small), (large, taken_by_large) = sizes.items()
    experiment = tiny(
        models={"bert": {"checkpoint": checkpoints["bert"], "training": {"epochs": 0}}},
        methods={"gradient": {}},
        metrics={"gini": {}, "random_weights": {}},
    )
    ids = {"dataset": "pairs_all", "model": "bert", "seed": 0, "method": "gradient"}
    ids |= {"metric": work} if work != "explain" else {}

    def asked_for(count):
        monkeypatch.setattr(type(experiment), "weights", {"bert": count})
        return experiment.memory_mb("evaluate" if "metric" in ids else "explain", ids, least=0)

    assert large - small > 70_000_000
    assert asked_for(large) - asked_for(small) > taken_by_large - taken_by_small
    assert asked_for(large) > taken_by_large
