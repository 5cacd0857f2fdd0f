"""Timing work fairly on a machine whose speed drifts, and what it is compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from exparity.types import IntArray

if TYPE_CHECKING:
    import torch

    from exparity.engine.classifier import Classifier

_REPEATS = 5
# Rows of the matrices: a GPU is done with small ones before it is at its full rate.
_PRODUCT = {"cpu": 1536, "cuda": 8192}
Summary = Callable[[Sequence[float]], float]


def synchronise(classifier: Classifier) -> None:
    """Wait for what the device still has to do."""
    import torch

    if classifier.device.type == "cuda":
        torch.cuda.synchronize(classifier.device)


def timed(
    classifier: Classifier,
    runs: Mapping[str, Callable[[], object]],
    repeats: int = _REPEATS,
    summary: Summary = min,
) -> dict[str, float]:
    """Return the time of each run, in seconds; the shortest of the repeats unless told otherwise.

    They take turns after one round that warms up, so that a machine whose speed drifts slows all
    of them, and the ratios hold.
    """
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name, run in runs.items():
            taken = seconds_of(classifier, run)
            if turn:
                seconds[name].append(taken)
    return {name: summary(each) for name, each in seconds.items()}


def seconds_of(classifier: Classifier, run: Callable[[], object]) -> float:
    """Return what one run takes, with what it leaves the device to do."""
    synchronise(classifier)
    start = time.perf_counter()
    run()
    synchronise(classifier)
    return time.perf_counter() - start


def matrix_product(classifier: Classifier) -> tuple[Callable[[], object], int]:
    """Return a large square matrix product in the model's precision: the machine at its best.

    Returns:
        What multiplies, and its operations.
    """
    import torch

    size = _PRODUCT.get(classifier.device.type, _PRODUCT["cpu"])
    # Numbers of their own: a card draws less power, and is faster, where all are alike.
    a = torch.rand(size, size, device=classifier.device).to(classifier.model.dtype)
    return lambda: torch.mm(a, a), 2 * size**3


def flops_per_token(classifier: Classifier) -> int:
    """Return the operations of one forward pass a token, in products with weights alone."""
    weights = sum(
        p.numel() for n, p in classifier.model.named_parameters() if "embed" not in n and p.ndim > 1
    )
    return 2 * int(weights)


def random_ids(classifier: Classifier, examples: int, length: int) -> IntArray:
    """Return (examples, length) token ids, none special."""
    special = set(classifier.tokenizer.all_special_ids)
    size = classifier.model.get_input_embeddings().weight.shape[0]
    known = np.array([i for i in range(min(size, len(classifier.tokenizer))) if i not in special])
    return np.random.default_rng(0).choice(known, (examples, length))


def bare_forward(classifier: Classifier, ids: IntArray, budget: int) -> None:
    """Run the plain model on equal-length batches: no planning, no copying, nothing kept."""
    import torch

    step = max(1, budget // ids.shape[1])
    rows = torch.as_tensor(ids, device=classifier.device)
    with torch.inference_mode():
        for first in range(0, len(rows), step):
            classifier.model(input_ids=rows[first : first + step])


def bare_gradient(classifier: Classifier, ids: IntArray, budget: int) -> None:
    """Run the plain model forward and back to its input embeddings."""
    import torch

    step = max(1, budget // ids.shape[1])
    flags = [p.requires_grad for p in classifier.model.parameters()]
    classifier.model.requires_grad_(False)
    for first in range(0, len(ids), step):
        inputs: torch.Tensor = classifier.embed(ids[first : first + step]).requires_grad_(True)
        last = torch.full((len(inputs),), ids.shape[1] - 1, device=classifier.device)
        logits = classifier.head.logits(classifier.model, inputs, None, last)
        torch.autograd.grad(logits[:, 0].sum(), inputs)
    for parameter, flag in zip(classifier.model.parameters(), flags, strict=True):
        parameter.requires_grad_(flag)


def place(device: torch.device) -> dict[str, object]:
    """Return where measurements are taken."""
    import torch

    name = torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)
    return {"device": name, "threads": torch.get_num_threads()}
