"""Adapters of low rank (Hu et al. 2022, arXiv:2106.09685), trained in place of the weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ALPHA = 16


def add_adapters(model: PreTrainedModel, lora: Mapping[str, int]) -> Any:
    """Put adapters into all linear layers but the output, in place; only they are trained.

    The second matrix of each starts at zero, so that the model stays what it is until it is
    trained. The first comes from torch's current generator.

    Args:
        model: what is tuned.
        lora: ``rank`` of the adapters, and ``alpha``: their product is scaled by alpha / rank.

    Returns:
        What :func:`merge_adapters` takes.

    Raises:
        InputError: peft is not installed.
    """
    try:
        from peft import LoraConfig
        from peft.tuners.lora import LoraModel
    except ImportError:
        raise InputError(
            "training.lora: needs peft; install it with: pip install 'exparity[lora]'"
        ) from None
    settings: dict[str, Any] = {"r": lora["rank"], "lora_alpha": lora.get("alpha", _ALPHA)}
    settings |= {"target_modules": "all-linear", "lora_dropout": 0.0, "bias": "none"}
    # GPT-2 keeps the weights of its layers transposed.
    settings["fan_in_fan_out"] = any(type(m).__name__ == "Conv1D" for m in model.modules())
    return LoraModel(model, LoraConfig(**settings), "default")


def merge_adapters(tuned: Any) -> PreTrainedModel:
    """Add what adapters learnt to the weights, in float32, and return the plain model."""
    merged: PreTrainedModel = tuned.float().merge_and_unload()
    merged.requires_grad_(True)
    return merged
