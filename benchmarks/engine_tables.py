"""Measurements of the engine against the bare model and the machine's matrix products.

Ratios of one run count; absolute times are those of one machine at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from measurements import (
    Row,
    Setup,
    measure_engine,
    measure_scaling,
    measure_sensitivity,
)

from exparity.artefacts.files import save_parquet
from exparity.core.device import make_repeatable
from exparity.core.errors import InputError
from exparity.engine.classifier import load_classifier

PARTS: Mapping[str, Callable[[Setup], Iterator[Row]]] = {
    "engine": measure_engine,
    "scaling": measure_scaling,
    "sensitivity": measure_sensitivity,
}
_HIDDEN = ("device", "threads")


def bench(
    checkpoint: Path,
    *,
    parts: Sequence[str] = ("engine",),
    device: str = "auto",
    threads: int | None = None,
    token_budget: int | None = None,
    precisions: Sequence[str] = ("fp32",),
    length: int = 32,
    examples: int = 512,
    output: Path | None = None,
) -> None:
    """Measure the engine against the bare model, and print a Markdown table for every part.

    Args:
        checkpoint: folder of a classifier.
        parts: ids of ``PARTS``.
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; torch's choice if None.
        token_budget: padded tokens per batch; by device if None.
        precisions: ``fp32``, ``bf16``, ``fp16``.
        length: tokens of each text.
        examples: number of texts.
        output: folder for one Parquet file a part; none is written if None.

    Raises:
        InputError: a length that the model does not take.
    """
    make_repeatable(threads or torch.get_num_threads())
    for part in parts:
        rows: list[Row] = []
        for precision in precisions:
            options: dict[str, Any] = {"device": device, "precision": precision}
            options["token_budget"] = token_budget
            classifier = load_classifier(str(checkpoint), **options)
            limit = classifier.max_length
            if not 2 <= length <= limit:
                raise InputError(f"--length {length}: the model takes 2 to {limit} tokens")
            rows += PARTS[part](Setup(classifier, checkpoint, options, length, examples))
        print(f"\n{part}: {checkpoint}, {rows[0]['device']}, {rows[0]['threads']} threads\n")
        print(markdown(rows), flush=True)
        if output is not None:
            save_parquet(output / f"{part}.parquet", pa.Table.from_pylist(rows), {})


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def markdown(rows: Sequence[Row]) -> str:
    """Return rows as a Markdown table."""
    names = [name for name in rows[0] if name not in _HIDDEN]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|" + "|".join("---" for _ in names) + "|")
    lines += ["| " + " | ".join(_cell(row.get(name)) for name in names) + " |" for row in rows]
    return "\n".join(lines)
