"""A plug-in for tests: a method and a metric of many small parts, as slow as a test wants.

``SLOW_SECONDS`` is the time that each call takes, ``SLOW_CALLS`` a file that lists them. Calls wait
until there is a file ``SLOW_UNTIL``. With ``SLOW_MEMORY``, calls after the second hold so many MB
while they last; the first of them waits with that until its job is ended.
"""

import os
import time
from pathlib import Path

import numpy as np

from exparity.methods import MethodBatch, method
from exparity.metrics import MetricBatch, metric


def _call(stage, keys):
    with open(os.environ.get("SLOW_CALLS", os.devnull), "a") as file:
        file.write(f"{stage} {' '.join(keys)}\n")
    while not os.path.exists(os.environ.get("SLOW_UNTIL", os.devnull)):
        time.sleep(0.01)
    memory = int(os.environ.get("SLOW_MEMORY", "0"))
    if memory:
        with open(os.environ["SLOW_CALLS"]) as file:
            calls = sum(1 for _ in file)
        if calls > 2:
            _hold(memory)
    time.sleep(float(os.environ.get("SLOW_SECONDS", "0")))


def _hold(memory):
    first = Path(os.environ["SLOW_CALLS"] + ".first")
    waits = not first.exists()
    first.touch()  # before SLURM sees the memory
    ballast = b"x" * (memory << 20)  # noqa: F841
    while waits:  # SLURM looks once a second, and would miss a shorter peak
        time.sleep(1)


@method(
    "slow",
    signed=True,
    needs_gradient=False,
    target="probability",
    baseline=None,
    stochastic=True,
    reference="tests",
    passes=64_000,
)
def slow(batch: MethodBatch, *, factor: float = 1.0):
    """Noise around the target's probability."""
    from exparity.engine.batching import padded

    _call("explain", batch.keys)
    found = batch.classifier.forward([len(own) for own in batch.rows], padded(batch.rows))
    batch.flags.add("slow")
    return [
        factor * found[i, batch.targets[i]] + batch.generator(i).normal(size=length)
        for i, length in enumerate(batch.lengths)
    ]


@metric(
    "slow_drop",
    direction="higher",
    bounds=(-1.0, 1.0),
    unit="probability",
    kind="faithfulness",
    needs="probabilities",
    stochastic=False,
    reference="tests",
    passes=64_000,
)
def slow_drop(batch: MetricBatch):
    """Fall in target probability without the first content token."""
    _call("evaluate", batch.keys)
    whole = batch.target_probabilities(batch.token_ids, range(len(batch)))
    cut = [np.delete(ids, 1) for ids in batch.token_ids]
    return whole - batch.target_probabilities(cut, range(len(batch)))
