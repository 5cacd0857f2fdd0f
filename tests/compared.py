"""The stages compare and judge on scores alone: data and predictions of their texts are made up."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow.parquet as pq

from exparity.artefacts.files import read_artefact, write_artefact
from exparity.stages.compare import compare_model
from exparity.stages.judge import judge_cells


def compare(
    scores: Sequence[Path],
    random: Sequence[Path] | None,
    tests: Path,
    across: Path,
    predictions: Sequence[Path] = (),
    statistics: dict | None = None,
    **options,
) -> None:
    """Compare the groups of scores, whose classifiers get half of the texts right."""
    with TemporaryDirectory() as folder:
        data, predicted = beside(Path(folder), [*scores, *(random or ())])
        compare_model(
            data, predictions or predicted, scores, random, tests, across,
            statistics=statistics or {}, **options,
        )  # fmt: skip


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
        ids = {name: facts["wildcards"][name] for name in ("dataset", "model", "seed")}
        cells.setdefault(tuple(ids.values()), ids)
        for row in table.select(["example_id", "group", "match_id"]).to_pylist():
            examples[row["example_id"]] = row
    rows = [{**row, "label": i % 2} for i, row in enumerate(examples.values())]
    texts = {"split": "test", "text": "a b", "words": ["a", "b"], "rationale": None}
    dataset = next(iter(cells.values()), {"dataset": "d"})["dataset"]
    data, predictions = folder / "data.parquet", []
    written = [{**row, **texts, "attributes": []} for row in rows]
    write_artefact(data, "data", written, {"dataset": dataset}, parameters={})
    for i, ids in enumerate(cells.values()):
        predicted = [{**row, "probabilities": [0.5, 0.5], "predicted": (k // 2) % 2}
                     for k, row in enumerate(rows)]  # fmt: skip
        predictions.append(folder / f"{i}.parquet")
        write_artefact(predictions[-1], "predictions", predicted, ids, parameters={})
    return data, predictions
