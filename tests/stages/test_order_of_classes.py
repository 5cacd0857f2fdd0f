"""Classes of a table whose order nothing says, for a checkpoint that is not trained."""

import pytest
from data.tables import rows_of, write
from stages.cells import inputs_of, train
from support import copy_checkpoint

from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.stages.prepare import prepare


@pytest.fixture
def unnamed(checkpoints, tmp_path):
    """A checkpoint whose outputs are LABEL_0 and LABEL_1."""
    names = {"id2label": {0: "LABEL_0", 1: "LABEL_1"}, "label2id": {"LABEL_0": 0, "LABEL_1": 1}}
    return copy_checkpoint(checkpoints["bert"], tmp_path / "unnamed", **names)


def as_it_is(folder, checkpoint, classes, **options):
    """Prepare a table and take a checkpoint as it is; return the classes."""
    rows = rows_of(24, text=lambda i: f"the girl sings {i}", label=classes, group="aabb")
    params = {"path": str(write(folder / "t.csv", rows)), "test_share": 1, **options}
    prepare(inputs_of(folder)["data"], use="table", params=params, dataset_id="mine")
    train(folder, {"checkpoint": checkpoint}, epochs=0)
    return read_artefact(inputs_of(folder)["data"], "data")[1]["labels"]


def test_names_are_asked_for_and_positions_are_taken(unnamed, tmp_path):
    asked = r"does not name its 2 classes, and .*: datasets.mine.labels: \[bad, good\]"
    with pytest.raises(InputError, match=asked):
        as_it_is(tmp_path, unnamed, ("good", "bad"))
    with pytest.raises(InputError, match="does not name its 2 classes"):
        as_it_is(tmp_path, unnamed, ("true", "false"))
    assert as_it_is(tmp_path, unnamed, ("good", "bad"), labels=["good", "bad"]) == ["good", "bad"]
    assert as_it_is(tmp_path, unnamed, (1.0, 0.0)) == ["0", "1"]
