"""Adapters of low rank (Hu et al. 2022, arXiv:2106.09685), trained in place of the weights."""

from __future__ import annotations

import filecmp
import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exparity.core.errors import InputError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)

_ALPHA = 16
ADAPTER_SETTINGS, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_LOW_RANK = re.compile(
    r"(?P<module>.+)\.lora_(?P<matrix>A|B|embedding_A|embedding_B|magnitude_vector)"
    r"(?P<kind>\.weight|\.bias|)"
)
_PREFIX = "base_model.model."
_SCALE = frozenset({"r", "lora_alpha", "alpha_pattern", "use_rslora", "use_dora", "lora_bias"})
_WITHOUT_EFFECT = frozenset(
    (
        # what the names and shapes of the weights say as well, without patterns to be matched
        *("target_modules", "exclude_modules", "layers_to_transform", "layers_pattern"),
        *("modules_to_save", "rank_pattern", "bias", "fan_in_fan_out"),
        # of training alone, or of who saved it
        *("lora_dropout", "inference_mode", "auto_mapping", "base_model_name_or_path", "revision"),
        *("task_type", "peft_type", "peft_version", "megatron_core", "runtime_config"),
        *("loftq_config", "eva_config", "corda_config", "lora_ga_config", "qalora_group_size"),
        "ensure_weight_tying",
    )
)
_KEPT_BASE = (True, False, "gaussian", "orthogonal", "eva")
"""Values of init_lora_weights under which the weights of the base stay as they were."""


