"""Stage explain with the method imported: which examples it takes over, and in how many parts."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from support import CPU

from exparity.artefacts.files import read_artefact
from exparity.artefacts.lineage import sha256_of
from exparity.cli import main
from exparity.core.errors import ExparityError, InputError
from exparity.methods import METHODS
from exparity.stages.explain import explain_cell


def inputs(cell):
    return cell / "data.parquet", cell / "mine" / "3", cell / "predictions.parquet"


def imported(path):
    return {"use": "imported", "params": {"path": str(path)}, "seed": 3, "machine": CPU}


@pytest.fixture
def exported(cell, tmp_path):
    """Explanations of the true classes, as a file and as the rows that they come from."""
    explain_cell(
        *inputs(cell), tmp_path / "own.parquet", use="gradient", params={}, seed=3, machine=CPU
    )
    rows = read_artefact(tmp_path / "own.parquet", "explanations")[0].to_pylist()
    names = ("example_id", "target", "tokens", "scores")
    lines = [json.dumps({name: row[name] for name in names}) for row in rows]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    return tmp_path / "mine.jsonl", rows


def without_method(rows):
    return [{name: value for name, value in row.items() if name != "method"} for row in rows]


def test_the_command_writes_what_explain_would(cell, tmp_path, exported):
    path, rows = exported
    data, checkpoint, predictions = map(str, inputs(cell))
    output = tmp_path / "x.parquet"
    command = ["explain", "--use", "imported", "--param", f"path={path}", "--output", str(output)]
    command += ["--data", data, "--checkpoint", checkpoint, "--predictions", predictions]
    assert main([*command, "--seed", "3", "--method-id", "theirs", "--device", "cpu"]) == 0
    table, metadata = read_artefact(output, "explanations")
    assert without_method(table.to_pylist()) == without_method(rows)
    assert set(table["method"].to_pylist()) == {"theirs"}
    assert metadata["files"] == {str(path): sha256_of(path)}


def test_lines_of_examples_that_are_not_explained_do_no_harm(cell, tmp_path, exported):
    path, rows = exported
    output = tmp_path / "x.parquet"
    explain_cell(*inputs(cell), output, **imported(path), examples="correct", max_examples=8)
    taken = read_artefact(output, "explanations")[0].to_pylist()
    known = {row["example_id"]: row["scores"] for row in rows}
    assert 0 < len(taken) < len(rows)
    assert all(row["scores"] == known[row["example_id"]] for row in taken)


def test_another_class_than_the_file_explains_is_refused(cell, tmp_path, exported):
    with pytest.raises(InputError, match=r"mine\.jsonl:\d+: explains class \d of example .*target"):
        explain_cell(
            *inputs(cell), tmp_path / "x.parquet", **imported(exported[0]), target="predicted"
        )


def test_shards_say_where_they_come_from(cell, tmp_path, exported):
    path, rows = exported
    shards = [tmp_path / f"{i}.parquet" for i in (1, 2)]
    for i, shard in enumerate(shards, start=1):
        explain_cell(*inputs(cell), shard, shard=f"{i}/2", **imported(path))
    explain_cell(*inputs(cell), tmp_path / "x.parquet", gather=shards, **imported(path))
    table, metadata = read_artefact(tmp_path / "x.parquet", "explanations")
    assert without_method(table.to_pylist()) == without_method(rows)
    assert metadata["files"] == {str(path): sha256_of(path)}


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (1e39, r"example '\S+': the score -?\d\S+ does not fit into float32.*divide all scores"),
        (5e-324, "gives zero attributions for all 8 probe texts"),
    ],
    ids=["beyond", "below"],
)
def test_d8_what_is_stored_is_checked(cell, tmp_path, exported, factor, message):
    """D8: scores of float64 that float32 makes infinite, or all zero."""
    path, _ = exported
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["scores"] = [factor * i for i in range(1, len(line["scores"]) + 1)]
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ExparityError, match=message):
        explain_cell(*inputs(cell), tmp_path / "x.parquet", **imported(path))
    assert not (tmp_path / "x.parquet").exists()


def test_d8_what_a_method_gives_is_checked_as_it_is_stored(cell, tmp_path, monkeypatch):
    entry = METHODS.get("gradient")
    huge = dataclasses.replace(
        entry, function=lambda batch, **_: [1e39 * np.arange(1, n + 1) for n in batch.lengths]
    )
    monkeypatch.setitem(METHODS._entries, "gradient", huge)
    with pytest.raises(InputError, match=r"example '\S+': the score 1e\+39 does not fit"):
        explain_cell(
            *inputs(cell), tmp_path / "x.parquet", use="gradient", params={}, seed=3, machine=CPU
        )
