"""Adapters of low rank (Hu et al. 2022, arXiv:2106.09685), trained in place of the weights."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_ALPHA = 16
_SETTINGS, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def check_adapter(folder: Path) -> dict[str, Any]:
    """Return the settings of a folder with an adapter of low rank in safetensors."""
    try:
        settings: dict[str, Any] = json.loads((folder / _SETTINGS).read_text(encoding="utf-8"))
        kind = settings["peft_type"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"adapter {folder}: has no {_SETTINGS} as peft writes it") from None
    if kind != "LORA":
        raise InputError(f"adapter {folder}: is of type {kind}; take one of type LORA")
    if not (folder / _WEIGHTS).is_file():
        raise InputError(f"adapter {folder}: has no {_WEIGHTS}; save it with save_pretrained")
    return {**settings, "inference_mode": True}


def with_adapter(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a model with a saved adapter of low rank merged into its weights."""
    from safetensors.torch import load_file

    settings = check_adapter(folder)
    config, tuner = _peft(f"adapter {folder}")
    held = {
        re.sub(r"(lora_\w+)", r"\1.default", name.removeprefix("base_model.")): weight
        for name, weight in load_file(folder / _WEIGHTS).items()
    }
    try:
        tuned = tuner(model, config(**settings), "default")
        known = {name for name in tuned.state_dict() if "lora_" in name}
        if known != held.keys():
            raise ValueError(f"{len(held.keys() ^ known)} weights are of one of the two alone")
        tuned.load_state_dict(held, strict=False)
    except (ValueError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"adapter {folder}: does not fit the checkpoint: {reason}") from error
    return merge_adapters(tuned)


def add_adapters(model: PreTrainedModel, lora: Mapping[str, int]) -> Any:
    """Put adapters into all linear layers but the output, in place; only they are trained.

    The second matrix of each starts at zero, so that the model stays what it is until it is
    trained. The first comes from torch's current generator.

    Args:
        model: what is tuned.
        lora: ``rank`` of the adapters, and ``alpha``: their product is scaled by alpha / rank.

    Returns:
        What :func:`merge_adapters` takes.
    """
    config, tuner = _peft("training.lora")
    settings: dict[str, Any] = {"r": lora["rank"], "lora_alpha": lora.get("alpha", _ALPHA)}
    settings |= {"target_modules": "all-linear", "lora_dropout": 0.0, "bias": "none"}
    # GPT-2 keeps the weights of its layers transposed.
    settings["fan_in_fan_out"] = any(type(m).__name__ == "Conv1D" for m in model.modules())
    return tuner(model, config(**settings), "default")


def _peft(where: str) -> tuple[Any, Any]:
    """Return peft's settings and its model of low rank; names ``where`` if it is not installed."""
    try:
        from peft import LoraConfig
        from peft.tuners.lora import LoraModel
    except ImportError:
        raise InputError(
            f"{where}: needs peft; install it with: pip install 'exparity[lora]'"
        ) from None
    return LoraConfig, LoraModel


def merge_adapters(tuned: Any) -> PreTrainedModel:
    """Add what adapters learnt to the weights, in float32, and return the plain model."""
    merged: PreTrainedModel = tuned.float().merge_and_unload()
    merged.requires_grad_(True)
    return merged
