"""The stages compare and judge on scores alone: data and predictions of their texts are made up."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
import pytest
from made_up import Results

from exparity.artefacts.files import read_artefact
from exparity.stages.compare import compare_model
from exparity.stages.judge import judge_cells


def compare(
    scores: Sequence[Path],
    random: Sequence[Path] | None,
    tests: Path,
    across: Path,
    predictions: Sequence[Path] = (),
    statistics: dict | None = None,
    levels: Path | None = None,
    **options,
) -> None:
    """Compare the groups of scores, whose classifiers get half of the texts right."""
    with TemporaryDirectory() as folder:
        levels = levels or Path(folder, "levels.parquet")
        data, predicted = beside(Path(folder), [*scores, *(random or ())])
        compare_model(
            data, predictions or predicted, scores, random, tests, across, levels,
            statistics=statistics or {}, **options,
        )  # fmt: skip


def near(value: Any, rel: float = 1e-9, least: float = 1e-12) -> Any:
    """Return what equals a value: itself, or a float up to rounding."""
    is_float = isinstance(value, float)
    return pytest.approx(value, rel=rel, abs=least, nan_ok=True) if is_float else value


def judge(across: Sequence[Path], tests: Sequence[Path] = (), debiasing=None, **options) -> list:
    """Return the verdicts of gaps over trainings."""
    with TemporaryDirectory() as folder:
        verdicts = Path(folder, "verdicts.parquet")
        judge_cells(across, tests, debiasing, verdicts, Path(folder, "disparity"), **options)
        return read_artefact(verdicts, "verdicts")[0].to_pylist()


def beside(folder: Path, scores: Sequence[Path]) -> tuple[Path, list[Path]]:
    """Write data and, of every seed, predictions of all that is scored."""
    examples, cells = {}, {}
    for path in scores:
        artefact = "random_scores" if "draw" in pq.read_schema(path).names else "scores"
        table, facts = read_artefact(path, artefact)
        cells[tuple(facts["wildcards"][name] for name in ("dataset", "model", "seed"))] = None
        for row in table.select(["example_id", "group", "match_id"]).to_pylist():
            examples[row["example_id"]] = row
    keys, results = list(examples.values()), Results(folder)
    labels, predicted = ([i // n % 2 for i in range(len(keys))] for n in (1, 2))
    data = results.write_texts(keys, labels, next(iter(cells))[0])
    return data, [results.write_predictions(keys, labels, predicted, *cell) for cell in cells]
