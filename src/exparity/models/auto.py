"""transformers' Auto classes, to which exparity's own architectures are known."""

from __future__ import annotations

import copy

import torch
import transformers
from transformers import AutoConfig, PreTrainedConfig, PreTrainedModel
from transformers.models.auto.auto_factory import _BaseAutoModelClass

import exparity.models.ola  # noqa: F401  (makes its model type known)

AutoClass = type[_BaseAutoModelClass]
__all__ = ["AutoClass", "AutoConfig", "auto_class", "list_conversions", "on_meta"]


def list_conversions() -> None:
    """Have transformers list the old names of weights, which takes each process 0.1 s once."""
    from transformers.conversion_mapping import get_checkpoint_conversion_mapping

    get_checkpoint_conversion_mapping("bert")


def auto_class(name: str) -> AutoClass:
    """Return one of transformers' Auto classes by its name."""
    auto: AutoClass = getattr(transformers, name)
    return auto


def on_meta(auto: AutoClass, config: PreTrainedConfig) -> PreTrainedModel:
    """Return a model of a configuration with the names and shapes of its weights alone."""
    with torch.device("meta"):
        model: PreTrainedModel = auto.from_config(copy.deepcopy(config), trust_remote_code=False)
    return model
