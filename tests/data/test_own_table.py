"""A table of the user's own: every format, every option, and one line for every bad input."""

import csv
import gzip
import io
import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from data.tables import rows_of, write
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support import refused_by

from exparity.core.errors import InputError
from exparity.core.registry import paths_of
from exparity.data import DATASETS, load_with_facts
from exparity.data._rows import read_rows
from exparity.data.files import DataSource
from exparity.data.table import read_prepared
from exparity.stages.prepare import prepare

REFUSED = refused_by(__file__)

NOWHERE = DataSource(Path("nowhere"), download=False)


def table(n=20, **columns):
    """Return rows of two groups and two classes; columns beside or instead of theirs."""
    own = {"label": ("no", "yes"), "group": ("old", "old", "young", "young")}
    return rows_of(n, **{"text": lambda i: f"Review {i} is fine .", **own, **columns})


def load(path, **options):
    return load_with_facts("table", NOWHERE, {"path": str(path), **options})


def refused(path, **options):
    with pytest.raises(InputError) as error:
        load(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")


@pytest.mark.parametrize("suffix", FORMATS)
def test_formats_hold_the_same(suffix, tmp_path):
    found, facts = load(write(tmp_path / f"a.{suffix}", table()))
    assert (facts.attribute, facts.labels) == ("group", ("no", "yes"))
    assert facts.groups == ("old", "young")
    assert {e.example_id: (e.text, facts.labels[e.label], e.group) for e in found} == {
        f"{i:02d}": (row["text"], row["label"], row["group"])
        for i, row in enumerate(table(), start=1)
    }
    assert all(e.match_id is None and e.rationale is None for e in found)
    # One of five in each of the four combinations.
    tested = sorted((e.label, e.group) for e in found if e.split == "test")
    assert tested == [(label, group) for label in (0, 1) for group in ("old", "young")]


class TestCsv:
    def test_values_stay_as_written(self, tmp_path):
        rows = table(id=lambda i: f"0{i}", label=("NA", "01"))
        found, facts = load(write(tmp_path / "a.csv", rows), id="id", labels=["NA", "01"])
        assert facts.labels == ("NA", "01")
        assert {e.example_id for e in found} == {f"0{i}" for i in range(20)}

    def test_quotes_and_line_breaks(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('text,label,group\n"one,\n""two""",yes,a\n\nthree,no,b\n')
        rows = list(read_rows(path, ["text", "group"]))
        assert rows == [
            (f"{path}:2", {"text": 'one,\n"two"', "group": "a"}),
            (f"{path}:5", {"text": "three", "group": "b"}),
        ]

    @given(st.lists(st.tuples(st.text(), st.text(min_size=1)), min_size=1, max_size=5))
    def test_what_csv_can_hold_comes_back(self, tmp_path_factory, cells):
        path = tmp_path_factory.getbasetemp() / "any.csv"
        rows = [{"a": a.replace("\0", ""), "b": b.replace("\0", "") + "."} for a, b in cells]
        text = io.StringIO(newline="")
        writer = csv.DictWriter(text, ["a", "b"])
        writer.writeheader()
        writer.writerows(rows)
        path.write_bytes(text.getvalue().encode("utf-8", "replace"))
        expected = [{k: v.encode("utf-8", "replace").decode() for k, v in r.items()} for r in rows]
        assert [row for _, row in read_rows(path, ["a", "b"])] == expected

    def test_a_document_of_50000_words_is_read(self, tmp_path):
        rows = table()
        rows[3]["text"] = "word " * 50_000
        found, _ = load(write(tmp_path / "a.csv", rows))
        assert max(len(e.words) for e in found) == 50_000


class TestValues:
    def test_orders_may_be_set_also_with_numbers(self, tmp_path):
        path = write(tmp_path / "a.jsonl", table(label=(0, 1)))
        found, facts = load(path, groups=["young", "old"], labels=[1, 0, 2])
        assert (facts.groups, facts.labels) == (("young", "old"), ("1", "0", "2"))
        assert {e.label for e in found if int(e.example_id) % 2} == {1}

    def test_blanks_in_names_are_single_ones(self, tmp_path):
        rows = [{**row, "group": f" {row['group']}\n people "} for row in table()]
        assert load(write(tmp_path / "a.csv", rows))[1].groups == ("old people", "young people")

    def test_lists_of_words_and_rationales(self, tmp_path):
        rows = table(text=[["A", " ", "good ", "one"]], why=[[0, 1, 1, 0]])
        for suffix in ("jsonl", "parquet"):
            found, _ = load(write(tmp_path / f"a.{suffix}", rows), rationale="why")
            assert {(e.words, e.rationale) for e in found} == {(("A", "good", "one"), (0, 1, 0))}

    def test_splits_and_sets_of_the_table_are_kept(self, tmp_path):
        rows = table(
            id=lambda i: f"x{i}",
            set=lambda i: i // 4 if i < 16 else None,
            part=lambda i: "test" if i < 8 or i == 17 else "train",
        )
        rows[18]["group"] = "young"
        for suffix in FORMATS:
            path = write(tmp_path / f"a.{suffix}", rows)
            found, _ = load(path, id="id", match="set", split="part")
            by_id = {e.example_id: e for e in found}
            assert by_id["x5"].match_id == "1"
            assert by_id["x16"].match_id is None
            tested = {i for i, e in by_id.items() if e.split == "test"}
            assert tested == {f"x{i}" for i in (*range(8), 17)}


class TestRefusals:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("a.csv", b'text,label,group\n"a",no\n', "a.csv:2: 2 cells, but the header has 3"),
            ("a.csv", b'text,label,group\n"a,no,x\n', "a.csv:2: not valid CSV"),
            ("a.csv", b"text,label,group,label\na,no,x,yes\n", "several columns are 'label'"),
            ("a.csv", "text,label,group\n".encode("utf-16-le"), "no column 'text'; did you mean"),
            ("a.csv", b"text,label,group\na\0,no,x\n", ":2: text holds NUL characters"),
            ("a.csv", "text,label,group\na,no,x\né,n,x\n".encode("latin-1"), "a.csv:3: not UTF-8"),
            ("a.tsv", b'text\tlabel\n"bad\t0\nfine"\t1\n', "a.tsv:2: a double quote begins a cell"),
            (
                "a.csv.gz",
                gzip.compress(b"text,label,group\n", mtime=0)[:-9],
                "not a readable gzip",
            ),
            ("a.json", b"[1]", "a.json, row 1: expected a JSON object, found 1"),
            ("a.json", b'{"text": {"0": "a"}}', "a.json: is one JSON object; write a list of rows"),
            ("a.json", b'{\n"data": []\n}', "a.json: is one JSON object; write a list of rows"),
            (
                "a.jsonl",
                rb'{"text": "a", "label": "\u001b[31m", "group": "x"}',
                "'\\x1b[31m' is lo",
            ),
            ("a.jsonl", b"", "a.jsonl: has no rows"),
            ("a.xlsx", b"", "a.xlsx: a workbook is not read; save its sheet as CSV UTF-8"),
            ("a.doc", b"", "a.doc: unknown kind of table; use one of .csv, .tsv, .json, .jsonl"),
            ("gone.csv", None, "gone.csv: no such file; paths are relative to the current folder"),
        ],
    )
    def test_unreadable_files_are_refused(self, name, content, message, tmp_path):
        path = tmp_path / name
        if content is not None:
            path.write_bytes(content)
        assert message in refused(path, group=None if ".tsv" in name else "group")

    @pytest.mark.parametrize("kind", ["long", "many", "long and near"])
    def test_a_message_lists_headers_as_far_as_a_line_takes_them(self, kind, tmp_path):
        names = {
            "long": [f"{n}. How strongly do you agree? {'very ' * 2000}" for n in range(40)],
            "many": [f"question {n}" for n in range(5000)],
            "long and near": ["text" * 5000],
        }[kind]
        path = tmp_path / "a.csv"
        path.write_text(",".join(names) + "\n" + ",".join("x" for _ in names) + "\n")
        wanted = "text" * 4000 if kind == "long and near" else "wanted"
        message = refused(path, text=wanted).replace(wanted, "").replace(str(tmp_path), "")
        assert names[0][:30] in message
        assert len(message) < 1300
        if kind != "long and near":
            assert re.search(r"; known: .* and [\d,]+ more$", message)

    def test_a_folder_is_no_file(self, tmp_path):
        """Some programs write a table as a folder of parts."""
        path = tmp_path / "reviews.parquet"
        path.mkdir()
        assert refused(path) == f"{path}: is a folder; name its files, as in {path}/*.parquet"
        saved = tmp_path / "saved"  # as `datasets` does
        saved.mkdir()
        (saved / "state.json").write_text("{}")
        (saved / "data-00000-of-00001.arrow").write_bytes(b"")
        assert refused(saved).endswith(f"as in {saved}/*.arrow")

    @pytest.mark.parametrize(("changes", "message"), REFUSED["bad_values"])
    def test_rows_with_bad_values_are_refused(self, changes, message, tmp_path):
        rows = table(
            id=lambda i: f"x{i}",
            why=[[0] * 5],
            set=lambda i: f"s{i // 4}",
            part=lambda i: "test" if i < 8 else "train",
        )
        rows[3].update(changes)
        options = {"id": "id", "rationale": "why", "split": "part", "match": "set"}
        path = write(tmp_path / "a.jsonl", rows)
        with pytest.raises(InputError, match=message):
            load(path, **options)

    def test_parquet_with_a_column_twice_or_broken_text(self, tmp_path):
        path = tmp_path / "a.parquet"
        columns = pa.Table.from_pylist(table())
        parquet.write_table(columns.append_column("label", columns["text"]), path)
        assert refused(path) == f"{path}: several columns are 'label'; rename all but one"
        broken = pa.array([b"\xff"] * 20).view(pa.string())
        parquet.write_table(columns.set_column(0, "text", broken), path)
        assert f"{path}: not a readable Parquet file ('utf-8' codec" in refused(path)

    @pytest.mark.parametrize(
        ("one", "other"),
        [("caf\u00e9", "cafe\u0301"), ("m", "m\u200b"), ("m", "\uff4d")],
    )
    def test_names_that_look_the_same(self, one, other, tmp_path):
        rows = [{**row, "group": one if row["group"] == "old" else other} for row in table()]
        message = refused(write(tmp_path / "a.csv", rows))
        assert "look the same, and are not: " in message
        assert ascii(one) in message
        assert ascii(other) in message

    def test_more_classes_than_a_byte_counts(self, tmp_path):
        path = write(tmp_path / "a.csv", table(600, label=range(150)))
        prepare(tmp_path / "d.parquet", use="table", params={"path": str(path), "test_share": 1})
        prepared = read_prepared(tmp_path / "d.parquet")
        assert prepared.labels == tuple(map(str, range(150)))
        assert {example.label for example in prepared.examples} == set(range(150))

    def test_incomplete_rows_are_counted_in_one_error_and_left_out_if_asked(self, tmp_path):
        rows = table(40, id=lambda i: f"x{i}")
        for place in range(1, 6):
            rows[place]["text"] = " "
        rows[10]["group"], rows[11]["group"], rows[12]["label"] = "", "nan", ""
        rows[20]["id"] = rows[21]["id"] = rows[19]["id"]
        path = write(tmp_path / "a.csv", rows)
        assert refused(path, id="id").startswith(
            f"{path}: incomplete rows, 10 of 40: 5 without text ({path}:3, {path}:4, {path}:5, …), "
            f"2 without group ({path}:12, {path}:13), 1 without label ({path}:14), 2 with the id "
            f"of an earlier row ({path}:22, {path}:23); complete them, or leave them out with "
        )
        found, facts = load(path, id="id", drop_incomplete=True)
        assert len(found) == 30
        assert sum(facts.dropped.values()) == 10
        assert {"x1", "x10", "x12", "x20"}.isdisjoint(example.example_id for example in found)
        assert "x19" in {example.example_id for example in found}
        write(path, [{**row, "text": ""} for row in rows])
        assert "incomplete rows, 40 of 40" in refused(path, drop_incomplete=True)

    @pytest.mark.parametrize("separator", [";", "|"])
    def test_a_csv_file_may_have_another_separator(self, separator, tmp_path):
        path = write(tmp_path / "a.csv", table())
        expected = load(path)
        path.write_text(path.read_text().replace(",", separator))
        assert load(path) == expected


