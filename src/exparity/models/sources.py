"""The user's own files that a model is made from."""

from __future__ import annotations

from pathlib import Path

from exparity.models.functions import source_of
from exparity.models.lora import is_adapter, read_adapter
from exparity.models.spec import ModelSpec


def own_sources(spec: ModelSpec) -> list[str]:
    """Return the folders of a checkpoint, its adapter and its base, or the file of a function."""
    if spec.predict is not None:
        return [str(source_of(spec.predict))]
    given = spec.checkpoint and Path(spec.checkpoint)
    base = (
        read_adapter(given).get("base_model_name_or_path") if given and is_adapter(given) else None
    )
    return [p for p in (spec.checkpoint, spec.adapter, base) if p and Path(p).is_dir()]
