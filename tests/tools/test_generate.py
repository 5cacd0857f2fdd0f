"""``exparity generate``: matched sets of sentences, as the dataset `table` reads them."""

import gzip
import json

import pytest
import yaml
from data.tables import rows_of, write
from pyarrow import parquet
from support import refused_by

from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.tools.generate import generate

SENTENCES = (
    "He loves  his dog.",
    "It rains.",
    "She loves  her dog.",
    "The King (my uncle) saw her mother, and her!",
    "She told herself that he had lost her book.",
)


@pytest.fixture(autouse=True)
def in_its_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.txt").write_text("\n".join(SENTENCES) + "\n\n", encoding="utf-8")


@pytest.fixture
def generated(tmp_path, capsys):
    """Run it: the rows of its table, and what it prints."""

    def call(source="s.txt", **options):
        output = tmp_path / options.pop("output", "g.jsonl")
        generate(tmp_path / source, output=output, params=options.pop("params", {}), **options)
        if output.suffix == ".parquet":
            return parquet.read_table(output).to_pylist(), capsys.readouterr().out
        lines = output.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines], capsys.readouterr().out

    return call


def marked(row):
    words = row["text"].split()
    return [word for word, mark in zip(words, row["rationale"], strict=True) if mark]


class TestSets:
    def test_a_sentence_becomes_a_text_for_each_group_whose_changed_words_are_marked(
        self, generated
    ):
        rows, _ = generated()
        assert rows[0] == {
            "id": "1-male",
            "match": "1",
            "text": "He loves  his dog.",
            "label": "male",
            "group": "male",
            "rationale": [1, 0, 1, 0],
        }
        assert rows[1] == rows[0] | {
            "id": "1-female",
            "text": "She loves  her dog.",
            "label": "female",
            "group": "female",
        }

    def test_all_words_of_both_genders_are_set_to_the_gender_of_the_text(self, generated):
        rows, _ = generated()
        texts = {row["id"]: row["text"] for row in rows}
        assert texts["4-male"] == "The King (my uncle) saw his father, and him!"
        assert texts["4-female"] == "The Queen (my aunt) saw her mother, and her!"
        assert marked(rows[2]) == ["King", "uncle)", "his", "father,", "him!"]

    def test_of_the_subject_the_first_word_and_its_pronouns_change(self, generated):
        rows, _ = generated(changes="subject")
        texts = {row["id"]: row["text"] for row in rows}
        assert texts["5-male"] == "He told himself that he had lost his book."
        assert texts["5-female"] == "She told herself that he had lost her book."
        assert marked(rows[-1]) == ["She", "herself", "her"]
        assert texts["4-male"] == "The King (my uncle) saw her mother, and her!"
        assert marked(rows[2]) == ["King"]

    def test_sentences_without_such_words_and_repeated_sets_are_left_out_and_counted(
        self, generated
    ):
        rows, said = generated()
        assert {row["match"] for row in rows} == {"1", "4", "5"}
        assert said.splitlines()[0].endswith("s.txt: 5 sentences")
        assert "3 matched sets of male, female: 6 texts" in said
        assert "1 left out: in which no word tells the groups apart" in said
        assert "1 left out: with the texts of an earlier set" in said

    def test_options_go_to_the_generator(self, generated, tmp_path):
        (tmp_path / "s.txt").write_text("She let her go.\n")
        for her, text in {"next_word": "He let his go.", "neighbours": "He let him go."}.items():
            rows, _ = generated(params={"her": her})
            assert rows[0]["text"] == text

    def test_any_number_of_groups_of_any_attribute(self, generated, tmp_path):
        (tmp_path / "words.csv").write_text("north,south,west\nOslo,Rome,New York\nskis,sun,jazz\n")
        (tmp_path / "s.txt").write_text("Rome has sun.\nNobody came.\n")
        groups = ["west", "north", "south"]
        options = {"use": "word_pairs", "groups": groups, "params": {"pairs_file": "words.csv"}}
        rows, said = generated(**options)
        assert [row["text"] for row in rows] == [
            "New York has jazz.",
            "Oslo has skis.",
            "Rome has sun.",
        ]
        assert [row["rationale"] for row in rows] == [[1, 1, 0, 1], [1, 0, 1], [1, 0, 1]]
        assert "groups: [west, north, south]" in said
        (tmp_path / "s.txt").write_text("Rome has sun.\nThe sun!\n")
        rows, said = generated(changes="subject", **options)
        assert [row["text"] for row in rows] == ["The jazz!", "The skis!", "The sun!"]
        assert "1 left out: whose groups have other numbers of words" in said

    def test_a_text_that_only_adds_words_has_nothing_to_mark(self, generated, tmp_path):
        (tmp_path / "s.txt").write_text("A doctor came.\nA nurse came.\n")
        pairs = {"doctor": "woman doctor", "nurse": "matron"}
        rows, said = generated(use="word_pairs", groups=["m", "f"], params={"pairs": pairs})
        assert [row["text"] for row in rows] == ["A nurse came.", "A matron came."]
        assert "1 left out: to which a group adds words alone" in said


