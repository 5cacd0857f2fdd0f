"""Measure CPU seconds and memory of the stage bias as rows, groups and trainings grow.

Each point runs in a process of its own, on made-up predictions.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from dataclasses import dataclass

import numpy as np
from shared import markdown

from exparity.stats.bootstrap import Draws
from exparity.stats.model_bias import model_bias
from exparity.stats.predictions import predictions_of


@dataclass(frozen=True)
class Point:
    """How many rows and groups there are, and whether rows are in matched sets."""

    rows: int
    groups: int
    matched: bool


POINTS = [
    *(Point(rows, 2, matched) for matched in (False, True) for rows in (20_000, 200_000)),
    *(Point(20_000, 10, matched) for matched in (False, True)),
]


def cost_of(point: Point) -> dict[str, float]:
    """Measure the bias of one training; return CPU seconds and the most MB of the process."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, point.rows)
    right = rng.beta(5, 0.3, point.rows)
    probabilities = np.where(labels[:, None] == [0, 1], right[:, None], 1 - right[:, None])
    groups = [f"group {row % point.groups}" for row in range(point.rows)]
    sets = [f"set {row // point.groups}" if point.matched else None for row in range(point.rows)]
    start = time.process_time()
    data = predictions_of(
        labels.tolist(),
        probabilities.argmax(axis=1).tolist(),
        probabilities,
        groups,
        sorted(set(groups)),
        ("no", "yes"),
        sets,
    )
    model_bias(data, Draws())
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"CPU seconds": round(seconds, 1), "MB": round(megabytes)}


def main() -> None:
    """Measure every point, and print a table."""
    context = multiprocessing.get_context("spawn")
    rows = []
    for point in POINTS:
        with context.Pool(1) as pool:
            rows.append({**vars(point), **pool.apply(cost_of, (point,))})
    print(markdown(rows))


if __name__ == "__main__":
    main()
