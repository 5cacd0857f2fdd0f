"""Models that accelerate spreads over devices: layers on several GPUs, on the CPU and on disk."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from exparity.core.errors import InputError, shown

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

STRATEGIES = ("auto", "balanced", "balanced_low_0", "sequential")
"""Ways in which accelerate fills devices, as transformers names them."""
_SHARD = "2GB"
"""Weights of a spread model that are in memory at once while it is saved."""
_AMOUNT = re.compile(r"([^=\s]+)=(\d+(?:\.\d+)?[KMGT]i?B)")


@dataclass(frozen=True)
class Placement:
    """Where the weights of a model go.

    Attributes:
        device_map: one of :data:`STRATEGIES`, or the device of each module by its name: ``cpu``,
            ``disk``, or the number of a GPU.
        max_memory: most memory that weights take, by device; what is free if None.
    """

    device_map: str | Mapping[str, str | int]
    max_memory: Mapping[str | int, str] | None = None

    @classmethod
    def read(
        cls, device_map: str | Mapping[str, str | int] | None, max_memory: str | None
    ) -> Placement | None:
        """Return the placement that two arguments describe; None without a map.

        Args:
            device_map: a strategy, or a mapping, also as JSON.
            max_memory: amounts such as ``0=14GiB,cpu=60GiB``.

        Raises:
            InputError: either is something else, or amounts are given without a map.
        """
        if device_map is None:
            if max_memory is not None:
                raise InputError("max_memory: is for models with a device_map, such as auto")
            return None
        if isinstance(device_map, str) and device_map.lstrip().startswith("{"):
            try:
                device_map = json.loads(device_map)
            except ValueError:
                _refuse_map(device_map)
        is_known = device_map in STRATEGIES if isinstance(device_map, str) else bool(device_map)
        if not is_known:
            _refuse_map(device_map)
        return cls(device_map, None if max_memory is None else _amounts(max_memory))

    @property
    def arguments(self) -> dict[str, object]:
        """Arguments of transformers' ``from_pretrained``."""
        return {"device_map": self.device_map, "max_memory": self.max_memory}


def _refuse_map(device_map: object) -> NoReturn:
    raise InputError(
        f"device_map {shown(device_map)}: use {', '.join(STRATEGIES)}, or a device for each "
        'module, such as {"bert.embeddings": 0, "bert.encoder": "cpu", "": "disk"}'
    )


def _amounts(text: str) -> dict[str | int, str]:
    """Return amounts of memory by device, with the numbers of GPUs as numbers."""
    amounts: dict[str | int, str] = {}
    for part in text.split(","):
        match = _AMOUNT.fullmatch(part.strip())
        if match is None:
            raise InputError(
                f"max_memory '{text}': write amounts by device, such as 0=14GiB,cpu=60GiB"
            )
        device, amount = match.groups()
        amounts[int(device) if device.isdecimal() else device] = amount
    return amounts


def is_spread(model: torch.nn.Module) -> bool:
    """Return whether accelerate moves the weights or the inputs of a model's parts."""
    return any(hasattr(module, "_hf_hook") for module in model.modules())


def require_whole(model: PreTrainedModel, what: str) -> None:
    """Refuse a model that is spread over devices for something that needs all weights at hand."""
    if is_spread(model):
        raise InputError(
            f"{what}: needs all weights on one device, and {model.config.name_or_path} is spread "
            "over devices (device_map); load it on one, or leave this out"
        )


def without_gradients(model: torch.nn.Module) -> AbstractContextManager[None]:
    """Compute without gradients; weights that come and go must not stay tensors of inference."""
    import torch

    return torch.no_grad() if is_spread(model) else torch.inference_mode()


def save_weights(model: PreTrainedModel, folder: Path) -> None:
    """Save a model, also one whose weights do not fit into memory together."""
    if not is_spread(model):
        model.save_pretrained(folder)
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Attempting to save a model with offloaded modules")
        model.save_pretrained(folder, max_shard_size=_SHARD)


def main_device(model: object) -> torch.device:
    """Return the device that the inputs of a model go to: the first GPU that holds a part of it."""
    import torch

    places = getattr(model, "hf_device_map", {}).values()
    for place in places:
        device = torch.device("cuda", place) if isinstance(place, int) else place
        if str(device).startswith("cuda"):
            return torch.device(device)
    return torch.device("cpu")


@contextmanager
def present(module: torch.nn.Module) -> Iterator[None]:
    """Within the context, the weights of a module are there, also those that accelerate holds."""
    from accelerate.utils import align_module_device

    with align_module_device(module):
        yield


def state_of(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield names and values of all weights of a model; those held elsewhere one module at a time.

    A value may be gone once the next one is asked for.
    """
    if not is_spread(model):
        yield from model.state_dict().items()
        return
    for prefix, module in model.named_modules():
        with present(module):
            for name, weight in module.named_parameters(recurse=False):
                yield f"{prefix}.{name}".lstrip("."), weight.detach()
