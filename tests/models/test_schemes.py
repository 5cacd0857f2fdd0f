"""Training schemes: what is trained moves, and what is fixed keeps every bit."""

import numpy as np
import pytest
from models import trainings
from models.trainings import same, weights
from support import killed_after

from exparity.data.table import PreparedData
from exparity.models.checkpoints import load_model
from exparity.models.schemes import TRAINED_PARTS, apply_scheme, parts_of, training_mode
from exparity.models.spec import ModelSpec, TrainingSpec

# What the parts are, by name: the reference to which the structure is compared.
EMBEDDING = {
    "bert": ("bert.embeddings.",),
    "roberta": ("roberta.embeddings.",),
    "gpt2": ("transformer.wte.", "transformer.wpe."),
}
HEAD = {"bert": "classifier.", "roberta": "classifier.", "gpt2": "score."}


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> PreparedData:
    return trainings.pairs(tmp_path_factory.mktemp("data"), 30)


@pytest.fixture(params=["bert", "roberta", "gpt2"])
def family(request):
    return request.param


def train(data, folder, checkpoint, scheme, epochs=1):
    training = TrainingSpec(epochs=epochs, batch_size=16, learning_rate=1e-3)
    spec = ModelSpec(checkpoint=checkpoint, scheme=scheme)
    return trainings.train(data, folder, training, spec).model


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
    start = load_model(checkpoints[family])
    parts = parts_of(start)
    found, before = weights(train(data, tmp_path, checkpoints[family], scheme)), weights(start)
    assert set(found) == set(before) == set(parts)
    for name, part in parts.items():
        unchanged = np.array_equal(found[name], before[name])
        assert unchanged == (part not in TRAINED_PARTS[scheme]), f"{name} ({part})"


def test_continued_training_of_a_part_ends_with_the_same_weights(data, tmp_path, checkpoints):
    options = {"checkpoint": checkpoints["bert"], "scheme": "embedding_reinitialised", "epochs": 2}
    whole = train(data, tmp_path / "whole", **options)
    with killed_after(1):
        train(data, tmp_path / "cut", **options)
    assert same(whole, train(data, tmp_path / "cut", **options))


def test_embeddings_are_drawn_anew(checkpoints, family):
    import torch

    start = weights(load_model(checkpoints[family]))
    drawn = []
    for seed in (1, 1, 2):
        model = load_model(checkpoints[family])
        torch.manual_seed(seed)
        apply_scheme(model, "embedding_reinitialised")
        drawn.append(weights(model))
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
    found = train(data, tmp_path, checkpoints["bert"], "embedding_reinitialised", epochs=0)
    assert same(found, load_model(checkpoints["bert"]))
