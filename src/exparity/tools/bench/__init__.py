"""Measurements of the engine against the bare model and the machine's matrix products.

Ratios of one run count; absolute times are those of one machine at one moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from exparity.core.errors import InputError
from exparity.core.escaping import say
from exparity.core.flags import Device, Folder, Output, Precision, TokenBudget
from exparity.tools.bench._table import Row, markdown

PARTS = ("engine", "scaling", "sensitivity")


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
    from exparity.engine import load_classifier
    from exparity.tools.bench.engine import measure_engine
    from exparity.tools.bench.scaling import measure_scaling
    from exparity.tools.bench.sensitivity import measure_sensitivity

    runs: dict[str, Callable[..., list[Row]]] = {
        "engine": measure_engine,
        "scaling": measure_scaling,
        "sensitivity": measure_sensitivity,
    }
    for part in parts:
        if part not in runs:
            raise InputError(f"--parts {part}: choose from {', '.join(runs)}")
    make_repeatable(threads)
    measurements: list[Row] = []
    for part in parts:
        rows: list[Row] = []
        for precision in precisions:
            options: dict[str, Any] = {
                "device": device,
                "precision": precision,
                "token_budget": token_budget,
            }
            classifier = load_classifier(str(checkpoint), **options)
            if not 2 <= length <= classifier.max_length:
                limit = classifier.max_length
                raise InputError(f"--length {length}: the model takes 2 to {limit} tokens")
            rows += runs[part](classifier, checkpoint, options, length=length, examples=examples)
        say(f"\n{part}: {checkpoint}, {rows[0]['device']}, {rows[0]['threads']} threads\n")
        say(markdown(rows), flush=True)
        if output is not None:
            _write(output / f"{part}.parquet", rows)
        measurements += rows
    return measurements


def _write(path: Path, rows: Sequence[Row]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from exparity.artefacts.files import atomic_path

    with atomic_path(path) as temporary:
        pq.write_table(pa.Table.from_pylist(list(rows)), temporary)
