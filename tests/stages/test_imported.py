"""Stage explain with the method imported: which examples it takes over, and in how many parts."""

import json

import pytest
from stages.cells import explain, rows_of

from exparity.core.errors import ExparityError, InputError


def imported(cell, path, output, **changes):
    return explain(cell, output, "imported", params={"path": str(path)}, **changes)


@pytest.fixture
def exported(cell, tmp_path):
    """Explanations of the true classes, as a file and as the rows that they come from."""
    rows = rows_of(explain(cell, tmp_path / "own.parquet"), "explanations")
    names = ("example_id", "target", "tokens", "scores")
    lines = [json.dumps({name: row[name] for name in names}) for row in rows]
    (tmp_path / "mine.jsonl").write_text("\n".join(lines))
    return tmp_path / "mine.jsonl", rows


def test_lines_of_examples_that_are_not_explained_do_no_harm(cell, tmp_path, exported):
    path, rows = exported
    output = imported(cell, path, tmp_path / "x.parquet", examples="correct", max_examples=8)
    taken = rows_of(output, "explanations")
    known = {row["example_id"]: row["scores"] for row in rows}
    assert 0 < len(taken) < len(rows)
    assert all(row["scores"] == known[row["example_id"]] for row in taken)


def test_another_class_than_the_file_explains_is_refused(cell, tmp_path, exported):
    with pytest.raises(InputError, match=r"mine\.jsonl:\d+: explains class \d of example .*target"):
        imported(cell, exported[0], tmp_path / "x.parquet", target="predicted")


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (1e39, r"example '\S+': the score -?\d\S+ overflows float32.*divide all scores"),
        (5e-324, "gives zero attributions for all 8 probe texts"),
    ],
    ids=["beyond", "below"],
)
def test_what_is_stored_is_checked(cell, tmp_path, exported, factor, message):
    """Scores of float64 that float32 makes infinite, or all zero."""
    path, _ = exported
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["scores"] = [factor * i for i in range(1, len(line["scores"]) + 1)]
    path.write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(ExparityError, match=message):
        imported(cell, path, tmp_path / "x.parquet")
    assert not (tmp_path / "x.parquet").exists()
