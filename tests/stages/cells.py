"""What the tests of stages do with a cell: explain, evaluate, read, and write tables otherwise."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from support import CPU, NARROW

from exparity.artefacts.files import read_artefact, write_artefact
from exparity.data.table import read_prepared
from exparity.stages.compare import compare_model
from exparity.stages.controls import negative_control_cell
from exparity.stages.evaluate import evaluate_cell
from exparity.stages.explain import Choice, explain_cell
from exparity.stages.finetune import finetune_cell
from exparity.stages.prepare import prepare
from exparity.types import Example

BERT = {"init": "scratch", "architecture": "bert", "size": NARROW}


def prepare_pairs(folder: Path, n_pairs: int) -> None:
    """Prepare the embedded pairs as the data of a cell."""
    prepare(
        folder / "data.parquet",
        use="pairs_all",
        params={"n_pairs": n_pairs},
        data_dir=folder,
        dataset_id="pairs",
    )


def inputs_of(cell: Path) -> dict[str, Path]:
    """The files that explaining reads."""
    return {
        "data": cell / "data.parquet",
        "checkpoint": cell / "mine" / "3",
        "predictions": cell / "predictions.parquet",
    }


def train(cell: Path, model: dict = BERT, **training) -> None:
    """Train the model of a cell whose data are there."""
    paths = inputs_of(cell)
    finetune_cell(
        paths["data"], paths["checkpoint"], paths["predictions"], model=model, training=training,
        model_id="mine", seed=3, machine=CPU,
    )  # fmt: skip


def explain(cell: Path, output: Path, use: str = "gradient", **changes) -> Path:
    names = changes.keys() & Choice.__dataclass_fields__.keys()
    choice = Choice(**{name: changes.pop(name) for name in names})
    options = {"params": {}, "method_id": use, "choice": choice, "machine": CPU}
    explain_cell(output=output, use=use, **{**inputs_of(cell), **options, **changes})
    return output


def evaluate(cell: Path, explanations: Path, output: Path, use: str = "gini", **changes) -> Path:
    paths = inputs_of(cell)
    options = {"params": {}, "metric_id": use, "machine": CPU}
    given = {"data": paths["data"], "checkpoint": paths["checkpoint"], **options, **changes}
    evaluate_cell(explanations=explanations, output=output, use=use, **given)
    return output


def control(cell: Path, output: Path, use: str, **changes) -> Path:
    """Score random explanations."""
    options = {"params": {}, "machine": CPU}
    negative_control_cell(output=output, use=use, **{**inputs_of(cell), **options, **changes})
    return output


def compare(
    cell: Path, scores: Path, output: Path, random: Path | None = None, **statistics
) -> Path:
    """Compare the groups of one scores artefact; that over trainings lies beside the output."""
    random_scores = None if random is None else [random]
    compare_model(
        cell / "data.parquet", [cell / "predictions.parquet"], [scores], random_scores, output,
        output.with_name("across.parquet"), output.with_name("levels.parquet"),
        statistics={"resamples": 0, **statistics},
    )  # fmt: skip
    return output


def examples_of(cell: Path) -> dict[str, Example]:
    """The test examples by id."""
    return {e.example_id: e for e in read_prepared(cell / "data.parquet", "test").examples}


def write_counterfactuals(cell: Path, output: Path, change) -> Path:
    """Write other words for the other gender; ``change(i, words)`` gives them, None for none."""
    rows = []
    for i, example in enumerate(read_prepared(cell / "data.parquet").examples):
        words = change(i, list(example.words))
        if words is not None:
            rows.append({
                "example_id": example.example_id, "split": example.split, "group": example.group,
                "group_to": {"male": "female", "female": "male"}[example.group], "words": words,
                "n_changed": sum(a != b for a, b in zip(words, example.words, strict=True)),
            })  # fmt: skip
    dataset = facts_of(cell / "data.parquet", "data")["wildcards"]["dataset"]
    write_artefact(output, "counterfactuals", rows, {"dataset": dataset}, parameters={})
    return output


def rows_of(path: Path, artefact: str) -> list[dict]:
    return read_artefact(path, artefact)[0].to_pylist()


def facts_of(path: Path, artefact: str) -> dict:
    return read_artefact(path, artefact)[1]


def with_column(source: Path, target: Path, name: str, change) -> Path:
    """Write a table with ``change(i, value)`` in a column; other tools write so, too."""
    table = pq.read_table(source)
    index = table.schema.get_field_index(name)
    field = table.schema.field(index)
    values = [change(i, value) for i, value in enumerate(table[name].to_pylist())]
    pq.write_table(table.set_column(index, field, pa.array(values, field.type)), target)
    return target
