"""Training schemes: the parts of a pretrained classifier that are trained, and those kept fixed.

A classifier has three parts (Wilming et al. 2024, GECOBench, section 2.2): the embeddings, the
attention layers with all that belongs to them, and the classification head. Parts are found from
the structure of the model, never from names of parameters.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)

Part = Literal["embedding", "attention", "classification"]

TRAINED_PARTS: Mapping[str, frozenset[Part]] = {
    "all": frozenset(("embedding", "attention", "classification")),
    "embedding": frozenset(("embedding", "classification")),
    "embedding_reinitialised": frozenset(("embedding", "classification")),
    "classification": frozenset(("classification",)),
}
"""The parts that each scheme trains."""


def parts_of(model: PreTrainedModel) -> dict[str, Part]:
    """Assign every parameter of a classifier to a part.

    - ``embedding``: the module that holds the table of input embeddings, with its tables of
      positions and token types and its norm (BERT, RoBERTa). Where that is the whole encoder,
      all tables that are its own (GPT-2: words and positions).
    - ``attention``: the rest of the encoder: attention, feed-forward layers, norms, and BERT's
      pooler.
    - ``classification``: all weights outside of the encoder.
    """
    encoder = {id(parameter) for parameter in model.base_model.parameters()}
    embedding = {id(p) for module in _embeddings(model) for p in module.parameters()}

    def part(parameter: torch.nn.Parameter) -> Part:
        if id(parameter) in embedding:
            return "embedding"
        return "attention" if id(parameter) in encoder else "classification"

    return {name: part(parameter) for name, parameter in model.named_parameters()}


def apply_scheme(model: PreTrainedModel, scheme: str) -> None:
    """Prepare a classifier for training by a scheme, in place.

    ``embedding_reinitialised`` draws the tables of embeddings anew from torch's current generator:
    normal, with the standard deviation of the model's configuration, and zero for padding. Their
    norm goes on from its pre-trained weights.
    """
    if scheme == "all":
        return
    trained = TRAINED_PARTS[scheme]
    parts = parts_of(model)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(parts[name] in trained)
    if scheme == "embedding_reinitialised":
        _draw_tables(model)
    count = sum(p.numel() for p in model.parameters() if p.requires_grad)
    log.info("scheme %s: %s of %s weights are trained", scheme, count, model.num_parameters())


def training_mode(model: torch.nn.Module) -> None:
    """Put trained modules into training mode, and fixed ones into eval mode, without dropout."""
    model.train()
    for module in model.modules():
        weights = list(module.parameters())
        if weights and not any(weight.requires_grad for weight in weights):
            module.eval()


def _embeddings(model: PreTrainedModel) -> list[torch.nn.Module]:
    """Return the modules that are a model's embeddings."""
    base = model.base_model
    words = model.get_input_embeddings()
    parents = [m for m in base.modules() if any(child is words for child in m.children())]
    (parent,) = parents
    if parent is not base:
        return [parent]
    return [module for module in base.children() if isinstance(module, torch.nn.Embedding)]


def _draw_tables(model: PreTrainedModel) -> None:
    std = float(getattr(model.config, "initializer_range", 0.02))
    for module in _embeddings(model):
        for table in module.modules():
            if isinstance(table, torch.nn.Embedding):
                with torch.no_grad():
                    table.weight.normal_(std=std)
                    if table.padding_idx is not None:
                        table.weight[table.padding_idx].zero_()
