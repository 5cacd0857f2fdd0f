"""Coverage and level of the change of |d| under debiasing, by simulation.

    python benchmarks/gap_change.py --simulations 2000

Normal scores of two models on the same texts. First the interval of one training: how often it
holds the true change of |d|. Then the crossed test over trainings where nothing changes, recipe and
base having gaps that vary alike: how often it says that something does.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from exparity.stats.gap_change import GapChanges, gap_changes
from exparity.types import FloatArray

ORDER = ("a", "b")
GAPS = ((0.0, 0.8), (0.2, 0.8), (0.5, 0.5), (-0.5, 0.5), (0.8, 0.8), (0.0, 0.0), (0.1, 0.1))
"""True d of recipe and base."""


def compared(scores: FloatArray, matched: bool) -> GapChanges:
    """Compare (2, s, 2n) scores, groups in turn."""
    n = scores.shape[-1] // 2
    sets = [str(i) for i in range(n) for _ in ORDER] if matched else None
    return gap_changes(scores[0], scores[1], list(ORDER) * n, ORDER, sets)[0]


def together(rng: np.random.Generator, n: int, models: float, sets: float) -> FloatArray:
    """Return (2, 1, 2n) scores that correlate between models, and between members of a set."""
    mixed = np.array([[1.0, 0.0], [models, math.sqrt(1 - models**2)]])
    own, shared = rng.normal(size=(2, n, 2)), rng.normal(size=(2, n, 1))
    scores = math.sqrt(1 - sets) * own + math.sqrt(sets) * shared
    return np.asarray(np.einsum("ij,jnk->ink", mixed, scores).reshape(2, 1, 2 * n))


def coverage(times: int) -> Iterator[str]:
    """Yield how often the interval of one training covers."""
    yield "| pairing | n | models correlate | d, base | covers % |\n|---|---|---|---|---|"
    for matched, n, models, (d, base) in product((False, True), (60,), (0.0, 0.7), GAPS):
        rng, covered = np.random.default_rng(1), 0
        for _ in range(times):
            scores = together(rng, n, models, 0.5 * matched)
            scores[0, :, ::2] += d
            scores[1, :, ::2] += base
            (own,) = compared(scores, matched).of_seeds
            covered += own.ci_low <= abs(d) - abs(base) <= own.ci_high
        pairing = "sets" if matched else "rows"
        yield f"| {pairing} | {n} | {models} | {d}, {base} | {100 * covered / times:.1f} |"


def level(times: int) -> Iterator[str]:
    """Yield how often a change is found where recipe and base are alike."""
    yield "| trainings | d | sd of d | texts' share | different % |\n|---|---|---|---|---|"
    for seeds, d, sd, share in product((3, 5, 10), (0.0, 0.8), (0.0, 0.3, 1.0), (0.5,)):
        rng, hits, n = np.random.default_rng(2), 0, 60
        for _ in range(times):
            texts = math.sqrt(share) * rng.normal(size=(2, 1, 2 * n))
            scores = texts + math.sqrt(1 - share) * rng.normal(size=(2, seeds, 2 * n))
            scores[..., ::2] += (d + sd * rng.normal(size=(2, seeds)))[..., None]
            hits += compared(scores, True).over_seeds.p_mean <= 0.05
        yield f"| {seeds} | {d} | {sd} | {share} | {100 * hits / times:.1f} |"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2000)
    times = parser.parse_args().simulations
    for part in (coverage, level):
        for line in part(times):
            print(line, flush=True)


if __name__ == "__main__":
    main()
