"""SST: trees, rationales by hand and by the published recursion, and groups by a naive count."""

import re
import statistics
from collections import Counter
from functools import cache

import pytest
from data.tables import load_raw, raw_files
from hypothesis import given
from hypothesis import strategies as st
from support import REAL, need

from exparity.core.errors import InputError
from exparity.data import load_dataset, sst
from exparity.data.files import DataSource, placed_lines
from exparity.data.genders import read_lexicon
from exparity.data.sst import FILES, LEXICON, gender_named, rationale_of, read_tree

GOOD = "(4 (2 A) (4 (3 good) (2 film)))"
BAD = "(1 (2 A) (1 (1 bad) (2 one)))"
NEUTRAL = "(2 (2 A) (2 film))"
TREES = st.recursive(
    st.tuples(st.integers(0, 4), st.just("w")),
    lambda tree: st.tuples(st.integers(0, 4), tree, tree),
    max_leaves=12,
)


def load(id, folder, *lines):
    return load_raw(id, raw_files(folder, [(file, lines) for file in FILES.values()]))


def tree_of(line):
    """Parse a tree to nested tuples (rating, children or word): a reader of its own."""
    stack = [[]]
    for token in line.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")":
            rating, *parts = stack.pop()
            stack[-1].append((int(rating), tuple(parts)))
        else:
            stack[-1].append(token)
    return stack[0][0]


def published(tree):
    """Rationale as Carton et al. make it: from the top down to phrases beyond all within them."""

    def size(node):
        return sum(size(part) if isinstance(part, tuple) else 1 for part in node[1])

    rating, parts = tree
    if all(abs(rating - 2) > abs(extreme - 2) for extreme in extremes_within(tree)):
        return [int(abs(rating - 2) > 0)] * size(tree)
    return [mark for part in parts for mark in published(part)]


@cache
def extremes_within(tree):
    """Lowest and highest rating of all phrases within, if there are any."""
    within = [
        rating
        for part in tree[1]
        if isinstance(part, tuple)
        for rating in (part[0], *extremes_within(part))
    ]
    return (min(within), max(within)) if within else ()


class TestRationale:
    @pytest.mark.parametrize(
        ("line", "marks"),
        [
            (GOOD, (0, 1, 1)),  # "good film" is beyond "good"; the sentence is not beyond that
            (BAD, (0, 1, 0)),
            ("(3 (1 bad) (4 (2 but) (3 fine)))", (1, 1, 1)),
            ("(0 (1 bad) (4 (2 but) (3 fine)))", (1, 1, 1)),
            ("(0 (1 bad) (4 (2 but) (4 fine)))", (1, 0, 1)),
        ],
    )
    def test_rationales_are_those_worked_out_by_hand(self, line, marks):
        assert rationale_of(read_tree(line).phrases) == marks
        assert published(tree_of(line)) == list(marks)

    @given(TREES)
    def test_rationales_are_those_of_the_published_algorithm(self, tree):
        def written(node):
            rating, *parts = node
            words = " ".join(part if part == "w" else written(part) for part in parts)
            return f"({rating} {words})"

        line = written(tree)
        assert list(rationale_of(read_tree(line).phrases)) == published(tree_of(line))


class TestTrees:
    def test_what_trees_escape_is_written_as_in_english(self):
        sentence = read_tree(r"(2 (2 -LRB-) (2 (2 writer\/director) (2 -RRB-)))")
        assert sentence.words == ("(", "writer/director", ")")

    @pytest.mark.parametrize("line", ["good", "(3 good) (2 bad)", "("])
    def test_other_lines_are_refused(self, line, tmp_path):
        with pytest.raises(InputError, match=r"train.txt:2: not as in the published file"):
            load("sst", tmp_path, GOOD, line)


class TestDatasets:
    def test_sentences_become_examples_unless_they_are_neutral(self, tmp_path):
        found = load("sst", tmp_path, GOOD, BAD, NEUTRAL)
        assert Counter(e.split for e in found.values()) == {"train": 4, "test": 2}
        one = found["test-0001"]
        assert (one.words, one.label, one.group) == (("A", "good", "film"), 1, "")
        assert one.rationale == (0, 1, 1)
        assert (found["dev-0002"].label, found["dev-0002"].split) == (0, "train")

    def test_files_are_read_once_until_they_change(self, tmp_path, monkeypatch):
        lines = []
        monkeypatch.setattr(sst, "read_tree", lambda line: lines.append(line) or read_tree(line))
        first = load("sst", tmp_path, GOOD, BAD)
        assert load("sst", tmp_path, GOOD, BAD) == first
        assert len(lines) == 6  # of three files
        assert load("sst", tmp_path, BAD, BAD)["test-0001"].label == 0
        assert len(lines) == 12

    def test_the_group_is_the_gender_that_is_named(self, tmp_path):
        he, she = "(3 (2 He) (4 (2 is) (3 good)))", "(1 (2 She) (1 (2 is) (1 bad)))"
        others = [he.replace("(3", "(2", 1), "(4 (2 He) (3 (2 loves) (3 her)))"]
        found = load("sst_gender", tmp_path, he, she, *others)
        assert len(found) == 6  # each in every part
        one, other = found["train-0001"], found["test-0002"]
        assert (one.words, one.label, one.group) == (("He", "is", "good"), 1, "male")
        assert (other.label, other.group, other.split) == (0, "female", "test")


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
    @pytest.fixture(scope="class")
    @classmethod
    def trees(cls):
        need((REAL / FILES["dev"].path).is_file(), f"SST below {REAL} (or EXPARITY_DATA)")
        return {
            part: [read_tree(line) for _, line in placed_lines(REAL / file.path)]
            for part, file in FILES.items()
        }

    def test_the_published_numbers_of_sentences_and_phrases(self, trees):
        counts = {part: (len(s), sum(len(t.phrases) for t in s)) for part, s in trees.items()}
        assert counts == {"train": (8544, 318_582), "dev": (1101, 41_447), "test": (2210, 82_600)}

    @pytest.mark.parametrize(
        ("part", "mean"),
        [("dev", 8.11), ("test", 7.89), pytest.param("train", 7.79, marks=pytest.mark.exhaustive)],
    )
    def test_all_by_the_published_recursion(self, trees, part, mean):
        """Every mark, and the mean of the part over all sentences."""
        lines = (REAL / FILES[part].path).read_text().split("\n")
        marks = [published(tree_of(line)) for line in lines if line]
        assert [list(rationale_of(sentence.phrases)) for sentence in trees[part]] == marks
        assert round(statistics.mean(map(sum, marks)), 2) == mean

    def test_groups_by_a_naive_count(self, trees):
        terms = read_lexicon(LEXICON).telling
        groups = {e.example_id: e.group for e in load_dataset("sst_gender", DataSource(REAL))}
        for number, tree in enumerate(trees["dev"], start=1):
            text = " ".join(tree.words).lower()
            n = {g: len(re.findall(rf"(?<![^\W_])(?:{'|'.join(w)})(?![^\W_])", text))
                 for g, w in terms.items()}  # fmt: skip
            expected = None
            if tree.phrases[-1].rating != 2 and n["male"] != n["female"]:
                expected = max(n, key=n.get)
            assert groups.get(f"dev-{number:04d}") == expected, number
