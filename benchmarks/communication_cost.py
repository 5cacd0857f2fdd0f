"""Score finished experiments by communication: skill of each group, and CPU seconds.

Usage: python benchmarks/communication_cost.py RESULTS

RESULTS is the folder of an experiment whose explanations, predictions and checkpoints are there;
nothing in it is written. Every explanation is scored, and every training has its random words and
whole texts as control, five draws each, in one process. Texts explained for another class than the
predicted one have no score. Skill is the mean over the trainings, on the way to the whole text.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from exparity.artefacts.files import read_artefact
from exparity.core.device import Inference
from exparity.quantities.scores import read_scores
from exparity.stages.controls import negative_control_cell
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import Choice

METRIC = "communication"


def scored(results: Path, folder: Path, training: Path) -> tuple[list[Path], Path]:
    """Score the explanations of a training, given by its folder, and its controls."""
    data = results / "data" / f"{training.parent.parent.name}.parquet"
    place = training.relative_to(results / "explanations")
    predictions = results / "predictions" / place.with_suffix(".parquet")
    paths = []
    files = sorted(training.glob("*.parquet"))
    for explanations in files:
        output = folder / place / explanations.name
        output.parent.mkdir(parents=True, exist_ok=True)
        evaluate_cell(
            data, explanations, None, output, use=METRIC, params={}, predictions=[predictions]
        )
        paths.append(output)
    _, metadata = read_artefact(files[0], "explanations")
    choice = Choice(target="label" if metadata.parameters["target"] == "label" else "predicted")
    random = folder / place / "random.parquet"
    negative_control_cell(
        data,
        results / "models" / place,
        predictions,
        random,
        use=METRIC,
        params={},
        choice=choice,
        machine=Inference(device="cpu", threads=1),
    )
    return paths, random


def levels(scores: list[Path], random: list[Path]) -> pd.DataFrame:
    """Return scores and skill of every method by group, and of random words, over trainings."""
    model = read_scores(scores, random, None)
    rows = []
    for cell in model.cells:
        groups = model.groups[cell.places]
        for quantity, values in cell.quantities.items():
            for group in model.order:
                value = pd.Series(values.shown[groups == group]).mean()
                rows.append((cell.method, quantity, group, value))
    table = pd.DataFrame(rows, columns=["method", "quantity", "group", "value"])
    return table.groupby(["method", "quantity", "group"])["value"].mean().unstack()


def main() -> None:
    """Print a table for each dataset and model, and the CPU seconds of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    results: Path = parser.parse_args().results
    jobs = 0
    start = time.process_time()
    with TemporaryDirectory() as folder:
        for model in sorted((results / "explanations").glob("*/*")):
            made = [scored(results, Path(folder), one) for one in sorted(model.glob("*"))]
            scores = [path for paths, _ in made for path in paths]
            jobs += len(scores) + len(made)
            print(model.relative_to(results / "explanations"))
            print(levels(scores, [random for _, random in made]).round(3).to_string())
    print(f"{jobs} jobs, {time.process_time() - start:.0f} CPU seconds")


if __name__ == "__main__":
    main()
