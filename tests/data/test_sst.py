"""SST with rationales: phrases by hand and by the published recursion, and means of the parts."""

import statistics
from collections import Counter
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import REAL, need

from exparity.data import DATASETS
from exparity.data.files import DataSource
from exparity.data.sst import FILES, RATINGS, rationale_of, read_sentences

GOOD = "(4 (2 A) (4 (3 good) (2 film)))"
BAD = "(1 (2 A) (1 (1 bad) (2 one)))"
NEUTRAL = "(2 (2 A) (2 film))"
TREES = st.recursive(
    st.tuples(st.integers(0, 4), st.just("w")),
    lambda tree: st.tuples(st.integers(0, 4), tree, tree),
    max_leaves=12,
)


def source_of(folder):
    for part, file in FILES.items():
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join([GOOD, BAD, *[NEUTRAL] * (part == "test")]))
    return DataSource(folder, download=False)


def load(source, **options):
    return DATASETS.get("sst").function(source, **options)


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
            (NEUTRAL, (0, 0)),
            ("(4 (2 A) (3 (3 good) (2 film)))", (1, 1, 1)),
            ("(3 (1 bad) (4 (2 but) (3 fine)))", (1, 1, 1)),
            ("(0 (1 bad) (4 (2 but) (3 fine)))", (1, 1, 1)),
            ("(0 (1 bad) (4 (2 but) (4 fine)))", (1, 0, 1)),
        ],
    )
    def test_by_hand(self, line, marks, tmp_path):
        (tmp_path / "t.txt").write_text(line)
        (sentence,) = read_sentences(tmp_path / "t.txt")
        assert rationale_of(sentence.phrases) == marks
        assert published(tree_of(line)) == list(marks)

    @given(TREES)
    def test_as_published(self, tmp_path_factory, tree):
        def written(node):
            rating, *parts = node
            words = " ".join(part if part == "w" else written(part) for part in parts)
            return f"({rating} {words})"

        line = written(tree)
        path = tmp_path_factory.mktemp("trees") / "t.txt"
        path.write_text(line)
        (sentence,) = read_sentences(path)
        assert list(rationale_of(sentence.phrases)) == published(tree_of(line))


class TestDataset:
    def test_a_sentence_becomes_an_example_of_no_group(self, tmp_path):
        loaded = load(source_of(tmp_path), verify=False)
        assert (loaded.attribute, loaded.groups) == ("", ())
        assert loaded.labels == ("negative", "positive")
        found = {e.example_id: e for e in loaded.examples}
        assert Counter(e.split for e in loaded.examples) == {"train": 4, "test": 2}
        one = found["test-0001"]
        assert (one.words, one.label, one.group) == (("A", "good", "film"), 1, "")
        assert one.rationale == (0, 1, 1)
        assert found["dev-0002"].label == 0

    def test_five_classes_and_no_development_part(self, tmp_path):
        loaded = load(source_of(tmp_path), verify=False, classes="five", dev=False)
        assert loaded.labels == RATINGS
        assert Counter((e.split, e.label) for e in loaded.examples) == {
            ("train", 4): 1,
            ("train", 1): 1,
            ("test", 4): 1,
            ("test", 1): 1,
            ("test", 2): 1,
        }


class TestReal:
    @pytest.fixture(scope="class")
    @classmethod
    def examples(cls):
        need((REAL / FILES["dev"].path).is_file(), f"SST below {REAL} (or EXPARITY_DATA)")
        return load(DataSource(REAL, download=False), classes="five").examples

    @pytest.mark.parametrize(
        ("part", "mean"),
        [("dev", 8.11), ("test", 7.89), pytest.param("train", 7.79, marks=pytest.mark.exhaustive)],
    )
    def test_all_by_the_published_recursion(self, examples, part, mean):
        """Every mark, and the mean of the part over all sentences."""
        lines = (REAL / FILES[part].path).read_text().split("\n")
        marks = [published(tree_of(line)) for line in lines if line]
        found = [e for e in examples if e.example_id.startswith(part)]
        assert [list(e.rationale) for e in sorted(found, key=lambda e: e.example_id)] == marks
        assert round(statistics.mean(map(sum, marks)), 2) == mean
