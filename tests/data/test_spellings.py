"""Values of tables as different programs write them: numbers, booleans, marks, missing ones."""

import pandas as pd
import pytest
from data.tables import write

from exparity import InputError
from exparity.data._rows import read_rows
from exparity.data.files import DataSource
from exparity.data.own_table import own_table

N = 24


def load(path, **options):
    return own_table(DataSource("data"), path=str(path), test_share=1.0, **options)


def save(table, folder, suffix):
    path = folder / f"table{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    elif suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    else:
        table.to_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_numbers_and_booleans_are_the_same_in_every_file(tmp_path, suffix):
    """A column of whole numbers with a gap is one of floats in pandas."""
    table = pd.DataFrame(
        {
            "text": [f"text number {i}" for i in range(N)],
            "label": [float(i % 12) for i in range(N)],
            "group": [float(1 + i % 2) for i in range(N)],
            "flag": [i % 2 == 0 for i in range(N)],
        }
    )
    path = save(table, tmp_path, suffix)
    found = load(path)
    assert found.labels == tuple(map(str, range(12)))
    assert found.groups == ("1", "2")
    assert [example.label for example in found.examples] == [i % 12 for i in range(N)]
    assert load(path, group="flag").groups == ("false", "true")


def rows_of(**changed):
    rows = [{"text": "a b c", "label": i % 2, "group": "mf"[i % 2]} for i in range(6)]
    return [{**row, **changed} for row in rows]


@pytest.mark.parametrize(
    "marks",
    [
        [0, 1, 0],
        [0.0, 1.0, 0.0],
        [False, True, False],
        "0 1 0",
        "0,1,0",
        "[0, 1, 0]",
        "0.0 1.0 0.0",
        "[False, True, False]",
    ],
)
def test_marks_are_numbers_or_booleans(tmp_path, marks):
    found = load(write(tmp_path / "rows.jsonl", rows_of(r=marks)), rationale="r")
    assert {example.rationale for example in found.examples} == {(0, 1, 0)}


@pytest.mark.parametrize("mark", [2, 0.5, "yes", None])
def test_other_marks_are_refused(tmp_path, mark):
    with pytest.raises(InputError, match="r must be 0 or 1 per word"):
        load(write(tmp_path / "rows.jsonl", rows_of(r=[mark, 0, 1])), rationale="r")


@pytest.mark.parametrize("missing", [None, "", "nan", "None", "N/A", "NULL", "<NA>", "#N/A"])
def test_missing_groups_are_counted_and_left_out(tmp_path, missing):
    rows = rows_of()
    rows[3]["group"] = missing
    path = write(tmp_path / "rows.jsonl", rows)
    with pytest.raises(InputError, match=r"1 of 6: 1 without group \(.*rows.jsonl:4\)"):
        load(path)
    found = load(path, drop_incomplete=True)
    assert (found.groups, len(found.examples)) == (("f", "m"), 5)


def test_none_may_be_a_class_or_a_group_that_is_listed(tmp_path):
    rows = rows_of(label="a")
    rows[1]["label"], rows[3]["group"] = "b", "None"
    path = write(tmp_path / "groups.jsonl", rows)
    assert load(path, groups=["None", "m", "f"]).groups == ("None", "m", "f")
    rows = [{**row, "label": ("None", "hate")[i % 2]} for i, row in enumerate(rows_of())]
    assert load(write(tmp_path / "rows.jsonl", rows)).labels == ("None", "hate")


@pytest.mark.parametrize("separator", [",", ";"])
def test_a_first_line_may_name_the_separator(tmp_path, separator):
    path = tmp_path / "table.csv"
    lines = [f"sep={separator}", *(separator.join(row) for row in ("tlg", "a1m"))]
    path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
    assert [row for _, row in read_rows(path, ["t", "l", "g"])] == [{"t": "a", "l": "1", "g": "m"}]


def test_lines_may_end_with_carriage_returns(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"t,l\ra,1\rb,2\r")
    assert [row["t"] for _, row in read_rows(path, ["t", "l"])] == ["a", "b"]
