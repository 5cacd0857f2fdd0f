"""Measure what jobs of forward simulation and communication cost, on finished experiments.

Usage: python benchmarks/witness_cost.py RESULTS [--repeats N]

RESULTS is the folder of an experiment with forward simulation; nothing in it is written. Of the
first training of each dataset and model, and the explanations of its last method, every kind of job
runs in this process. The table has the least CPU seconds of the repeats, as a mean over the
trainings. To compare two versions, let each run it in turn: other work on the machine moves all of
a run's figures together.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from shared import markdown

from exparity.artefacts.files import job
from exparity.core.device import Inference
from exparity.stages.controls import negative_control_cell
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.foresee import foresee_cell

Jobs = Iterator[tuple[str, Callable[[], None]]]
MACHINE = Inference(device="cpu", threads=1, shortcuts=True)


def jobs_of(
    results: Path, training: Path, output: Path
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the kinds of jobs of a training, given by the folder of its explanations."""
    place = training.relative_to(results / "explanations")
    data = results / "data" / f"{place.parts[0]}.parquet"
    predictions = results / "predictions" / place.with_suffix(".parquet")
    foresight = results / "foresight" / place / "forward_simulation.parquet"
    explanations = max(training.glob("*.parquet"))
    inputs = data, results / "models" / place, predictions

    def random(metric: str, foresights: Sequence[Path]) -> None:
        negative_control_cell(
            *inputs, output, foresight=foresights, use=metric, params={}, machine=MACHINE
        )

    def score(metric: str) -> None:
        evaluate_cell(
            data,
            explanations,
            None,
            output,
            use=metric,
            params={},
            predictions=[predictions],
            foresight=[foresight],
        )

    yield "foresight", lambda: foresee_cell(*inputs, output, machine=MACHINE)
    yield "forward simulation, random", lambda: random("forward_simulation", [foresight])
    yield "forward simulation, a method", lambda: score("forward_simulation")
    yield "communication, random", lambda: random("communication", [])
    yield "communication, a method", lambda: score("communication")


def main() -> None:
    """Print a row for each kind of job."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    least: dict[str, list[float]] = defaultdict(list)
    for model in sorted((options.results / "explanations").glob("*/*")):
        seconds: dict[str, list[float]] = defaultdict(list)
        for _ in range(options.repeats):
            with TemporaryDirectory() as folder:
                output = Path(folder) / "output.parquet"
                for name, run in jobs_of(options.results, min(model.iterdir()), output):
                    output.unlink(missing_ok=True)
                    start = time.process_time()
                    with job():
                        run()
                    seconds[name].append(time.process_time() - start)
        for name, times in seconds.items():
            least[name].append(min(times))
    rows = [{"job": name, "CPU seconds": float(np.mean(times))} for name, times in least.items()]
    print(markdown(rows))


if __name__ == "__main__":
    main()
