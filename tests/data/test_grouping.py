"""Groups by words: counts against a naive loop, ties, tables of every kind, and refusals."""

import json
import re

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet
from support import REAL, need, refused_by

from exparity.cli import main
from exparity.core.errors import InputError
from exparity.data import load_dataset, load_with_facts
from exparity.data._rows import read_rows, write_rows
from exparity.data._sst import FILES, read_sentences
from exparity.data.files import DataSource
from exparity.data.grouping import NONE, TIED, group_table, most_named, term_counter

REFUSED = refused_by(__file__)

TERMS = {"young": ["teen", "student", "young man"], "old": ["pensioner", "man"]}
ROWS = [
    {"id": "01", "review": "The TEEN's film, the student's choice.", "stars": "4"},
    {"id": "02", "review": "A pensioner (not a teen) and a man", "stars": "NA"},
    {"id": "03", "review": "A teen and a pensioner", "stars": "1"},
    {"id": "04", "review": "Nobody", "stars": "1"},
    {"id": "05", "review": "A young man", "stars": "2"},
]


class TestCounts:
    @pytest.mark.parametrize(
        ("text", "young", "old"),
        [
            ("A teen , a Student .", 2, 0),
            ("teen's TEEN, (teen) teen-student teen/pensioner", 6, 1),
            ("teens pensioners manly human", 0, 0),
            ("young man young man man", 2, 1),
            ("young , man", 1, 0),
            ("young", 0, 0),
        ],
    )
    def test_by_hand(self, text, young, old):
        assert term_counter(TERMS)(text.split()) == {"young": young, "old": old}

    @given(st.lists(st.sampled_from(["he", "He's", "she", "(she", "the", "HE!", "he-she", "_he_"])))
    def test_by_a_naive_loop(self, words):
        count = term_counter({"male": ["he"], "female": ["she"]})
        expected = {"male": 0, "female": 0}
        for word in words:
            for part in re.split(r"[\W_]+", word.lower()):
                expected["male"] += part == "he"
                expected["female"] += part == "she"
        assert count(words) == expected

    @given(st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=2))
    def test_the_group_is_the_only_one_with_the_most(self, counts):
        group = most_named(counts)
        most = max(counts.values())
        if group in counts:
            assert all(n < counts[group] for name, n in counts.items() if name != group)
        elif group == TIED:
            assert most > 0
            assert list(counts.values()).count(most) > 1
        else:
            assert (group, most) == (NONE, 0)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "reviews.csv"
    write_rows(path, ROWS)
    return path


class TestTable:
    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
    def test_of_every_kind(self, suffix, tmp_path):
        path, output = tmp_path / f"in{suffix}", tmp_path / f"out{suffix}"
        write_rows(path, ROWS)
        sizes = group_table(path, output, text="review", terms=TERMS)
        assert sizes == {"young": 2, "old": 1, TIED: 1, NONE: 1}
        number = int if suffix in (".jsonl", ".parquet") else str
        assert [row for _, row in read_rows(output, None)] == [
            {**ROWS[i], "group": group, "n_young": number(young), "n_old": number(old)}
            for i, group, young, old in ((0, "young", 2, 0), (1, "old", 1, 2), (4, "young", 1, 0))
        ]

    def test_lists_of_words_and_other_columns_are_kept(self, tmp_path):
        rows = [{"words": ["a", "teen"], "n": 3, "marks": [0, 1]}, {"words": ["man"], "n": None}]
        path, output = tmp_path / "in.parquet", tmp_path / "out.parquet"
        parquet.write_table(pa.Table.from_pylist(rows), path)
        group_table(path, output, text="words", terms=TERMS, column="age")
        kept = parquet.read_table(output).to_pylist()
        assert [(row["words"], row["n"], row["marks"], row["age"]) for row in kept] == [
            (["a", "teen"], 3, [0, 1], "young"),
            (["man"], None, None, "old"),
        ]

    @pytest.mark.parametrize(("options", "message"), REFUSED["what_cannot_be_grouped_is_refused"])
    def test_what_cannot_be_grouped_is_refused(self, options, message, table, tmp_path):
        options = {"text": "review", "terms": TERMS, **options}
        with pytest.raises(InputError, match=message):
            group_table(table, tmp_path / "out.csv", **options)
        assert not (tmp_path / "out.csv").exists()

    def test_another_kind_of_output_is_refused(self, table, tmp_path):
        with pytest.raises(InputError, match=r"out.tsv: give it the suffix of reviews.csv, '.csv'"):
            group_table(table, tmp_path / "out.tsv", text="review", terms=TERMS)


