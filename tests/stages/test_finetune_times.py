"""What a training says of the time that it took."""

import pytest
from support import killed_after

from exparity.artefacts.files import read_artefact
from exparity.core.device import resolve_device
from exparity.stages.finetune import finetune_cell


def test_a_training_that_goes_on_knows_its_earlier_epochs(cell, tmp_path):
    output = tmp_path / "results" / "models" / "pairs" / "mine" / "5"

    def train():
        given = read_artefact(cell / "mine" / "3" / "history.parquet", "history")[1]["parameters"]
        finetune_cell(
            cell / "data.parquet", output, tmp_path / "p.parquet", model=given["model"],
            training=given["training"], model_id="mine", seed=5,
        )  # fmt: skip

    with killed_after(2):
        train()
    train()
    table, facts = read_artefact(output / "history.parquet", "history")
    seconds = table.column("seconds").to_pylist()
    assert len(seconds) == 3
    assert facts["work_seconds"] == pytest.approx(sum(seconds), abs=0.001)
    assert facts["earlier_seconds"] == pytest.approx(sum(seconds[:2]), abs=0.001)
    assert facts["device"] == str(resolve_device("auto"))  # not what was asked for: GPU hours
    whole = read_artefact(cell / "mine" / "3" / "history.parquet", "history")[1]
    assert whole["earlier_seconds"] == 0
    assert whole["work_seconds"] > 0


def test_every_file_of_a_cell_can_be_read_by_whom_the_umask_allows(cell, tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    files = [path for path in cell.rglob("*") if path.is_file()]
    others = [path.name for path in files if path.stat().st_mode != plain.stat().st_mode]
    assert "model.safetensors" in [path.name for path in files]
    assert others == []
