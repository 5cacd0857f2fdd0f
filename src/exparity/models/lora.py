"""Adapters of low rank (Hu et al. 2022, arXiv:2106.09685), trained in place of the weights."""

from __future__ import annotations

import filecmp
import json
import logging
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from exparity.core.errors import InputError, reason_of
from exparity.models.lookup import not_finite

if TYPE_CHECKING:
    from peft import PeftModel
    from peft.tuners.lora import LoraModel
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)

_ALPHA = 16
ADAPTER_SETTINGS, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_BASE = "base_model_name_or_path"
_MATCHED = ("target_modules", "exclude_modules", "layers_pattern", "rank_pattern", "alpha_pattern")
"""Settings that peft reads as regular expressions, which could take forever to match."""


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter and no model."""
    return (folder / ADAPTER_SETTINGS).is_file() and not (folder / "config.json").is_file()


def read_adapter(folder: Path) -> dict[str, Any]:
    """Return the settings of an adapter of low rank; refuse patterns and other formats."""
    try:
        text = (folder / ADAPTER_SETTINGS).read_text(encoding="utf-8-sig")
        settings: dict[str, Any] = json.loads(text)
        kind = settings["peft_type"]
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"adapter {folder}: has no {ADAPTER_SETTINGS} as peft writes it") from None
    if kind != "LORA":
        raise InputError(f"adapter {folder}: is of type {kind}; take one of type LORA")
    if not (folder / _WEIGHTS).is_file():
        raise InputError(f"adapter {folder}: has no {_WEIGHTS}; save it with save_pretrained")
    for key in _MATCHED:
        names = settings.get(key) or ()
        for name in [names] if isinstance(names, str) else names:
            if not re.fullmatch(r"\^?[\w.-]+", name):
                raise InputError(
                    f"adapter {folder}: {key} in {ADAPTER_SETTINGS} has a pattern, {name!r}; write "
                    "the names of the layers"
                )
    return settings


def base_of(folder: Path) -> tuple[str, str | None]:
    """Return the folder or Hub id, and revision, of the model that an adapter was trained on."""
    settings = read_adapter(folder)
    if not settings.get(_BASE):
        raise InputError(
            f"checkpoint {folder}: is an adapter that names no base; write the model of its "
            f"training as {_BASE} into {ADAPTER_SETTINGS}"
        )
    return settings[_BASE], settings.get("revision")


def with_base(
    name: str, revision: str | None = None, adapter: Path | None = None
) -> tuple[str, str | None, Path | None]:
    """Return a checkpoint, its revision and its adapter; those of an adapter's folder itself."""
    folder = Path(name)
    return (*base_of(folder), folder) if is_adapter(folder) else (name, revision, adapter)


def check_base(folder: Path, checkpoint: str) -> None:
    """Refuse a checkpoint that is not the model that an adapter was trained on.

    Log a warning if the two names cannot be compared.
    """
    base = read_adapter(folder).get(_BASE)
    if not base or base == checkpoint:
        return
    model = Path(checkpoint)
    trained_on = Path(base)
    if model.is_dir() and trained_on.is_dir():
        names = {path.name for path in trained_on.glob("*.safetensors")}
        names_here = {path.name for path in model.glob("*.safetensors")}
        if names == names_here and not any(filecmp.cmpfiles(trained_on, model, names, False)[1:]):
            return
    elif model.is_dir() or base.startswith((".", "/", "~")):
        unknown = "was trained on %s; nothing here tells whether %s is the same model"
        log.warning("adapter %s: " + unknown, folder, base, checkpoint)
        return
    raise InputError(
        f"adapter {folder}: was trained on {base}, and the checkpoint is {checkpoint}; take "
        f"that one as checkpoint, or correct {_BASE} in its {ADAPTER_SETTINGS}"
    )


def replaced_weights(folder: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the tensors that an adapter puts in place of those of its base."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / _WEIGHTS, framework="np") as file:
            return {
                name.removeprefix("base_model.model."): tuple(file.get_slice(name).get_shape())
                for name in file.keys()  # noqa: SIM118  (it is no mapping)
                if ".lora_" not in name
            }
    except SafetensorError as error:
        raise InputError(
            f"adapter {folder}: {_WEIGHTS} is damaged ({error}); copy or save it again"
        ) from None


def with_adapter(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a model with a saved adapter of low rank merged into its weights.

    Tensors that were saved whole, such as those of a trained head, replace the model's.
    """
    import peft

    dtype = model.dtype
    # megatron_config would have peft import a module that the adapter names
    settings = {**read_adapter(folder), "megatron_config": None}
    try:
        with warnings.catch_warnings(action="ignore"):
            tuned = peft.get_peft_model(model, peft.LoraConfig(**settings))
            report = tuned.load_adapter(folder, "default", torch_device="cpu")
            merged = merge_adapters(tuned)
    except Exception as error:
        raise InputError(
            f"adapter {folder}: peft {peft.__version__} cannot merge it into {model.name_or_path}: "
            f"{type(error).__name__}: {reason_of(error)}"
        ) from error
    if strays := [*report.missing_keys, *report.unexpected_keys]:
        raise InputError(
            f"adapter {folder}: is of another model than {model.name_or_path}: {strays[0]} is of "
            "one alone; take the model of its training"
        )
    if not_finite(merged):
        raise InputError(f"adapter {folder}: holds values that are not finite")
    in_dtype: PreTrainedModel = merged.to(dtype)  # type: ignore[arg-type]  # torch's own stub
    return in_dtype


def add_adapters(model: PreTrainedModel, lora: Mapping[str, int]) -> LoraModel:
    """Put adapters into all linear layers but the output, in place; only they are trained.

    The second matrix of each starts at zero, so that an untrained adapter changes nothing. The
    first comes from torch's current generator. Their product is scaled by alpha / rank.
    :func:`merge_adapters` takes the result.
    """
    from peft import LoraConfig
    from peft.tuners.lora import LoraModel

    settings = LoraConfig(
        r=lora["rank"],
        lora_alpha=lora.get("alpha", _ALPHA),
        target_modules="all-linear",
        lora_dropout=0.0,
        bias="none",
    )
    with warnings.catch_warnings(action="ignore"):  # of layers that are kept transposed, GPT-2's
        return LoraModel(model, settings, "default")


def merge_adapters(tuned: LoraModel | PeftModel) -> PreTrainedModel:
    """Add what adapters learnt to the weights, in float32, and return the plain model."""
    tuned.float()
    merged = cast("PreTrainedModel", tuned.merge_and_unload())
    merged.requires_grad_(True)
    return merged