class TestCommand:
    def run(self, *arguments):
        return main(["assign-groups", *map(str, arguments)])

    def test_own_words_then_a_dataset(self, table, tmp_path, capsys):
        output = tmp_path / "grouped.csv"
        pairs = json.dumps({"teen": "pensioner", "student": "man"})
        arguments = ["--table", table, "--text", "review", "--output", output]
        own = ["--generator", "word_pairs", "--param", f"pairs={pairs}", "--groups", "young", "old"]
        assert self.run(*arguments, *own) == 0
        assert capsys.readouterr().out.splitlines() == [
            f"{output}: 1 texts of group young",
            f"{output}: 2 texts of group old",
            "left out: 1 with as many words of two groups, 1 with none",
        ]
        assert [row["id"] for _, row in read_rows(output, None)] == ["01", "02", "05"]
        assert self.run(*arguments, "--generator", "gender_pronouns") == 2
        assert "no text has more words" in capsys.readouterr().err

    def test_words_of_a_file_for_any_number_of_groups(self, table, tmp_path):
        words = tmp_path / "words.csv"
        words.write_text("old,young,other\nPensioner,teen,x\nman,student,film\n")
        named = ["--generator", "word_pairs", "--param", f"pairs_file={words}"]
        output = tmp_path / "out.csv"
        arguments = ["--table", table, "--text", "review", "--output", output, *named]
        assert self.run(*arguments, "--groups", "young", "old", "other") == 0
        columns = ("id", "group", "n_young", "n_old", "n_other")
        assert [tuple(row[name] for name in columns) for _, row in read_rows(output, columns)] == [
            ("01", "young", "2", "0", "1"),
            ("02", "old", "1", "2", "0"),
            ("05", "old", "0", "1", "0"),
        ]

    @pytest.mark.parametrize(("arguments", "message"), REFUSED["refusals_are_one_line"])
    def test_refusals_are_one_line(self, arguments, message, table, tmp_path, capsys):
        output = tmp_path / "out.csv"
        assert self.run("--table", table, "--text", "review", "--output", output, *arguments) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line

    def test_the_groups_of_the_dataset_of_the_same_words(self, tmp_path):
        """SST as a table of one's own, grouped by the command, is sst_gender."""
        need((REAL / FILES["test"].path).is_file(), f"SST below {REAL} (or EXPARITY_DATA)")
        source = DataSource(REAL, download=False)
        rows = [
            {"id": f"{part}-{tree.number:04d}", "text": " ".join(tree.words),
             "label": str(tree.rating), "split": "test" if part == "test" else "train"}
            for part, file in FILES.items() for tree in read_sentences(source.find(file))
        ]  # fmt: skip
        write_rows(tmp_path / "sst.csv", rows)
        output = tmp_path / "grouped.csv"
        assert self.run("--table", tmp_path / "sst.csv", "--output", output) == 0
        options = {"path": str(output), "id": "id", "split": "split", "groups": ["male", "female"]}
        own, facts = load_with_facts("table", source, options)
        assert facts.groups == ("male", "female")
        as_dataset = load_dataset("sst_gender", source, {"classes": "five"})
        assert len(own) > 1000
        assert [(e.example_id, e.words, e.label, e.group) for e in own] == [
            (e.example_id, e.words, e.label, e.group) for e in as_dataset
        ]
