"""Measurements of the engine against the bare model and the machine's matrix products.

Ratios of one run count; absolute times are those of one machine at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from exparity.artefacts.files import save_parquet
from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import Device, Folder, Output, Precision, TokenBudget
from exparity.tools.bench.measurements import (
    Row,
    Setup,
    measure_engine,
    measure_scaling,
    measure_sensitivity,
)

PARTS: Mapping[str, Callable[[Setup], Iterator[Row]]] = {
    "engine": measure_engine,
    "scaling": measure_scaling,
    "sensitivity": measure_sensitivity,
}
_HIDDEN = ("device", "threads")


def bench(
    checkpoint: Folder,
    *,
    parts: Sequence[Literal["engine", "scaling", "sensitivity"]] = ("engine",),
    device: Device = "auto",
    threads: int | None = None,
    token_budget: TokenBudget = None,
    precisions: Sequence[Precision] = ("fp32",),
    length: int = 32,
    examples: int = 512,
    output: Output | None = None,
) -> list[Row]:
    """Measure the engine against the bare model, and print a Markdown table for every part.

    Args:
        checkpoint: folder of a classifier.
        parts: ``engine`` (rates of forward, perturbation and gradient work against a bare loop),
            ``scaling`` (over batches, lengths and numbers of texts) and ``sensitivity`` (cost per
            text and method against its bound).
        device: ``auto``, ``cpu`` or ``cuda:N``.
        threads: CPU threads of one operation; torch's choice if None.
        token_budget: padded tokens per batch; by device if None.
        precisions: arithmetic, one or both.
        length: tokens of each text.
        examples: number of texts.
        output: folder for one Parquet file a part; none is written if None.

    Returns:
        All rows.

    Raises:
        InputError: an unknown part, or a length that the model does not take.
    """
    from exparity.core.device import make_repeatable
    from exparity.engine.classifier import load_classifier

    for part in parts:
        if part not in PARTS:
            raise InputError(f"--parts {part}: choose from {', '.join(PARTS)}")
    make_repeatable(threads)
    measurements: list[Row] = []
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
        say(f"\n{part}: {checkpoint}, {rows[0]['device']}, {rows[0]['threads']} threads\n")
        say(markdown(rows), flush=True)
        if output is not None:
            save_parquet(output / f"{part}.parquet", pa.Table.from_pylist(rows), {})
        measurements += rows
    return measurements


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
