"""Names of classes, groups and ids in tables: one answer in every format, and nothing silent."""

import json
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from data.tables import rows_of, write
from pyarrow import parquet

from exparity.core.errors import InputError
from exparity.data import load_with_facts
from exparity.data.files import DataSource

FORMATS = ("csv", "tsv", "jsonl", "parquet")
HERE = DataSource(Path(), download=False)


def table(n=24, **columns):
    names = {"label": ("no", "yes"), "group": ("old", "old", "young", "young")}
    return rows_of(n, **{"text": lambda i: f"Review {i} is fine .", **names, **columns})


def load(path, **options):
    return load_with_facts("table", HERE, {"path": str(path), **options})


def refused(path, **options):
    with pytest.raises(InputError) as error:
        load(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def hub_table(path, labels, names=("no", "yes")):
    """Write a Parquet file whose label column declares classes, as the library datasets does."""
    feature = {"_type": "ClassLabel", "names": list(names)}
    written = json.dumps({"info": {"features": {"label": feature}}})
    rows = pa.table(
        {
            "text": [f"Review {i} is fine ." for i in range(len(labels))],
            "label": labels,
            "group": [("old", "young")[i // 2 % 2] for i in range(len(labels))],
        }
    )
    parquet.write_table(rows.replace_schema_metadata({"huggingface": written}), path)
    return path


class TestDeclaredClassNumbers:
    @pytest.mark.parametrize("number", [-2, -100, 2, 3, 2**40])
    def test_a_number_of_no_class_is_one_line_with_the_row(self, number, tmp_path):
        path = hub_table(tmp_path / "a.parquet", [0, 1, number, *[0, 1] * 10])
        message = f"{path}, row 3: label is {number}, and the file declares the classes 0 to 1"
        assert refused(path).startswith(message)
        assert refused(path, drop_incomplete=True).startswith(message)

    @pytest.mark.parametrize("number", [0.5, float("inf")])
    def test_a_fraction_is_no_class(self, number, tmp_path):
        path = hub_table(tmp_path / "a.parquet", [0.0, 1.0, number, *[0.0, 1.0] * 10])
        assert refused(path).startswith(f"{path}, row 3: label is {number}, and the file declares")

    @pytest.mark.parametrize("missing", [-1.0, None, float("nan")])
    def test_whole_floats_are_classes_and_missing_ones_are_missing(self, missing, tmp_path):
        path = hub_table(tmp_path / "a.parquet", [0.0, 1.0, missing, *[0.0, 1.0] * 10])
        assert f"1 of 23: 1 without label ({path}, row 3)" in refused(path)
        examples, facts = load(path, drop_incomplete=True)
        assert (facts.labels, len(examples)) == (("no", "yes"), 22)

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_minus_one_is_missing_where_classes_are_listed_without_it(self, suffix, tmp_path):
        rows = table(label=(0, 1))
        rows[2]["label"] = -1
        path = write(tmp_path / f"a.{suffix}", rows)
        assert "1 of 24: 1 without label" in refused(path, labels=[0, 1])
        assert len(load(path, labels=[0, 1], drop_incomplete=True)[0]) == 23
        assert load(path)[1].labels == load(path, labels=[-1, 0, 1])[1].labels == ("-1", "0", "1")

    @pytest.mark.parametrize("suffix", FORMATS)
    @pytest.mark.parametrize("number", [-2, -100, 2])
    def test_other_numbers_are_named_with_their_row(self, suffix, number, tmp_path):
        rows = table(label=(0, 1))
        rows[2]["label"] = number
        path = write(tmp_path / f"a.{suffix}", rows)
        message = refused(path, labels=[0, 1], drop_incomplete=True)
        assert f"label '{number}' is not one of 0, 1" in message

    def test_files_of_one_table_declare_the_same_classes(self, tmp_path):
        first = hub_table(tmp_path / "a.parquet", [0, 1] * 12)
        second = hub_table(tmp_path / "b.parquet", [0, 1] * 12, names=("yes", "no"))
        paths = [str(first), str(second)]
        with pytest.raises(InputError, match=r"b.parquet: column 'label' declares yes, no, but"):
            load_with_facts("table", HERE, {"path": paths})
        assert load_with_facts("table", HERE, {"path": paths, "labels": ["no", "yes"]})


class TestNumbers:
    @pytest.mark.parametrize("column", ["label", "group"])
    @pytest.mark.parametrize("suffix", FORMATS)
    def test_shares_are_refused_with_a_word_on_bands(self, suffix, column, tmp_path):
        path = write(tmp_path / f"a.{suffix}", table(**{column: (0.0, 0.166667, 0.5, 1.0)}))
        message = refused(path)
        assert f"{column} must be text or a whole number, found 0.166667; cut such" in message
        assert "into bands in the file" in message

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_listed_numbers_are_names(self, suffix, tmp_path):
        path = write(tmp_path / f"a.{suffix}", table(label=(0.5, 4.5)))
        assert load(path, labels=["4.5", "0.5"])[1].labels == ("4.5", "0.5")

    def test_whole_numbers_are_numbers_however_they_are_written(self, tmp_path):
        path = write(tmp_path / "a.csv", table(label=("1e+05", "2.0")))
        assert load(path)[1].labels == ("2", "100000")

    @pytest.mark.parametrize("number", ["1e999", "1e99999999999999999999", 10**300])
    def test_longer_numbers_than_names_are_refused(self, number, tmp_path):
        path = write(tmp_path / "a.csv", table(label=(number, "1")))
        assert ":2: label " in refused(path)

    def test_decimals_of_many_digits(self, tmp_path):
        values = (Decimal(10**30), Decimal(1))
        path = write(tmp_path / "a.parquet", table(label=values))
        assert load(path)[1].labels == ("1", str(10**30))

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_ids_may_be_any_number(self, suffix, tmp_path):
        path = write(tmp_path / f"a.{suffix}", table(key=lambda i: i + 0.5))
        assert {"0.5", "23.5"} <= {example.example_id for example in load(path, id="key")[0]}

    @pytest.mark.parametrize("pair", [("TRUE", "FALSE"), ("True", "False"), (True, False)])
    def test_booleans_of_r_spreadsheets_and_python_are_the_same(self, pair, tmp_path):
        path = write(tmp_path / "a.csv", table(label=pair))
        assert load(path)[1].labels == ("false", "true")


class TestMissing:
    @pytest.mark.parametrize("suffix", FORMATS)
    @pytest.mark.parametrize("column", ["label", "group"])
    @pytest.mark.parametrize("word", ["NA", "N/A", "#N/A", "NULL", "NaN", "", " NA ", "#DIV/0!"])
    def test_words_of_r_pandas_and_spreadsheets(self, suffix, column, word, tmp_path):
        rows = table()
        rows[3][column] = word
        path = write(tmp_path / f"a.{suffix}", rows)
        assert f"1 of 24: 1 without {column}" in refused(path)
        assert len(load(path, drop_incomplete=True)[0]) == 23

    @pytest.mark.parametrize("suffix", FORMATS)
    def test_listed_words_are_names(self, suffix, tmp_path):
        path = write(tmp_path / f"a.{suffix}", table(label=("NA", "DE"), group=("NULL", "x")))
        assert "'NA', 'NULL' count as missing, unless `labels` or `groups` list" in refused(path)
        facts = load(path, labels=["DE", "NA"], groups=["x", "NULL"])[1]
        assert (facts.labels, facts.groups) == (("DE", "NA"), ("x", "NULL"))

    @pytest.mark.parametrize("name", [".", "-", "na", "none", "None", "Nan Goldin"])
    def test_other_words_are_classes(self, name, tmp_path):
        path = write(tmp_path / "a.csv", table(label=(name, "x")))
        assert set(load(path)[1].labels) == {name, "x"}

    def test_a_text_may_be_any_word(self, tmp_path):
        rows = table()
        rows[0]["text"] = "NA"
        assert "NA" in {example.text for example in load(write(tmp_path / "a.csv", rows))[0]}

    def test_a_table_as_r_writes_it(self, tmp_path):
        lines = ['"","text","label","group"']
        for i in range(1, 21):
            group = "NA" if i % 5 == 0 else '"m"' if i // 2 % 2 else '"f"'
            lines.append(f'"{i}","film {i}",{"TRUE" if i % 2 else "FALSE"},{group}')
        path = tmp_path / "r.csv"
        path.write_text("\n".join(lines) + "\n")
        assert "4 of 20: 4 without group" in refused(path)
        examples, facts = load(path, drop_incomplete=True)
        assert (len(examples), facts.labels, facts.groups) == (16, ("false", "true"), ("f", "m"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_two_combinations_of_values_are_never_one_group(suffix, tmp_path):
    rows = table(group=("a & b", "a", "x", "y"), other=("c", "b & c", "z", "w"))
    path = write(tmp_path / f"a.{suffix}", rows)
    message = refused(path, group=["group", "other"])
    assert "['a', 'b & c'] and ['a & b', 'c'] would both be the group 'a & b & c'" in message


class TestPaths:
    def test_a_table_in_the_home_folder(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        write(tmp_path / "mine.csv", table())
        assert len(load("~/mine.csv")[0]) == 24
        assert len(load("~/m*.csv")[0]) == 24

    @pytest.mark.parametrize("path", ["https://example.org/a.csv", "s3://bucket/a.csv"])
    def test_an_address_of_the_web_is_no_file(self, path):
        assert f"path: {path}: only hf://datasets/OWNER/NAME/FILE is read from" in refused(path)


@pytest.mark.parametrize("end", ["1.5", "1e999", "true", '"6"', "NaN", "[" * 5000 + "]" * 5000])
@pytest.mark.parametrize("option", ["spans", "unit_spans"])
def test_spans_are_whole_numbers(end, option, tmp_path):
    path = write(tmp_path / "a.csv", table(s=[f"[[0, {end}]]"]))
    assert refused(path, **{option: "s"}).startswith(f"{path}:2: s must be the start and end of")


def test_spans_may_be_whole_floats(tmp_path):
    path = write(tmp_path / "a.parquet", table(s=[[[0.0, 6.0], [7.0, 8.0]]]))
    assert load(path, spans="s")[0][0].words[0] == "Review"