class TestTablesInTheWild:
    """Files as other tools and people write them."""

    @pytest.mark.parametrize("suffix", ["json", "jsonl", "parquet", "arrow"])
    def test_a_column_inside_another_is_named_with_a_point(self, suffix, tmp_path):
        rows = [
            {"text": row["text"], "gold": {"label": row["label"]}, "who": {"is": row["group"]}}
            for row in table()
        ]
        path = tmp_path / f"a.{suffix}"
        path.write_text(json.dumps(rows)) if suffix == "json" else write(path, rows)
        examples, facts = load(path, label="gold.label", group="who.is")
        flat = write(tmp_path / "flat.csv", table())
        assert examples == load(flat)[0]
        assert facts.attribute == "who.is"
        assert "no column 'gold.lable'" in refused(path, label="gold.lable", group="who.is")

    def test_json_is_an_array_or_lines(self, tmp_path):
        expected = load(write(tmp_path / "a.jsonl", table()))
        path = tmp_path / "a.json"
        for text in (
            "\ufeff" + json.dumps(table(), indent=1),
            (tmp_path / "a.jsonl").read_text(),
            pd.DataFrame(table()).to_json(indent=1, orient="records"),
        ):
            path.write_text(text)
            assert load(path) == expected

    def test_a_compressed_file_is_read_like_a_plain_one(self, tmp_path):
        plain = write(tmp_path / "a.tsv", table())
        path = tmp_path / "b.tsv.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
        assert load(path) == load(plain)

    @pytest.mark.parametrize("suffix", ["parquet", "arrow"])
    def test_classes_that_a_table_of_the_hub_names(self, suffix, tmp_path):
        classes = {"_type": "ClassLabel", "names": ["positive", "negative", "unsure"]}
        written = json.dumps({"info": {"features": {"label": classes}}})
        rows = table(label=(0, 1))
        rows[0]["label"] = -1
        path = write(tmp_path / f"a.{suffix}", rows, {"huggingface": written})
        assert f"1 without label ({path}, row 1)" in refused(path)
        examples, facts = load(path, drop_incomplete=True)
        assert facts.labels == ("positive", "negative", "unsure")
        assert not facts.labels_sorted
        assert all((int(e.example_id) - 1) % 2 == e.label for e in examples)
        examples, facts = load(path, drop_incomplete=True, labels=["negative", "positive"])
        assert all(int(e.example_id) % 2 == e.label for e in examples)

    def test_several_files_are_one_table(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        expected = load(write(Path("all.jsonl"), table()))
        names = [f"t-0000{i}-of-00002.jsonl" for i in range(2)]
        for i, name in enumerate(names):
            write(Path(name), table()[10 * i :][:10])
        assert load_with_facts("table", NOWHERE, {"path": names}) == expected
        assert load("t-*.jsonl") == expected
        entry = DATASETS.get("table")
        assert entry.input_files({"path": "t-*.jsonl"}, "datasets.mine") == [*map(Path, names)]
        assert refused("u-*.jsonl") == "path: u-*.jsonl: fits no file; list the files"
        rows = table()[10:]
        rows[2]["text"] = ""
        write(Path(names[1]), rows)
        assert f"1 without text ({names[1]}:3)" in refused("t-*.jsonl")

    def test_shards_of_the_hub_are_counted_by_their_names(self):
        address = "hf://datasets/a/b/train-*-of-00003.parquet"
        assert paths_of(address, "") == [address.replace("*", f"0000{i}") for i in range(3)]
        with pytest.raises(InputError, match="fits no file; list the files, or write how many"):
            paths_of("hf://datasets/a/b/*.parquet", "")


def test_braces_of_a_path_are_wildcards(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("{x}.csv").touch()
    with pytest.raises(InputError, match=r"mine.path: \{x\}.csv: '\{' and '\}' are"):
        DATASETS.get("table").input_files({"path": "{x}.csv"}, "datasets.mine")


class TestSpellings:
    """Values as different programs write them."""

    @pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
    def test_numbers_and_booleans_are_the_same_in_every_file(self, suffix, tmp_path):
        """A column of whole numbers with a gap is one of floats in pandas."""
        numbers = {"label": lambda i: float(i % 12), "group": (1.0, 2.0), "flag": (True, False)}
        path = write(tmp_path / f"a.{suffix}", table(24, **numbers))
        found, facts = load(path, test_share=1)
        assert facts.labels == tuple(map(str, range(12)))
        assert facts.groups == ("1", "2")
        assert [example.label for example in found] == [i % 12 for i in range(24)]
        assert load(path, group="flag")[1].groups == ("false", "true")
        if suffix == "parquet":  # as databases write them
            path = write(path, table(24, label=(Decimal(0), Decimal(1))))
            assert load(path)[1].labels == ("0", "1")

    @pytest.mark.parametrize("marks", [[0.0, 1.0, 0.0], "0 1 0", "[False, True, False]"])
    def test_marks_are_numbers_or_booleans(self, marks, tmp_path):
        path = write(tmp_path / "a.jsonl", table(text=["a b c"], r=[marks]))
        found, _ = load(path, rationale="r")
        assert {example.rationale for example in found} == {(0, 1, 0)}

    @pytest.mark.parametrize(
        ("column", "missing"),
        [
            *(
                ("group", value)
                for value in (None, "", "nan", "None", "N/A", "NULL", "<NA>", "#N/A")
            ),
            *(("text", value) for value in ("\u200b \ufeff", "\t\n")),
        ],
    )
    def test_missing_values_are_counted_and_left_out(self, column, missing, tmp_path):
        rows = table()
        rows[3][column] = missing
        path = write(tmp_path / "a.jsonl", rows)
        assert f"1 of 20: 1 without {column} ({path}:4)" in refused(path)
        found, facts = load(path, drop_incomplete=True)
        assert (facts.groups, len(found), sum(facts.dropped.values())) == (("old", "young"), 19, 1)

    def test_none_may_be_a_class_or_a_group_that_is_listed(self, tmp_path):
        path = write(tmp_path / "a.jsonl", table(group=("None", "None", "m", "m")))
        assert load(path, groups=["None", "m"])[1].groups == ("None", "m")
        assert load(write(path, table(label=("None", "hate"))))[1].labels == ("None", "hate")

    @pytest.mark.parametrize("separator", [",", ";"])
    def test_a_first_line_may_name_the_separator(self, separator, tmp_path):
        path = tmp_path / "a.csv"
        lines = [f"sep={separator}", *(separator.join(row) for row in ("tlg", "a1m"))]
        path.write_text("\ufeff" + "\r\n".join(lines) + "\r\n", encoding="utf-8")
        assert list(read_rows(path, ["t", "g"])) == [(f"{path}:3", {"t": "a", "g": "m"})]

    def test_separators_in_quoted_names_of_columns_do_not_count(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text('"a, b, c";l\nx;1\n')
        assert [row for _, row in read_rows(path, ["l"])] == [{"l": "1"}]

    def test_lines_may_end_with_carriage_returns(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_bytes(b"t,l\ra,1\rb,2\r")
        assert [row["t"] for _, row in read_rows(path, ["t", "l"])] == ["a", "b"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_combination_of_columns_that_a_row_has_is_a_group(suffix, tmp_path):
    rows = table(48, race="AAAABBBBCCCC")
    rows = [row for row in rows if (row["group"], row["race"]) != ("old", "C")]
    found, facts = load(write(tmp_path / f"a.{suffix}", rows), group=["group", "race"])
    assert facts.attribute == "group & race"
    assert facts.groups == ("old & A", "old & B", "young & A", "young & B", "young & C")
    wanted = {f"{i:02d}": f"{r['group']} & {r['race']}" for i, r in enumerate(rows, start=1)}
    assert {example.example_id: example.group for example in found} == wanted


class TestWithoutGroups:
    @pytest.mark.parametrize("said", [{"groups": []}, {"group": None}])
    def test_no_column_of_groups_is_read(self, tmp_path, said):
        rows = rows_of(20, text=lambda i: f"text {i}", label="ny")
        examples, facts = load(write(tmp_path / "t.csv", rows), **said)
        assert (facts.attribute, facts.groups) == ("", ())
        assert len(examples) == 20
        assert {example.group for example in examples} == {""}
        assert {example.split for example in examples} == {"train", "test"}

    def test_a_dataset_whose_groups_its_facts_do_not_tell_is_refused(self, monkeypatch, tmp_path):
        """The workflow plans no test for data that seem to have no groups."""
        entry = DATASETS.get("table")
        silent = replace(entry, facts=replace(entry.facts, group_option=None))
        monkeypatch.setitem(DATASETS._entries, "table", silent)
        with pytest.raises(InputError, match="it has the groups old, young, and its facts say"):
            load(write(tmp_path / "t.csv", table()))
