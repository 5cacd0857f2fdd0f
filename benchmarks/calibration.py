"""Measure size and power of the crossed test over trainings and texts, by simulation.

Usage: python benchmarks/calibration.py [--runs N] [--output FOLDER]

A score is what its text, its training and its cell contribute, with a standard deviation of 1
within groups and trainings: √(1 − text_sd²)·cell + text_sd·text ± seed_sd/2·training + gap. The
training's part has another sign in each group, so that the gap varies between trainings with
seed_sd and is zero in the mean. Shapes are applied to the sum.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from exparity.stats.behrens_fisher import TwoErrors, two_sided_p, upper_tail
from exparity.stats.crossed import mean_gap
from exparity.types import FloatArray

ALPHA, THRESHOLD = 0.05, 0.2
SEEDS = (2, 3, 4, 5, 10, 20)
SIZES = {"matched": ((12, 12), (48, 48), (200, 200)), "unmatched": ((12, 12), (12, 48), (48, 200))}
SEED_SDS = (0.0, 0.3, 1.0)
TEXT_SDS = (0.0, 0.7, 0.95)
GAPS = (0.0, THRESHOLD, 0.5, 1.0)
SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "continuous": lambda x: x,
    "skewed": np.exp,
    "tied": lambda x: np.maximum(np.round(x - 0.5), 0.0),  # seven of ten are 0, the others few
}
_AT_ONCE = 2_000_000  # cells that are simulated at a time


class Setting(NamedTuple):
    """What a cell of the tables is simulated with."""

    groups: str
    seeds: int
    n_a: int
    n_b: int
    seed_sd: float
    text_sd: float
    shape: str
    missing: float


def settings() -> Iterator[Setting]:
    """Yield every combination; with missing cells, those of continuous scores and medium texts."""
    sizes = [(groups, *size) for groups, known in SIZES.items() for size in known]
    for (groups, n_a, n_b), seeds, seed_sd in product(sizes, SEEDS, SEED_SDS):
        for text_sd, shape in product(TEXT_SDS, SHAPES):
            yield Setting(groups, seeds, n_a, n_b, seed_sd, text_sd, shape, 0.0)
        yield Setting(groups, seeds, n_a, n_b, seed_sd, TEXT_SDS[1], "continuous", 0.3)


def simulate(setting: Setting, runs: int, rng: np.random.Generator) -> Iterator[FloatArray]:
    """Yield (6, k) estimates, both variances with degrees of freedom, and sd within groups."""
    s, n_a, n_b = setting.seeds, setting.n_a, setting.n_b
    of_cell = np.sqrt(1 - setting.text_sd**2)
    for start in range(0, runs, step := max(1, _AT_ONCE // (s * (n_a + n_b)))):
        k = min(step, runs - start)
        training = setting.seed_sd / 2 * rng.standard_normal((k, s, 1))
        parts = []
        for n, sign in ((n_a, 1), (n_b, -1)):
            text = setting.text_sd * rng.standard_normal((k, 1, n))
            latent = text + of_cell * rng.standard_normal((k, s, n)) + sign * training
            parts.append(SHAPES[setting.shape](latent))
        sd = np.sqrt(sum(part.var(axis=-1, ddof=1).mean(axis=-1) for part in parts) / 2)
        parts = [parts[0] - parts[1]] if setting.groups == "matched" else parts
        if setting.missing:
            parts = [np.where(rng.random(x.shape) < setting.missing, np.nan, x) for x in parts]
        gap = mean_gap(*parts)
        yield np.stack([gap.estimate, *gap.errors, sd])


def measured(setting: Setting, runs: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """Yield one row a gap; a gap moves the estimate alone, and is in units of sd.

    Of scores that are not continuous, only the size is measured.
    """
    estimate, *errors, sd = np.concatenate(list(simulate(setting, runs, rng)), axis=1)
    both = TwoErrors(*errors)
    for gap in GAPS if setting.shape == "continuous" else GAPS[:1]:
        equivalence_p = upper_tail(THRESHOLD * sd - np.abs(estimate + gap), both)
        yield {
            **setting._asdict(),
            "gap": gap,
            "runs": runs,
            "rejected": float((two_sided_p(estimate + gap, both) <= ALPHA).mean()),
            "equivalent": float((equivalence_p <= ALPHA).mean()),
        }


def percent(low: float, high: float) -> str:
    """Return a range of rates."""
    low, high = round(100 * low, 1), round(100 * high, 1)
    return f"{low:g}" if low == high else f"{low:g}–{high:g}"


def table(rows: pd.DataFrame, column: str, by: Sequence[str] = ("groups", "n", "seed_sd")) -> str:
    """Return the least and the largest rate over all settings that agree in ``by`` and in S."""
    lines = ["| " + " | ".join([*by, *(f"S = {s}" for s in SEEDS)]) + " |"]
    lines.append("|" + "---|" * len(by) + "---:|" * len(SEEDS))
    for keys, part in rows.groupby(list(by), sort=False):
        ends = part.groupby("seeds")[column].agg(["min", "max"])
        rates = [percent(*ends.loc[s, ["min", "max"]]) for s in SEEDS]
        lines.append(
            "| " + " | ".join([*(f"{key}".removesuffix(".0") for key in keys), *rates]) + " |"
        )
    return "\n".join(lines)


def tables(frame: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield the title of every table and the table."""
    sizes = zip(frame["groups"], frame["n_a"], frame["n_b"], strict=True)
    n = [str(a) if groups == "matched" else f"{a}, {b}" for groups, a, b in sizes]
    frame = frame.assign(n=n)
    null, whole = frame[frame["gap"] == 0], frame[frame["missing"] == 0]
    plain = whole[whole["shape"] == "continuous"]
    for_shape = null[null["missing"] == 0]
    yield "Size by shape", table(for_shape, "rejected", ("groups", "n", "shape"))
    yield "Size by seed sd", table(for_shape, "rejected")
    yield "Size with three of ten cells missing", table(null[null["missing"] > 0], "rejected")
    for gap in GAPS[2:]:
        yield f"Power at d = {gap:g}", table(plain[plain["gap"] == gap], "rejected")
    without, at = plain[plain["gap"] == 0], plain[plain["gap"] == THRESHOLD]
    yield "Called equivalent without a gap", table(without, "equivalent")
    yield "Called equivalent at the threshold", table(at, "equivalent")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--output", type=Path, default=Path("results/bench"))
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for number, setting in enumerate(settings()):
        rows += measured(setting, arguments.runs, np.random.default_rng([0, number]))
    frame = pd.DataFrame(rows)
    arguments.output.mkdir(parents=True, exist_ok=True)
    frame.to_parquet(arguments.output / "calibration.parquet")
    for title, body in tables(frame):
        print(f"### {title}\n\n{body}\n")


if __name__ == "__main__":
    main()