@dataclass(frozen=True)
class Adapter:
    """A saved adapter, of which no weight is read yet.

    Attributes:
        folder: where it is.
        settings: entries of its adapter_config.json.
        shapes: of its tensors, by their names in the model without adapters.
    """

    folder: Path
    settings: Mapping[str, Any]
    shapes: Mapping[str, tuple[int, ...]]

    @property
    def modules(self) -> dict[str, tuple[int, int, int]]:
        """Rank, inputs and outputs of each layer with an adapter, by the layer's name."""
        pairs: dict[str, dict[str, tuple[int, ...]]] = {}
        for name, shape in self.shapes.items():
            if (part := _LOW_RANK.fullmatch(name)) and part["kind"] != ".bias":
                pairs.setdefault(part["module"], {})[part["matrix"][-1]] = shape
        found = {}
        for module, pair in pairs.items():
            first, second = pair.get("A", ()), pair.get("B", ())
            if not (len(first) == len(second) == 2 and first[0] == second[1]):
                raise InputError(
                    f"{self.name}: the two matrices of {module} are not a product of low rank; "
                    "save it again"
                )
            found[module] = (first[0], first[1], second[0])
        return found

    @property
    def whole(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the tensors that replace those of the base, such as a trained head's."""
        return {n: shape for n, shape in self.shapes.items() if not _LOW_RANK.fullmatch(n)}

    @property
    def name(self) -> str:
        """Its name in messages."""
        return f"adapter {self.folder}"

    @property
    def base(self) -> str | None:
        """Folder or Hub id of the model that it was trained on, as peft wrote it down."""
        return self.settings.get("base_model_name_or_path") or None

    @property
    def source(self) -> tuple[str, str | None]:
        """Folder or Hub id, and revision, of the model that it was trained on."""
        if self.base is None:
            raise InputError(
                f"checkpoint {self.folder}: is an adapter that names no base; write the model of "
                f"its training as base_model_name_or_path into {ADAPTER_SETTINGS}"
            )
        return self.base, self.settings.get("revision")

    def alpha(self, module: str) -> float:
        """Return the numerator of the scale of a layer's product."""
        for key, value in (self.settings.get("alpha_pattern") or {}).items():
            exact = key.removeprefix("^")
            if module == exact or (exact == key and module.endswith(f".{key}")):
                return float(value)
        return float(self.settings["lora_alpha"])

    def check_fits(self, model: PreTrainedModel) -> None:
        """Refuse a model, on the meta device say, without the layers of the adapter."""
        weights = model.state_dict()
        for module, (_, inputs, outputs) in self.modules.items():
            weight = weights.get(f"{module}.weight")
            shape = () if weight is None else tuple(weight.shape)
            if sorted(shape) != sorted((inputs, outputs)):
                raise self._foreign(module, (outputs, inputs), shape)
        for name, wanted in self.whole.items():
            shape = tuple(weights[name].shape) if name in weights else ()
            if shape != wanted:
                raise self._foreign(name, wanted, shape)

    def _foreign(self, name: str, own: tuple[int, ...], theirs: tuple[int, ...]) -> InputError:
        held = "lacks it" if not theirs else f"has {' × '.join(map(str, theirs))}"
        trained = (
            f"it was trained on {self.base}" if self.base else "take the model of its training"
        )
        return InputError(
            f"{self.name}: is of another model: it changes {name} of {' × '.join(map(str, own))}, "
            f"and the checkpoint {held}; {trained}"
        )

    def check_base(self, checkpoint: str) -> None:
        """Refuse a checkpoint that is not the model that the adapter was trained on.

        Where the two names cannot be compared, a warning says so.
        """
        if self.base is None or self.base == checkpoint:
            return
        given, own = Path(checkpoint), Path(self.base)
        if given.is_dir() and own.is_dir():
            same = own.samefile(given) or _same_weights(own, given)
        elif given.is_dir() or own.is_absolute() or self.base.startswith((".", "~")):
            log.warning(
                "%s: was trained on %s; nothing here tells whether %s is the same model",
                self.name,
                self.base,
                checkpoint,
            )
            return
        else:
            same = False
        if not same:
            raise InputError(
                f"{self.name}: was trained on {self.base}, and the checkpoint is {checkpoint}; "
                "take that one as checkpoint, or correct base_model_name_or_path in its "
                f"{ADAPTER_SETTINGS}"
            )


def _same_weights(one: Path, other: Path) -> bool:
    names = [{path.name for path in folder.glob("*.safetensors")} for folder in (one, other)]
    return names[0] == names[1] and not any(filecmp.cmpfiles(one, other, names[0], False)[1:])


def is_adapter(folder: Path) -> bool:
    """Return whether a folder holds an adapter and no model."""
    return (folder / ADAPTER_SETTINGS).is_file() and not (folder / "config.json").is_file()


def read_adapter(folder: Path) -> Adapter:
    """Return what a folder with an adapter of low rank in safetensors says of itself."""
    try:
        text = (folder / ADAPTER_SETTINGS).read_text(encoding="utf-8-sig")
        settings: dict[str, Any] = json.loads(text)
        kind = settings["peft_type"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"adapter {folder}: has no {ADAPTER_SETTINGS} as peft writes it") from None
    if kind != "LORA":
        raise InputError(f"adapter {folder}: is of type {kind}; take one of type LORA")
    _check_settings(f"adapter {folder}: {ADAPTER_SETTINGS}", settings)
    adapter = Adapter(folder, settings, _shapes(folder))
    if not adapter.modules:
        raise InputError(f"adapter {folder}: {_WEIGHTS} holds no matrices of low rank")
    return adapter


def _check_settings(where: str, settings: Mapping[str, Any]) -> None:
    known = _SCALE | _WITHOUT_EFFECT
    for key, value in settings.items():
        ignored = key in known or not value
        if key == "init_lora_weights":
            ignored = value in _KEPT_BASE
        if not ignored:
            raise InputError(
                f"{where}: {key} {value!r} is not known here; merge the adapter with peft "
                "(merge_and_unload) and save the model"
            )
    alphas = settings.get("alpha_pattern") or {}
    if not isinstance(alphas, dict) or not all(re.fullmatch(r"\^?[\w.]+", key) for key in alphas):
        raise InputError(f"{where}: alpha_pattern has a pattern; write names of layers")
    for value in (settings.get("lora_alpha"), *alphas.values()):
        if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e9:
            raise InputError(f"{where}: lora_alpha {value!r} is not a number")
    base = settings.get("base_model_name_or_path")
    if not isinstance(base, str | None):
        raise InputError(f"{where}: base_model_name_or_path {base!r} is not a name")


def _shapes(folder: Path) -> dict[str, tuple[int, ...]]:
    from safetensors import SafetensorError, safe_open

    path = folder / _WEIGHTS
    if not path.is_file():
        raise InputError(f"adapter {folder}: has no {_WEIGHTS}; save it with save_pretrained")
    shapes = {}
    try:
        with safe_open(path, framework="np") as file:
            for name in file.keys():  # noqa: SIM118  (it is no mapping)
                tensor = file.get_slice(name)
                if not name.startswith(_PREFIX) or not tensor.get_dtype().startswith(("F", "BF")):
                    raise InputError(f"adapter {folder}: {name} is no weight that peft has saved")
                shapes[_plain(name)] = tuple(tensor.get_shape())
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"adapter {folder}: {_WEIGHTS} is damaged ({error}); copy or save it again"
        ) from None
    return shapes


