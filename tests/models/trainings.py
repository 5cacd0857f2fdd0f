"""Trainings of tiny models on the embedded pairs."""

import numpy as np
from stages.cells import prepare_pairs

from exparity.data.table import PreparedData, read_prepared
from exparity.data.training_set import TrainingSet
from exparity.models.snapshots import StateFolder
from exparity.models.training import finetune


def pairs(folder, n_pairs) -> PreparedData:
    """Prepare the embedded pairs."""
    prepare_pairs(folder, n_pairs)
    return read_prepared(folder / "data.parquet")


def train(data, folder, training, model, seed=0, device="cpu", fingerprint="x"):
    """Fine-tune a model, with its snapshots in ``folder``."""
    training_set = TrainingSet.of(data, training.validation_share, seed)
    state = StateFolder(folder, fingerprint)
    return finetune(training_set, model, training, state=state, device=device)


def weights(model):
    """Return the weights of a model by name."""
    return {name: weight.detach().numpy() for name, weight in model.state_dict().items()}


def same(one, other):
    """Return whether two models have the same bits."""
    ours, theirs = weights(one), weights(other)
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)
