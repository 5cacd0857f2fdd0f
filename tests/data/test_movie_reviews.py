"""Movie reviews: evidence becomes marks, means of the published parts, and what is refused."""

import json
import statistics
from collections import Counter

import pytest
from data.tables import raw_files
from support import REAL, need

from exparity.core.errors import InputError
from exparity.data import DATASETS
from exparity.data.files import DataSource
from exparity.data.movie_reviews import FILES

REVIEW = "it starts well .\nthen it falls apart , and stays so .\n"


def evidence(start=6, stop=8, text="falls apart", **changes):
    return {"docid": "a.txt", "start_token": start, "end_token": stop, "text": text, **changes}


def row(*evidences, **changes):
    marked = {"evidences": [[one] for one in evidences]}
    return {"annotation_id": "a.txt", "classification": "NEG", **marked, **changes}


def source_of(folder, **parts):
    (folder / "eraser_movies" / "docs").mkdir(parents=True, exist_ok=True)
    (folder / "eraser_movies" / "docs" / "a.txt").write_text(REVIEW)
    (folder / "eraser_movies" / "docs" / "b.txt").write_text("a fine film")
    other = {"annotation_id": "b.txt", "classification": "POS"}
    none = [row(**other)]
    return raw_files(folder, [(file, parts.get(part, none)) for part, file in FILES.items()])


def load(source, **options):
    return DATASETS.get("movie_reviews").function(source, **{"verify": False, **options})


def marked(example):
    return [word for word, mark in zip(example.words, example.rationale, strict=True) if mark]


def test_a_review_becomes_an_example_of_no_group(tmp_path):
    test = [row(evidence(), evidence(7, 10, "apart , and"), evidence(3, 3, ""))]
    *_, one = load(source_of(tmp_path, test=test))
    assert (one.example_id, one.label, one.group, one.split) == ("a", 0, "", "test")
    assert one.words == tuple(REVIEW.split())
    assert marked(one) == ["falls", "apart", ",", "and"]


def test_the_validation_part_trains(tmp_path):
    source = source_of(tmp_path)
    assert Counter(e.split for e in load(source)) == {"train": 2, "test": 1}


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (row(classification="neg"), "ValueError"),
        (row(evidence(5, 7)), "ValueError: tokens 5 to 7 of docs/a.txt are not its text"),
    ],
)
def test_malformed_rows_name_file_and_line(bad, message, tmp_path):
    published = rf"train.jsonl:2: not as in the published file \({message}"
    with pytest.raises(InputError, match=published):
        load(source_of(tmp_path, train=[row(), bad]))


class TestReal:
    def test_all_by_a_naive_count(self):
        """Every mark from the raw spans, and the means that are published of the three parts."""
        need((REAL / FILES["val"].path).is_file(), f"movie reviews below {REAL} (or EXPARITY_DATA)")
        source = DataSource(REAL, download=False)
        found = {e.example_id: e for e in load(source, verify=True)}
        sizes = {}
        for part, file in FILES.items():
            sizes[part] = []
            for line in (REAL / file.path).read_text().splitlines():
                review = json.loads(line)
                spans = [one for together in review["evidences"] for one in together]
                places = {i for one in spans for i in range(one["start_token"], one["end_token"])}
                example = found.pop(review["annotation_id"].removesuffix(".txt"))
                text = (REAL / "eraser_movies" / "docs" / review["annotation_id"]).read_text()
                assert example.text == " ".join(text.split())
                assert example.label == {"NEG": 0, "POS": 1}[review["classification"]]
                assert (example.rationale is None) == (not spans)
                assert {i for i, mark in enumerate(example.rationale or ()) if mark} == places
                sizes[part].append(len(places))
        assert not found
        assert {part: len(of_part) for part, of_part in sizes.items()} == {
            "train": 1_600, "val": 200, "test": 199,
        }  # fmt: skip
        means = {part: round(statistics.mean(of_part), 1) for part, of_part in sizes.items()}
        assert means == {"train": 66.8, "val": 49.8, "test": 240.8}
