"""Planning batches: by length, packed by token budget, halved when memory runs out."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TypeVar

import torch

log = logging.getLogger(__name__)
Result = TypeVar("Result")


def plan_batches(
    lengths: Sequence[int], token_budget: int, *, exact: bool = False
) -> Iterator[list[int]]:
    """Pack items into batches of similar length.

    Args:
        lengths: tokens of each item.
        token_budget: most padded tokens (items × longest) of a batch; an item longer than that
            gets a batch of its own.
        exact: only items of one length share a batch, so that none is padded.

    Yields:
        Positions in ``lengths``, longest items first, so that too large a batch fails at once.
    """
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


def _out_of_memory(error: RuntimeError) -> bool:
    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or "can't allocate memory" in text


def in_batches(
    lengths: Sequence[int],
    token_budget: int,
    run: Callable[[list[int]], Result],
    *,
    exact: bool = False,
) -> Iterator[tuple[Result, int]]:
    """Run work in the batches of :func:`plan_batches`; halve one that does not fit into memory.

    ``run`` receives positions of items and runs these.

    Yields:
        What ``run`` returned of a batch, and the budget that fits, not above ``token_budget``.

    Raises:
        RuntimeError: a single item does not fit into memory.
    """
    queue = deque(plan_batches(lengths, token_budget, exact=exact))
    while queue:
        batch = queue.popleft()
        try:
            result = run(batch)
        except RuntimeError as error:
            if len(batch) == 1 or not _out_of_memory(error):
                raise
        else:
            yield result, token_budget
            continue
        # Outside the handler: the traceback held the failed batch's tensors.
        token_budget = max(1, len(batch) * lengths[batch[0]] // 2)
        log.warning("out of memory; continuing with %d tokens a batch", token_budget)
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        rest = [*batch, *chain.from_iterable(queue)]
        packed = plan_batches([lengths[i] for i in rest], token_budget, exact=exact)
        queue = deque([rest[i] for i in part] for part in packed)
