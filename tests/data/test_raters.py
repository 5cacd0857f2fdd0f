"""Words that raters marked: the long table, its faults, and the published answers."""

import csv
import json
import math
import re
from collections import Counter

import pytest
from data.tables import raw_files, write
from support import REAL, need, tiny

from exparity.artefacts.files import read_artefact
from exparity.core.errors import InputError
from exparity.data import DATASETS, load_dataset
from exparity.data.fair_rationales import FILES
from exparity.data.files import DataSource
from exparity.data.raters import RaterTable, checked_markings
from exparity.data.sst import FILES as TREES
from exparity.quantities.raters import EVERY, RatedTexts
from exparity.stages.prepare import prepare
from exparity.stages.raters import read_raters
from exparity.types import Example

TEXTS = {"t1": "a good film", "t2": "so very dull"}
ROW = {"id": "t1", "rater": "7", "age": "old", "rationale": "[0, 1, 0]", "said": "positive"}
TREE = {"train": "(4 (2 A) (4 (3 good) (2 film)))", "dev": "(1 (2 A) (1 (1 bad) (2 one)))"}


def examples():
    return {
        name: Example(example_id=name, words=tuple(text.split()), label=0, group="", split="test")
        for name, text in TEXTS.items()
    }


def markings(folder, *changes, **options):
    """What a table says, whose rows are one row with changes."""
    path = write(folder / "raters.csv", [{**ROW, **change} for change in changes])
    table = RaterTable(path=str(path), groups=["age"], **options)
    return checked_markings(table.markings(examples()), examples())


class TestTable:
    def test_marks_spans_and_words_say_the_same(self, tmp_path):
        forms = {
            "marks": ["[0, 1, 1]", "0 1 1"],
            "spans": ["[[2, 11]]", "[[2, 3], [8, 9]]"],
            "words": ["good film", '["film", "good"]'],
        }
        for form, cells in forms.items():
            for cell in cells:
                (marking,) = markings(tmp_path, {"rationale": cell}, form=form)
                assert list(marking.marks) == [0, 1, 1], (form, cell)

    def test_rows_keep_rater_group_and_label(self, tmp_path):
        first, second = markings(tmp_path, {}, {"rater": "8", "age": "young"}, label="said")
        assert (first.example_id, first.rater, first.label) == ("t1", "7", "positive")
        assert first.groups == {"age": "old"}
        assert second.groups == {"age": "young"}

    def test_an_empty_cell_marks_no_word(self, tmp_path):
        (marking,) = markings(tmp_path, {"rationale": ""})
        assert list(marking.marks) == [0, 0, 0]

    @pytest.mark.parametrize(
        ("changes", "options", "message"),
        [
            ([{"id": "t9"}], {}, r"csv:2: the data have no text 't9' \(they have t1, t2"),
            ([{}, {"id": "t2", "age": "young"}], {}, r"csv:3: rater '7' is young, and old in .*:2"),
            ([{}, {}], {}, r"csv:3: rater '7' marked text 't1' already in .*csv:2"),
            ([{"age": ""}], {}, r"csv:2: age is empty; complete or remove the row"),
            ([{"rater": ""}], {}, r"csv:2: rater"),
            ([{"rationale": "[0, 1]"}], {}, r"csv:2: 2 marks for the 3 words of text 't1'"),
            ([{"rationale": "0 2 0"}], {}, r"csv:2: rationale must be 0 or 1 per word"),
            (
                [{"rationale": "[[0, 12]]"}],
                {"form": "spans"},
                r"span 0 to 12, and the text of 't1' has",
            ),
            (
                [{"rationale": "first"}],
                {"form": "spans"},
                r"must be the start and end of each part",
            ),
            ([{"rationale": "goood"}], {"form": "words"}, r"names 'goood', which is no word"),
        ],
    )
    def test_each_fault_has_one_line(self, tmp_path, changes, options, message):
        with pytest.raises(InputError, match=message) as caught:
            markings(tmp_path, *changes, **options)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("column", ["rater", "age", "said"])
    @pytest.mark.parametrize(
        "name", ["old\x1b[2J", "old\u202egnuoy", "old\x00", "o" * 1000, "\x9b31m" + "o" * 1000]
    )
    def test_names_that_steer_a_terminal_or_fill_a_page_have_one_line(self, tmp_path, column, name):
        with pytest.raises(InputError) as caught:
            markings(tmp_path, {column: name}, label="said")
        line = str(caught.value)
        assert re.search(rf"csv:2: {column} .*characters; rename it$", line)
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 1000

    def test_a_column_that_is_not_there_is_refused_before_any_job(self, tmp_path):
        texts = [{"id": name, "text": text, "label": "x" * (name == "t1") or "y"}
                 for name, text in TEXTS.items()]  # fmt: skip
        table = write(tmp_path / "texts.csv", texts)
        raters = write(tmp_path / "raters.csv", [ROW])
        options = {"use": "table", "path": str(table), "group": None, "id": "id"}
        options["raters"] = {"path": str(raters), "groups": ["ethnicity"]}
        check = DATASETS.get("table").facts.check_options
        with pytest.raises(InputError, match="no column 'ethnicity'"):
            check({**DATASETS.get("table").options.model_construct().all_values, **options})