class TestTables:
    ROWS = rows_of(
        4,
        say=["He came.", ["She", "left", "her", "son"], "", "It rained."],
        key=("a", "b", "c", "d"),
        tone=("good", "bad", "bad", "good"),
    )

    def test_a_class_of_the_table_is_kept_and_has_no_rationale(self, generated, tmp_path):
        write(tmp_path / "t.jsonl", self.ROWS)
        rows, said = generated("t.jsonl", text_column="say", id_column="key", label_column="tone")
        assert [(row["id"], row["label"]) for row in rows] == [
            ("a-male", "good"),
            ("a-female", "good"),
            ("b-male", "bad"),
            ("b-female", "bad"),
        ]
        assert rows[3]["text"] == "She left her daughter"
        assert "rationale" not in rows[0]
        assert "rationale" not in said
        assert "1 left out: without say" in said

    def test_rows_without_a_class_are_left_out_and_counted(self, generated, tmp_path):
        write(tmp_path / "t.csv", rows_of(3, text=("He came.", "He left."), label=("x", "NA", "x")))
        rows, said = generated("t.csv", label_column="label")
        assert [row["match"] for row in rows] == ["1", "1"]
        assert "1 left out: without label" in said

    @pytest.mark.parametrize("suffix", ["txt", "txt.gz", "csv", "parquet"])
    def test_formats_of_sentences_make_the_same_sets(self, generated, tmp_path, suffix):
        rows, _ = generated()
        path = tmp_path / f"same.{suffix}"
        if suffix.startswith("txt"):
            lines = "".join(f"{line}\n" for line in SENTENCES).encode()
            path.write_bytes(gzip.compress(lines) if suffix.endswith("gz") else lines)
        else:
            write(path, [{"text": text} for text in SENTENCES])
        assert generated(path.name)[0] == rows

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
    @pytest.mark.parametrize("changes", ["all", "subject"])
    def test_the_printed_config_reads_the_table(self, generated, suffix, changes):
        rows, said = generated(output=f"g.{suffix}", changes=changes)
        config = yaml.safe_load(said.partition("In a config:")[2])
        (options,) = config["datasets"].values()
        data = load_dataset(options.pop("use"), DataSource(".", download=False), options)
        examples = {example.example_id: example for example in data}
        for row in rows:
            example = examples[row["id"]]
            assert (example.text, example.group) == (row["text"], row["group"])
            assert list(example.rationale) == row["rationale"]
            assert example.match_id == row["match"]
        assert examples["1-male"].label != examples["1-female"].label

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
    def test_the_same_sentences_make_the_same_bytes(self, generated, tmp_path, suffix):
        contents = set()
        for number in range(2):
            generated(output=f"{number}.{suffix}")
            contents.add((tmp_path / f"{number}.{suffix}").read_bytes())
        assert len(contents) == 1


@pytest.mark.parametrize(("arguments", "words"), refused_by(__file__)["bad_input"])
def test_bad_input_is_refused_and_nothing_written(refused, tmp_path, arguments, words):
    (tmp_path / "none.txt").write_text("It rains.\n")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\n")
    (tmp_path / "empty.txt").write_text("\n")
    write(tmp_path / "twice.csv", rows_of(2, text=("He came.", "She left."), key=("a",)))
    before = sorted(path.name for path in tmp_path.iterdir())
    assert words in refused("generate", *arguments)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_the_command_writes_the_table(run, tmp_path):
    code, said, _ = run("generate", "s.txt", "--output", "new/g.jsonl", "--changes", "subject")
    assert code == 0
    assert "3 matched sets" in said
    assert len((tmp_path / "new" / "g.jsonl").read_text().splitlines()) == 6
