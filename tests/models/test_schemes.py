"""Training schemes: what is trained moves, and what is fixed keeps every bit."""

from pathlib import Path
from typing import get_args, get_type_hints

import numpy as np
import pytest
from support import killed_after

from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.models.checkpoints import load_model
from exparity.models.schemes import TRAINED_PARTS, apply_scheme, parts_of, training_mode
from exparity.models.snapshots import StateFolder
from exparity.models.spec import ModelSpec, TrainingSpec
from exparity.models.training import finetune
from exparity.stages.prepare import prepare

# What the parts are, by name: the reference to which the structure is compared.
EMBEDDING = {
    "bert": ("bert.embeddings.",),
    "roberta": ("roberta.embeddings.",),
    "gpt2": ("transformer.wte.", "transformer.wpe."),
}
HEAD = {"bert": "classifier.", "roberta": "classifier.", "gpt2": "score."}
PARTIAL = sorted(set(TRAINED_PARTS) - {"all"})
TRAINING = TrainingSpec(epochs=1, batch_size=16, learning_rate=1e-3)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> PreparedData:
    path = tmp_path_factory.mktemp("data") / "data.parquet"
    prepare(path, use="pairs_all", params={"n_pairs": 30}, data_dir=path.parent, dataset_id="pairs")
    return read_prepared(path)


@pytest.fixture(params=["bert", "roberta", "gpt2"])
def family(request):
    return request.param


def train(data, folder: Path, checkpoint: str, scheme: str, training=TRAINING):
    spec = ModelSpec(checkpoint=checkpoint, scheme=scheme)
    state = StateFolder(folder / "state", "x")
    found = finetune(TrainingSet.of(data, 0, 0), spec, training, state=state, device="cpu").model
    return {name: weight.numpy() for name, weight in found.state_dict().items()}


def before(checkpoint: str) -> dict[str, np.ndarray]:
    return {k: v.numpy() for k, v in load_model(checkpoint).state_dict().items()}


def test_the_config_offers_these_schemes():
    assert set(get_args(get_type_hints(ModelSpec)["scheme"])) == set(TRAINED_PARTS)


@pytest.mark.reference
def test_parts_are_those_of_the_family(checkpoints, family):
    parts = parts_of(load_model(checkpoints[family]))
    for name, part in parts.items():
        if name.startswith(EMBEDDING[family]):
            assert part == "embedding", name
        else:
            expected = "classification" if name.startswith(HEAD[family]) else "attention"
            assert part == expected, name
    assert set(parts.values()) == {"embedding", "attention", "classification"}


@pytest.mark.parametrize("scheme", sorted(TRAINED_PARTS))
def test_fixed_parts_keep_every_bit(data, tmp_path, checkpoints, family, scheme):
    found, start = train(data, tmp_path, checkpoints[family], scheme), before(checkpoints[family])
    parts = parts_of(load_model(checkpoints[family]))
    assert set(found) == set(start) == set(parts)
    for name, part in parts.items():
        unchanged = np.array_equal(found[name], start[name])
        assert unchanged == (part not in TRAINED_PARTS[scheme]), f"{name} ({part})"


def test_continued_training_of_a_part_ends_with_the_same_weights(data, tmp_path, checkpoints):
    training = TrainingSpec(epochs=2, batch_size=16, learning_rate=1e-3)
    checkpoint, scheme = checkpoints["bert"], "embedding_reinitialised"
    whole = train(data, tmp_path / "whole", checkpoint, scheme, training)
    with killed_after(1):
        train(data, tmp_path / "cut", checkpoint, scheme, training)
    continued = train(data, tmp_path / "cut", checkpoint, scheme, training)
    assert all(np.array_equal(whole[name], continued[name]) for name in whole)


def test_embeddings_are_drawn_anew(checkpoints, family):
    import torch

    start = before(checkpoints[family])
    drawn = []
    for seed in (1, 1, 2):
        model = load_model(checkpoints[family])
        torch.manual_seed(seed)
        apply_scheme(model, "embedding_reinitialised")
        drawn.append({k: v.numpy() for k, v in model.state_dict().items()})
    parts = parts_of(model)
    tables = [n for n, part in parts.items() if part == "embedding" and "LayerNorm" not in n]
    assert len(tables) >= 2
    for name in parts:
        assert np.array_equal(drawn[0][name], drawn[1][name])
        assert np.array_equal(drawn[0][name], start[name]) == (name not in tables)
        assert np.array_equal(drawn[0][name], drawn[2][name]) == (name not in tables)
    words = model.get_input_embeddings()
    assert float(words.weight.detach().std()) == pytest.approx(0.02, rel=0.05)
    if words.padding_idx is not None:
        assert not words.weight[words.padding_idx].any()


def test_there_is_no_dropout_in_what_is_fixed(checkpoints):
    model = load_model(checkpoints["bert"])
    apply_scheme(model, "embedding")
    training_mode(model)
    assert model.dropout.training  # of the head
    assert model.bert.embeddings.dropout.training
    assert not any(module.training for module in model.bert.encoder.modules())
    assert not any(module.training for module in model.bert.pooler.modules())
    apply_scheme(model, "classification")
    training_mode(model)
    assert not any(module.training for module in model.bert.modules())
    assert model.classifier.training


def test_without_epochs_nothing_is_drawn_anew(data, tmp_path, checkpoints):
    training = TrainingSpec(epochs=0)
    found = train(data, tmp_path, checkpoints["bert"], "embedding_reinitialised", training)
    start = before(checkpoints["bert"])
    assert all(np.array_equal(found[name], start[name]) for name in start)