def test_what_raters_marked_is_no_part_of_the_data(tmp_path):
    """So that adding raters to a finished study makes neither data nor trainings again."""
    path = str(write(tmp_path / "texts.csv", [{"text": "a b", "label": "x"}]))
    raters = write(tmp_path / "raters.csv", [ROW])
    table = {"use": "table", "path": path, "group": None}
    with_raters = {**table, "raters": {"path": str(raters), "groups": ["age"]}}
    before = tiny(datasets={"mine": table})
    after = tiny(datasets={"mine": with_raters})
    assert before.prepare_options("mine") == after.prepare_options("mine")
    assert [entry.id for entry in after.analyses if entry.id == "raters"]
    ids = {"dataset": "mine"}
    options = after.options("raters", ids)
    raters.write_text(raters.read_text() + "\n")
    assert after.options("raters", ids) != options


@pytest.fixture
def answers(tmp_path):
    """Two sentences, each with the answers of two raters; one of them is also a training tree."""
    rows = [
        {
            "text_id": text,
            "sentence": sentence,
            "original_label": "positive",
            "label": label,
            "rationale_binary": json.dumps(marks),
            "group_id": group,
            "annotator_ID": rater,
            "other": "",
        }
        for text, sentence in (("3", "A good film"), ("4", "What a good one"))
        for group, rater, label, marks in (
            ("BO", 1, "positive", [0, 1] + [0] * (len(sentence.split()) - 2)),
            ("WY", 2, "no sentiment", [1] * len(sentence.split())),
        )
    ]
    source = raw_files(
        tmp_path, [(file, [TREE.get(part, TREE["dev"])]) for part, file in TREES.items()]
    )
    for file in FILES.values():
        path = tmp_path / file.path
        path.parent.mkdir(exist_ok=True)
        with path.open("w", newline="") as lines:
            writer = csv.DictWriter(lines, [*rows[0]])
            writer.writeheader()
            writer.writerows(rows)
    return source


def test_sentences_are_tested_and_no_copy_of_one_is_trained_on(answers):
    loaded = load_dataset("fair_rationales", answers, {"verify": False})
    tests = [example for example in loaded if example.split == "test"]
    assert [example.example_id for example in tests] == ["text-0003", "text-0004"]
    assert tests[0].rationale == (0, 1, 0)  # of the rater who agrees with the label
    assert [e.text for e in loaded if e.split == "train"] == ["A bad one"]


def test_each_answer_becomes_a_row_with_the_groups_of_its_rater(answers, tmp_path):
    options = {"use": "fair_rationales", "params": {"verify": False}, "data_dir": tmp_path}
    prepare(output=tmp_path / "data.parquet", download=False, **options)
    options["params"] = {"corpus": "sst", "verify": False, "n_train": None}
    read_raters(tmp_path / "data.parquet", tmp_path / "raters.parquet", download=False, **options)
    rows = read_artefact(tmp_path / "raters.parquet", "raters")[0].to_pylist()
    groups = [{pair["key"]: pair["value"] for pair in row["groups"]} for row in rows]
    assert groups[0] == {"age": "38+", "ethnicity": "Black"}
    assert groups[1] == {"age": "under 38", "ethnicity": "white"}
    assert [row["label"] for row in rows] == ["positive", "no sentiment"] * 2


@pytest.mark.parametrize(("corpus", "texts", "raters", "share"), [("sst", 263, 156, 0.112)])
def test_the_published_answers_are_read(corpus, texts, raters, share):
    need((REAL / f"fair_rationales/{corpus}.csv").is_file(), "fair_rationales")
    source = DataSource(REAL, download=False)
    options = {"corpus": corpus, "verify": False}
    loaded = load_dataset("fair_rationales", source, options)
    tests = {example.example_id: example for example in loaded if example.split == "test"}
    facts = DATASETS.get("fair_rationales").facts
    found = checked_markings(facts.markings(source, tests, **options), tests)
    assert (len(tests), len({marking.rater for marking in found})) == (texts, raters)
    assert set(Counter((m.example_id, *m.groups.values()) for m in found).values()) == {1}
    labels = {name: ("negative", "positive")[test.label] for name, test in tests.items()}
    other = sum(marking.label != labels[marking.example_id] for marking in found) / len(found)
    assert other == pytest.approx(share, abs=0.001)


@pytest.mark.reference
def test_the_benchmark_compares_expected_scores_over_texts_and_over_raters(
    repository, monkeypatch, tmp_path
):
    """One of two words marked is expected to score 3/4 at random, and both of them 1."""
    monkeypatch.syspath_prepend(str(repository / "benchmarks"))
    import raters

    marked = {"BO": [[1, 0], [1, 1], [1, 0]], "WY": [[1, 1], [1, 1], [1, 0]]}
    rows = [
        {"text_id": text, "sentence": "a b", "label": "positive", "group_id": group,
         "annotator_ID": f"{group}{text}", "rationale_binary": json.dumps(marks)}
        for group, texts in marked.items() for text, marks in enumerate(texts)
    ]  # fmt: skip
    folder = tmp_path / "fair_rationales"
    folder.mkdir()
    write(folder / "cose.csv", rows)
    rated = RatedTexts(raters.answers("cose", tmp_path), math.nan)
    (sides,) = (sides for sides in rated.comparisons() if sides.compared == EVERY)
    gap = raters.gap_at_random(rated, rated.chance("rationale_auprc"), sides)
    assert gap.names == ("38+ & Black", "under 38 & white")
    assert gap.gap == pytest.approx(-1 / 12, abs=1e-12)
    assert gap.t_texts == pytest.approx(-1, abs=1e-12)
    assert gap.t_raters == pytest.approx(-math.sqrt(1 / 2), abs=1e-12)
