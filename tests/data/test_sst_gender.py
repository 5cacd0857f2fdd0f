"""SST by gendered words: trees read, groups by a naive count, published sizes, and refusals."""

import re

import pytest
from support import REAL, need

from exparity.core.errors import InputError
from exparity.data import load_dataset
from exparity.data.files import DataSource
from exparity.data.genders import read_lexicon
from exparity.data.sst import FILES, LEXICON, gender_named, read_sentences

HE, SHE = "(3 (2 He) (4 (2 is) (3 good)))", "(1 (2 She) (1 (2 is) (1 bad)))"


def source_of(folder, **parts):
    for part, file in FILES.items():
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([HE, SHE, *parts.get(part, [])]) + "\n", encoding="utf-8")
    return DataSource(folder, download=False)


def load(source, **options):
    return load_dataset("sst_gender", source, {"verify": False, **options})


def read(folder, *lines):
    path = folder / "trees.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return list(read_sentences(path))


class TestTrees:
    def test_what_trees_escape_is_written_as_in_english(self, tmp_path):
        (sentence,) = read(tmp_path, r"(2 (2 -LRB-) (2 (2 writer\/director) (2 -RRB-)))")
        assert sentence.words == ("(", "writer/director", ")")

    @pytest.mark.parametrize("line", ["good", "(3 good", "(3 good) (2 bad)", "((3 good))", "("])
    def test_other_lines_are_refused(self, line, tmp_path):
        with pytest.raises(InputError, match=r"trees.txt:2: not as in the published file"):
            read(tmp_path, HE, line)


class TestDataset:
    def test_a_sentence_becomes_an_example(self, tmp_path):
        found = {e.example_id: e for e in load(source_of(tmp_path))}
        assert len(found) == 6
        he, she = found["train-0001"], found["test-0002"]
        assert (he.words, he.label, he.group, he.split) == (
            ("He", "is", "good"), 1, "male", "train",
        )  # fmt: skip
        assert (she.label, she.group, she.split) == (0, "female", "test")
        assert found["dev-0001"].split == "train"

    def test_neutral_tied_and_ungendered_sentences_are_left_out(self, tmp_path):
        others = [
            HE.replace("(3", "(2", 1),
            "(4 (2 He) (3 (2 loves) (3 her)))",
            "(4 (2 It) (3 works))",
            "(4 (2 Actors) (3 shine))",
        ]
        assert len(load(source_of(tmp_path, train=others))) == 6


@pytest.mark.parametrize(
    ("text", "gender"),
    [
        ("She's here , (his mother-in-law", "female"),
        ("HE-SHE _he_", "male"),
        ("he , she", None),
        ("shed heroes human", None),
        ("", None),
    ],
)
def test_the_gender_that_more_words_name(text, gender):
    assert gender_named(text.split()) == gender


class TestReal:
    @pytest.fixture
    def source(self):
        need((REAL / FILES["dev"].path).is_file(), f"SST below {REAL} (or EXPARITY_DATA)")
        return DataSource(REAL, download=False)

    def test_the_published_numbers_of_sentences_and_phrases(self, source):
        for part, sentences, phrases in (
            ("train", 8544, 318_582),
            ("dev", 1101, 41_447),
            ("test", 2210, 82_600),
        ):
            trees = list(read_sentences(source.find(FILES[part])))
            assert len(trees) == sentences
            assert sum(len(tree.phrases) for tree in trees) == phrases

    def test_groups_by_a_naive_count(self, source):
        terms = read_lexicon(LEXICON).telling
        groups = {e.example_id: e.group for e in load_dataset("sst_gender", source)}
        for tree in read_sentences(source.find(FILES["dev"])):
            text = " ".join(tree.words).lower()
            n = {g: len(re.findall(rf"(?<![^\W_])(?:{'|'.join(w)})(?![^\W_])", text))
                 for g, w in terms.items()}  # fmt: skip
            expected = None
            if tree.rating != 2 and n["male"] != n["female"]:
                expected = max(n, key=n.get)
            assert groups.get(f"dev-{tree.number:04d}") == expected, tree.number
