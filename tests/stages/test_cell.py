"""Inputs are of one cell, or one line says why not."""

import json
import shutil

import pyarrow.parquet as pq
import pytest
from stages.cells import evaluate, explain

from exparity import InputError
from exparity.analyses.attribution_difference import attribution_difference_cell
from exparity.analyses.correctness import correctness_cell
from exparity.analyses.mlm_score import mlm_score_cell
from exparity.artefacts.files import facts_of, read_artefact
from exparity.models.manifest import read_manifest, write_manifest


@pytest.fixture(scope="module")
def made(cell, tmp_path_factory):
    """Explanations and scores of the cell."""
    folder = tmp_path_factory.mktemp("made")
    explanations = explain(cell, folder / "explanations.parquet")
    return explanations, evaluate(cell, explanations, folder / "scores.parquet")


def with_seed(source, target, seed):
    """Write an artefact as that of another training."""
    table = pq.read_table(source)
    ids = {**facts_of(table.schema.metadata)["wildcards"], "seed": seed}
    facts = {**table.schema.metadata, b"exparity.wildcards": json.dumps(ids)}
    pq.write_table(table.replace_schema_metadata(facts), target)
    return target


def test_inputs_of_two_cells(cell, made, tmp_path):
    output, predictions = tmp_path / "out.parquet", cell / "predictions.parquet"
    message = r"is of seed '\d', but .* is of '\d'; give files of one seed$"
    strange = [with_seed(path, tmp_path / path.name, 4) for path in (predictions, *made)]
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


def test_a_damaged_manifest_is_named(cell, tmp_path, copied):
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
    with pytest.raises(InputError, match=f"^{checkpoint}: names no cell"):
        mlm_score_cell(cell / "data.parquet", checkpoint, tmp_path / "m.parquet", original="x")