def _plain(name: str) -> str:
    """Return a tensor's name in the model without adapters."""
    return re.sub(r"\.(modules_to_save(\.default)?|base_layer)\b", "", name.removeprefix(_PREFIX))


def with_adapter(model: PreTrainedModel, folder: Path) -> PreTrainedModel:
    """Return a model with a saved adapter of low rank merged into its weights.

    Tensors that were saved whole, such as a trained head's, replace those of the model.
    """
    from safetensors.torch import load_file

    adapter = read_adapter(folder)
    adapter.check_fits(model)
    config, tuner = _peft(adapter.name)
    weights = {_plain(name): w for name, w in load_file(folder / _WEIGHTS).items()}
    for name, weight in weights.items():
        if not weight.isfinite().all():
            raise InputError(f"{adapter.name}: {name} holds values that are not finite")
    model.load_state_dict({name: weights[name] for name in adapter.whole}, strict=False)
    # Patterns of its settings are never matched, which could take for ever: names decide.
    modules = adapter.modules
    options = {
        "r": max(rank for rank, *_ in modules.values()),
        "lora_alpha": adapter.settings["lora_alpha"],
        "rank_pattern": {re.escape(name): rank for name, (rank, *_) in modules.items()},
        "alpha_pattern": {re.escape(name): adapter.alpha(name) for name in modules},
        "target_modules": list(modules),
        "fan_in_fan_out": _is_transposed(model),
        "init_lora_weights": False,
        "inference_mode": True,
        **{key: bool(adapter.settings.get(key)) for key in ("use_rslora", "use_dora", "lora_bias")},
    }
    tuned = tuner(model, config(**options), "default")
    held = {
        _named_by_peft(name): weight
        for name, weight in weights.items()
        if name not in adapter.whole
    }
    known = {name for name in tuned.state_dict() if "lora_" in name}
    if strays := sorted(known ^ held.keys()):
        raise InputError(f"{adapter.name}: does not fit its settings: {strays[0]} is of one alone")
    tuned.load_state_dict(held, strict=False)
    dtype: Any = model.dtype
    merged: PreTrainedModel = merge_adapters(tuned).to(dtype)
    return merged


def _named_by_peft(name: str) -> str:
    """Return the name of a low-rank weight within peft's model."""
    named = re.sub(r"(lora_\w+)", r"\1.default", f"model.{name}")
    return f"{named}.weight" if named.endswith("magnitude_vector.default") else named


def _is_transposed(model: torch.nn.Module) -> bool:
    """Return whether the layers of a model are kept transposed, as GPT-2's are."""
    return any(type(module).__name__ == "Conv1D" for module in model.modules())


def add_adapters(model: PreTrainedModel, lora: Mapping[str, int]) -> Any:
    """Put adapters into all linear layers but the output, in place; only they are trained.

    The second matrix of each starts at zero, so that the model stays what it is until it is
    trained. The first comes from torch's current generator. Their product is scaled by
    alpha / rank. :func:`merge_adapters` takes what is returned.
    """
    config, tuner = _peft("training.lora")
    settings: dict[str, Any] = {"r": lora["rank"], "lora_alpha": lora.get("alpha", _ALPHA)}
    settings |= {"target_modules": "all-linear", "lora_dropout": 0.0, "bias": "none"}
    settings["fan_in_fan_out"] = _is_transposed(model)
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
