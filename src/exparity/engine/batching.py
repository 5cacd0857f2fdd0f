"""Planning batches: by length, packed by token budget and memory, halved when that runs out."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

import torch
from torch.nn.utils.rnn import pad_sequence

from exparity.core.device import is_out_of_memory

if TYPE_CHECKING:
    from transformers import PreTrainedModel

log = logging.getLogger(__name__)
Result = TypeVar("Result")
Build = Callable[[list[int], int], torch.Tensor]
"""From positions of inputs and a width to their (b, width, h) embeddings, padded at the end."""

_PROBE = 16
"""The first batch, by which a GPU's memory is measured, is so many times smaller than others."""
_SHARE = 0.8
"""Part of a GPU's free memory that a batch may take."""


class MemoryBound:
    """Padded tokens that a GPU has memory for, by what batches took so far.

    Attributes:
        gpu: the device.
        width: tokens of the longest input whose memory is known; longer ones take more a token.
        tokens: most padded tokens of a batch; None while nothing is known.
    """

    def __init__(self, gpu: torch.device) -> None:
        self.gpu = gpu
        self.width = 0
        self.tokens: int | None = None

    def measured(self, run: Callable[[], Result], tokens: int, width: int) -> Result:
        """Run a batch of so many padded tokens, and learn from the memory that it takes."""
        before = torch.cuda.memory_allocated(self.gpu)
        torch.cuda.reset_peak_memory_stats(self.gpu)
        result = run()
        used = torch.cuda.max_memory_allocated(self.gpu) - before
        # What torch keeps for later is as good as free.
        kept = torch.cuda.memory_reserved(self.gpu) - torch.cuda.memory_allocated(self.gpu)
        free = torch.cuda.mem_get_info(self.gpu)[0] + kept
        self.width = width
        self.tokens = max(1, int(_SHARE * free * tokens / max(1, used)))
        return result


def plan_batches(
    lengths: Sequence[int], token_budget: int, *, exact: bool = False
) -> Iterator[list[int]]:
    """Yield positions of items of like length, the longest first; of one length where ``exact``."""
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    batch: list[int] = []
    for index in order:
        if batch:
            longest = lengths[batch[0]]
            full = (len(batch) + 1) * longest > token_budget
            if full or (exact and lengths[index] != longest):
                yield batch
                batch = []
        batch.append(index)
    if batch:
        yield batch


def in_batches(
    lengths: Sequence[int],
    token_budget: int,
    run: Callable[[list[int]], Result],
    *,
    exact: bool = False,
    memory: MemoryBound | None = None,
) -> Iterator[tuple[Result, int]]:
    """Run work in the batches of :func:`plan_batches`; halve one that does not fit into memory.

    ``run`` receives positions of items and runs these. With ``memory``, a small first batch
    measures what longer items than any before take, and the others are no larger than fit. Yields
    what ``run`` returned of a batch, and the budget that fits, not above ``token_budget``.
    """

    def packed(items: Sequence[int], budget: int) -> deque[list[int]]:
        if memory is not None and memory.tokens is not None:
            budget = min(budget, memory.tokens)
        plan = plan_batches([lengths[i] for i in items], budget, exact=exact)
        return deque([items[i] for i in part] for part in plan)

    unknown = memory is not None and max(lengths, default=0) > memory.width
    first = max(1, token_budget // _PROBE) if unknown else token_budget
    queue = packed(range(len(lengths)), first)
    while queue:
        batch = queue.popleft()
        width = lengths[batch[0]]
        failed = False
        try:
            if unknown and memory is not None:
                result = memory.measured(partial(run, batch), len(batch) * width, width)
            else:
                result = run(batch)
        except RuntimeError as error:
            if len(batch) == 1 or not is_out_of_memory(error):
                raise
            failed = True
        # Outside the handler: the traceback held the failed batch's tensors.
        if failed:
            token_budget = max(1, len(batch) * width // 2)
            log.warning("out of memory; continuing with %d tokens a batch", token_budget)
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            queue = packed([*batch, *chain.from_iterable(queue)], token_budget)
            continue
        yield result, token_budget
        if unknown:
            unknown = False
            queue = packed([*chain.from_iterable(queue)], token_budget)


def default_budget(model: PreTrainedModel, device: torch.device) -> int:
    """Return the padded tokens of a batch where nobody says how many.

    Smaller batches leave a GPU idle. On a CPU larger ones leave the cache, of narrow models later:
    at 64 units four times as many tokens take 8 to 20 % less time, at 256 the same.
    """
    if device.type == "cuda":
        return 65_536
    return 8192 if is_narrow(model) else 2048


def gradient_share(model: PreTrainedModel, device: torch.device) -> int:
    """Return by how much a batch is smaller for a backward pass, which keeps every activation.

    On a CPU those of narrow models fit its cache in larger batches too, which cost less a token.
    """
    return 4 if device.type != "cpu" else min(4, max(1, _units(model) // 192))


def is_narrow(model: PreTrainedModel) -> bool:
    """Return whether a model's layers are so small that what each call costs beside them counts."""
    return _units(model) <= 128


def _units(model: PreTrainedModel) -> int:
    return int(getattr(model.config, "hidden_size", 768))


def padded(embeddings: Sequence[torch.Tensor]) -> Build:
    """Return a builder of batches that pads (t, h) matrices with zero rows."""

    def build(batch: list[int], width: int) -> torch.Tensor:
        rows = pad_sequence([embeddings[i] for i in batch], batch_first=True)
        assert rows.shape[1] == width
        return rows

    return build
