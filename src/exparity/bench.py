"""Measurements of the engine against the bare model and the machine's matrix products.

Ratios of one run count; absolute times are those of one machine at one moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from exparity.errors import InputError

if TYPE_CHECKING:
    from exparity.engine.classifier import Classifier

_REPEATS = 5
_PRODUCT = 1536


@dataclass(frozen=True)
class Measurement:
    """One line of the benchmark: tokens a second, and their ratio to the bare loop's."""

    work: str
    tokens_per_second: float
    ratio_to_bare: float
    gemm_share: float


def bench(
    checkpoint: Path,
    *,
    device: str = "auto",
    length: int = 32,
    examples: int = 512,
    output: Path | None = None,
) -> list[Measurement]:
    """Measure forward and gradient work of the engine, and print a table.

    The bare loop runs the model on equal-length batches of the engine's token budget, without
    padding, planning or copying: what the engine cannot exceed. The machine's rate is that of a
    large float32 matrix product.

    Args:
        checkpoint: folder of a classifier.
        device: where to run.
        length: tokens of each text.
        examples: number of texts.
        output: Parquet file to write as well.

    Returns:
        One measurement per kind of work.

    Raises:
        InputError: a length that the model does not take.
    """
    from exparity.engine import load_classifier

    classifier = load_classifier(str(checkpoint), device)
    if not 2 <= length <= classifier.max_length:
        raise InputError(f"--length {length}: the model takes 2 to {classifier.max_length} tokens")
    rng = np.random.default_rng(0)
    size = classifier.model.get_input_embeddings().weight.shape[0]
    ids = rng.integers(0, size, (examples, length))
    flops = 2 * sum(
        p.numel() for n, p in classifier.model.named_parameters() if "embed" not in n and p.ndim > 1
    )
    works: list[tuple[str, Callable[[], None], int]] = [
        ("bare forward", lambda: _bare(classifier, ids, gradient=False), 1),
        ("engine forward", lambda: _engine_forward(classifier, ids), 1),
        ("bare forward + backward", lambda: _bare(classifier, ids, gradient=True), 2),
        ("engine gradient", lambda: _engine_gradient(classifier, ids), 2),
    ]
    runs = {name: run for name, run, _ in works}
    seconds = _shortest({**runs, "product": lambda: _product(classifier)})
    rates = {name: ids.size / seconds[name] for name in runs}
    gemm = 2 * _PRODUCT**3 / seconds["product"]
    found = [
        Measurement(
            name,
            rates[name],
            rates[name] / rates["bare forward" if passes == 1 else "bare forward + backward"],
            rates[name] * passes * flops / gemm,
        )
        for name, _, passes in works
    ]
    print(f"{classifier.device}, {gemm / 1e9:.0f} GFLOP/s in a matrix product")
    print(f"{'work':<26}{'tokens/s':>12}{'of bare':>10}{'of matrix product':>20}")
    for m in found:
        print(
            f"{m.work:<26}{m.tokens_per_second:>12,.0f}{m.ratio_to_bare:>10.2f}{m.gemm_share:>20.2f}"
        )
    if output is not None:
        _write(output, found)
    return found


def _write(output: Path, found: Sequence[Measurement]) -> None:
    from dataclasses import asdict

    import pyarrow as pa
    import pyarrow.parquet as pq

    from exparity.artifacts import atomic_path

    with atomic_path(output) as temporary:
        pq.write_table(pa.Table.from_pylist([asdict(m) for m in found]), temporary)


def _synchronise(classifier: Classifier) -> None:
    import torch

    if classifier.device.type == "cuda":
        torch.cuda.synchronize(classifier.device)


def _shortest(runs: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Return the shortest time of each run, in seconds.

    They take turns after one round that warms up, so that a machine whose speed drifts slows all
    of them, and the ratios hold.
    """
    best = dict.fromkeys(runs, float("inf"))
    for round_ in range(_REPEATS + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if round_:
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def _product(classifier: Classifier) -> None:
    """Multiply two large square matrices in float32: what the machine can do at best."""
    import torch

    a = torch.ones(_PRODUCT, _PRODUCT, device=classifier.device)
    torch.mm(a, a)
    _synchronise(classifier)


def _bare(classifier: Classifier, ids: np.ndarray, *, gradient: bool) -> None:
    import torch

    from exparity.engine.classifier import GRADIENT_SHARE

    budget = classifier.token_budget // (GRADIENT_SHARE if gradient else 1)
    step = max(1, budget // ids.shape[1])
    for first in range(0, len(ids), step):
        rows = classifier.embed(ids[first : first + step])
        lengths = [ids.shape[1]] * len(rows)
        if gradient:
            rows.requires_grad_(True)
            torch.autograd.grad(classifier.logits(rows, lengths).sum(), rows)
        else:
            with torch.inference_mode():
                classifier.logits(rows, lengths)
    _synchronise(classifier)


def _engine_forward(classifier: Classifier, ids: np.ndarray) -> None:
    classifier.probabilities(list(ids))


def _engine_gradient(classifier: Classifier, ids: np.ndarray) -> None:
    from exparity.engine.classifier import padded

    inputs = [classifier.embed(row) for row in ids]
    targets = np.zeros(len(ids), dtype=np.int64)
    lengths = [ids.shape[1]] * len(ids)
    classifier.input_gradients(lengths, padded(inputs), targets, lambda *_: None)
    _synchronise(classifier)
