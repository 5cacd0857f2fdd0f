"""Models that are known by id: where they come from, their shape, size and training.

The ids are those of the published studies: Dhaini et al. 2025, and the training schemes of
GECOBench (Wilming et al. 2024). An entry of a config starts from the model that its id or its
``use`` names, and every key that it sets itself wins.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from exparity.core.errors import require_known
from exparity.core.strict import read_yaml
from exparity.core.validation import read_settings
from exparity.models.spec import ModelSpec
from exparity.resources import resource


@dataclass(frozen=True)
class KnownModel:
    """One model of the catalogue.

    Attributes:
        model_id: its id.
        checkpoint: Hub repository of its weights, or of its tokenizer and shape.
        revision: commit or reference of the repository; None where none could be verified.
        init: ``pretrained`` to load the weights, ``scratch`` for random ones.
        architecture: transformers model type.
        shape: entries of its configuration that are not the architecture's defaults, the size of
            the checkpoint's vocabulary included.
        added_tokens: tokens that are added to that vocabulary (padding for GPT-2).
        n_parameters: number of parameters, as published if they are (Dhaini et al. 2025, Table 6).
        tokenizer_only: whether the checkpoint lends its tokenizer, and not its shape.
        scheme: the parts that are trained.
        training: published settings of its training.
        follows_encoder: whether the ``encoder`` of a config replaces the checkpoint.
    """

    model_id: str
    checkpoint: str
    revision: str | None
    architecture: str
    shape: Mapping[str, int | float]
    n_parameters: int
    init: Literal["pretrained", "scratch"] = "pretrained"
    added_tokens: int = 0
    tokenizer_only: bool = False
    scheme: str = "all"
    training: Mapping[str, int | float] = field(default_factory=dict)
    follows_encoder: bool = False

    @property
    def kind(self) -> dict[str, object]:
        """Entries of a ``ModelSpec`` that do not depend on its checkpoint."""
        settings: dict[str, object] = {"init": self.init}
        if self.tokenizer_only:
            settings |= {"architecture": self.architecture, "size": self.size}
        return {**settings, "scheme": self.scheme} if self.scheme != "all" else settings

    @property
    def size(self) -> dict[str, int | float]:
        """Its shape without the vocabulary, which a tokenizer of one's own sets."""
        return {key: value for key, value in self.shape.items() if key != "vocab_size"}


@cache
def known_models() -> Mapping[str, KnownModel]:
    """Return the catalogue by id; it is read when first asked for."""
    catalogue = read_yaml(resource("models.yaml"))
    shapes = catalogue["shapes"]
    return {
        model_id: KnownModel(**{"model_id": model_id, **entry, "shape": shapes[entry["shape"]]})
        for model_id, entry in catalogue["models"].items()
    }


def known_id(model_id: str, use: str | None) -> str | None:
    """Return the id in the catalogue that an entry of a config refers to; None without one."""
    name = use or model_id
    return name if name in known_models() else None


def resolve_model(
    model_id: str, settings: Mapping[str, Any], where: str, encoder: str | None = None
) -> dict[str, Any]:
    """Fill in what an entry of a config leaves to the catalogue.

    - An entry with a ``checkpoint`` takes ``init``, ``scheme`` and ``training`` from the catalogue;
      an entry with an ``architecture`` takes ``init`` alone.
    - A model from scratch with ``vocab_size`` gets the known shape, and a tokenizer trained on the
      training split. Nothing is downloaded.
    """
    written = {key: value for key, value in settings.items() if key != "use"}
    if "use" in settings:
        use = str(settings["use"])
        require_known(use, known_models(), f"{where}.use: unknown model '{use}'")
    name = known_id(model_id, settings.get("use"))
    if name is None:
        return written
    known_model = known_models()[name]
    if "architecture" in written:
        return {"init": known_model.init, **written}
    if known_model.training:
        written["training"] = {**known_model.training, **written.get("training", {})}
    scratch = written.get("init", known_model.init) == "scratch"
    own_tokenizer = scratch and "vocab_size" in written
    if encoder and known_model.follows_encoder and not own_tokenizer:
        written.setdefault("checkpoint", encoder)
    size = {**known_model.size, **written.get("size", {})}
    if "checkpoint" in written:
        return {
            **known_model.kind,
            **written,
            **({"size": size} if known_model.tokenizer_only else {}),
        }
    if own_tokenizer:
        return {
            **known_model.kind,
            "architecture": known_model.architecture,
            **written,
            "size": size,
        }
    revision = {"revision": known_model.revision} if known_model.revision else {}
    return {**known_model.kind, "checkpoint": known_model.checkpoint, **revision, **written}


def known_type(spec: ModelSpec) -> str | None:
    """Return a model's transformers type; None if only the Hub knows it."""
    if spec.architecture:
        return spec.architecture
    settings = Path(str(spec.checkpoint)) / "config.json"
    if settings.is_file():
        model_type = json.loads(settings.read_text(encoding="utf-8-sig")).get("model_type")
        return model_type if isinstance(model_type, str) else None
    models = known_models().values()
    return next((m.architecture for m in models if m.checkpoint == spec.checkpoint), None)


def known_spec(model_id: str) -> ModelSpec:
    """Return the specification of a model of the catalogue."""
    entry = resolve_model(model_id, {}, f"models.{model_id}")
    entry.pop("training", None)
    return read_settings(ModelSpec, entry, f"models.{model_id}")


def describe_models() -> str:
    """Return the catalogue as plain text, as ``exparity list`` prints it."""
    lines = ["models"]
    for model in known_models().values():
        lent = "tokenizer" if model.tokenizer_only else "shape and tokenizer"
        start = f"from scratch, {lent} of " if model.init == "scratch" else ""
        at = f" at {model.revision}" if model.revision else ", no revision pinned"
        lines.append(f"  {model.model_id}")
        lines.append(f"      {start}{model.checkpoint}{at}")
        trained = "" if model.scheme == "all" else f", scheme {model.scheme}"
        lines.append(f"      {model.n_parameters:,} parameters{trained}")
    return "\n".join(lines)
