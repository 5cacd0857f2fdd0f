"""Inputs are of one cell, hold what was written and can be true, or one line says why not."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from stages.cells import compare, evaluate, explain

from exparity import InputError
from exparity.analyses.attribution_difference import attribution_difference_cell
from exparity.analyses.correctness import correctness_cell
from exparity.analyses.mlm_score import mlm_score_cell
from exparity.artefacts.files import read_artefact
from exparity.models.manifest import read_manifest, write_manifest
from exparity.stages.bias import bias_model


@pytest.fixture(scope="module")
def made(cell, tmp_path_factory):
    """Explanations and scores of the cell."""
    folder = tmp_path_factory.mktemp("made")
    explanations = explain(cell, folder / "explanations.parquet")
    return explanations, evaluate(cell, explanations, folder / "scores.parquet")


def altered(source, target, change=lambda table: table, **facts):
    """Write a table anew as any tool would, with its metadata, of which some are changed."""
    table = change(pq.read_table(source))
    facts = {f"exparity.{name}".encode(): json.dumps(value) for name, value in facts.items()}
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **facts}), target)
    return target


def with_ids(source, target, **ids):
    """Write a table as that of another cell."""

    def change(table):
        for name, value in ids.items():
            if name in table.column_names:
                at = table.schema.get_field_index(name)
                values = pa.array([value] * table.num_rows)
                table = table.set_column(at, name, values)
        return table

    wildcards = {**read_metadata(source)["wildcards"], **ids}
    return altered(source, target, change, wildcards=wildcards)


def read_metadata(path):
    found = pq.read_schema(path).metadata
    return {key.decode().removeprefix("exparity."): json.loads(v) for key, v in found.items()}


def with_score(value):
    def change(table):
        scores = pa.array([value, *table["score"].to_pylist()[1:]])
        at = table.schema.get_field_index("score")
        return table.set_column(at, table.schema.field(at), scores)

    return change


def a_row_twice(table):
    return pa.concat_tables([table, table.slice(0, 1)])


def a_row_for_another(table):
    return pa.concat_tables([table.slice(0, 1), table.slice(0, 1), table.slice(2)])


def a_row_of_another_seed(table):
    seeds = pa.array([4, *table["seed"].to_pylist()[1:]])
    return table.set_column(table.schema.get_field_index("seed"), "seed", seeds)


ROWS = [
    (lambda table: table.slice(1), "has 23 rows, but was written with 24; make it again"),
    (a_row_twice, "has 25 rows, but was written with 24"),
    (a_row_for_another, r"example '\S+' is there 2 times; make it again"),
    (a_row_of_another_seed, "is of seed '3', but has rows of '4'; make it again"),
]
VALUES = [
    (with_score(1.5), r"has the score 1.5, which is not from 0 to 1; make it again"),
    (with_score(np.inf), r"has the score inf, which"),
]


READERS = {
    "scores": lambda cell, path, output: compare(cell, path, output),
    "explanations": lambda cell, path, output: evaluate(cell, path, output),
    "predictions": lambda cell, path, output: bias_model(
        cell / "data.parquet", [path], output, resamples=0
    ),
}


@pytest.mark.parametrize(
    ("artefact", "change", "message"),
    [
        *(("scores", *row) for row in (*ROWS, *VALUES)),
        ("explanations", *ROWS[0]),
        ("predictions", *ROWS[2]),
    ],
)
def test_what_is_not_what_was_written(cell, made, tmp_path, artefact, change, message):
    explanations, scores = made
    source = {"scores": scores, "explanations": explanations}.get(artefact)
    source = source or cell / "predictions.parquet"
    path, output = altered(source, tmp_path / "x.parquet", change), tmp_path / "out.parquet"
    with pytest.raises(InputError, match=f"^{path}: .*{message}"):
        READERS[artefact](cell, path, output)
    assert not output.exists()


def test_undefined_scores_and_rounding_are_no_error(cell, made, tmp_path):
    for value in (np.nan, 1 + 1e-12, -1e-12):
        path = altered(made[1], tmp_path / "s.parquet", with_score(value))
        compare(cell, path, tmp_path / "out.parquet")


def test_inputs_of_two_cells(cell, made, tmp_path):
    output, predictions = tmp_path / "out.parquet", cell / "predictions.parquet"
    message = r"is of seed '\d', but .* is of '\d'; give files of one seed$"
    strange = [with_ids(path, tmp_path / path.name, seed=4) for path in (predictions, *made)]
    with pytest.raises(InputError, match=message):
        explain(cell, output, predictions=strange[0])
    with pytest.raises(InputError, match=message):
        evaluate(cell, strange[1], output, checkpoint=cell / "mine" / "3")
    with pytest.raises(InputError, match=message):
        correctness_cell([strange[2]], predictions, output)
    with pytest.raises(InputError, match=message):
        attribution_difference_cell(cell / "data.parquet", [made[0], strange[1]], output)
    assert not output.exists()


@pytest.fixture
def copied(cell, tmp_path):
    """A copy of the checkpoint, and its manifest."""
    shutil.copytree(cell / "mine" / "3", tmp_path / "copy")
    return tmp_path / "copy", tmp_path / "copy" / "exparity.json"


def test_a_checkpoint_of_another_cell(cell, made, tmp_path, copied):
    checkpoint, manifest = copied
    write_manifest(manifest, {**read_manifest(manifest), "model": "m"})
    message = f"^{checkpoint}: is of model 'm', but .*parquet is of 'mine'; give"
    output = tmp_path / "out.parquet"
    with pytest.raises(InputError, match=message):
        explain(cell, output, checkpoint=checkpoint)
    with pytest.raises(InputError, match=message):
        evaluate(cell, made[0], output, checkpoint=checkpoint, use="sufficiency")
    with pytest.raises(InputError, match="is of model '"):
        mlm_score_cell(
            cell / "data.parquet", checkpoint, output, original="x", model_id="mine", seed=3
        )


def test_a_damaged_manifest(cell, tmp_path, copied):
    checkpoint, manifest = copied
    manifest.write_text("[]")
    with pytest.raises(InputError, match=f"^checkpoint {checkpoint}: exparity.json is unreadable"):
        explain(cell, tmp_path / "x.parquet", checkpoint=checkpoint)


def test_a_checkpoint_from_elsewhere_is_taken_as_it_is(cell, made, tmp_path, copied):
    checkpoint, manifest = copied
    manifest.unlink()
    explain(cell, tmp_path / "x.parquet", checkpoint=checkpoint)
    read = [read_artefact(path, "explanations")[0] for path in (tmp_path / "x.parquet", made[0])]
    assert read[0].equals(read[1])


@pytest.mark.parametrize("option", [{"model_id": "other"}, {"seed": 0}])
def test_ids_on_the_command_line_are_those_of_the_files(cell, tmp_path, option):
    with pytest.raises(InputError, match=r"^--model-id and --seed: is of \w+ '.*', but .* is of '"):
        explain(cell, tmp_path / "x.parquet", **option)
